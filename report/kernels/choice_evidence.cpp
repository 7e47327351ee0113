#include "report/kernels/choice_evidence.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/network/fuse.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::report {
namespace {

/// A network as passed to load_network(), and its fusion.
using Source = std::pair<std::string, std::string>;

std::string option(const ResultHeader& header, const std::string& name) {
  const auto found = header.run.find(name);
  return found == header.run.end() ? "" : found->second;
}

void add_sources(const ResultHeader& header, std::set<Source>& sources) {
  if (header.benchmark != "conv" || !option(header, "list").empty()) return;
  const std::string fusion = option(header, "fuse");
  std::istringstream names(option(header, "network"));
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "all") {
      sources.emplace(name, fusion);
      continue;
    }
    for (const std::string& known : config_names("networks")) sources.emplace(known, fusion);
  }
}

std::optional<Network> load(const Source& source) {
  const auto& [name, fusion] = source;
  try {
    Run run;
    if (!fusion.empty()) run.fuse_relu = parse_fusion(fusion);
    return as_run(load_network(name), run);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

model::ChoiceEvidence choice_evidence(std::span<const ResultFile> results) {
  std::set<Source> sources;
  for (const ResultFile& file : results) add_sources(file.header, sources);
  model::ChoiceEvidence evidence{model::complete_questions(results)};
  for (const Source& source : sources) {
    const std::optional<Network> network = load(source);
    if (!network) continue;
    std::vector<Step> steps = forward_steps(*network);
    std::ranges::copy(backward_steps(*network), std::back_inserter(steps));
    for (const Step& step : steps) {
      const Layer& layer = network->layer(step.layer);
      if (!std::holds_alternative<Convolution>(layer.kind) || step.pass == Pass::accumulate) {
        continue;
      }
      ++evidence.steps[{kernel_key(*network, step.layer), step.pass}];
    }
  }
  return evidence;
}

}  // namespace dlscale::report
