#include "report/validation/speedup_curves.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/kernels/memory.hpp"

namespace dlscale::report {
namespace {

/// Why that many ranks do not fit; empty if they do.
std::string obstacle(const Network& as_it_runs, const model::Machine& machine, Run run, int ranks) {
  run.ranks = ranks;
  model::Notes ignored;
  try {
    model::check_memory(as_it_runs, machine.cluster, run, ignored);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

}  // namespace

void append_curve(SpeedupCurves& all, const Network& network, const model::Machine& machine,
                  const Run& run, std::span<const int> ranks) {
  const Network as_it_runs = as_run(network, run);
  std::vector<int> fit;
  std::vector<int> too_large;
  std::string why;
  for (const int count : ranks) {
    std::string reason = obstacle(as_it_runs, machine, run, count);
    (reason.empty() ? fit : too_large).push_back(count);
    if (!reason.empty()) why = std::move(reason);
  }
  if (!too_large.empty()) {
    all.left_out.push_back(fmt::format("no prediction of {} on {} {}: {}", network.name(),
                                       fmt::join(too_large, ", "),
                                       too_large == std::vector{1} ? "rank" : "ranks", why));
  }
  if (!fit.empty()) all.curves.push_back(model::predict(network, machine, run, fit));
}

SpeedupCurves speedup_curves(const Validation& validation, const model::Machine& machine,
                             std::span<const int> ranks) {
  std::map<std::string, Run> runs;
  for (const RunValidation& entry : validation.runs) {
    const auto [place, added] = runs.try_emplace(entry.run.network, entry.run);
    if (!added && entry.run.ranks > place->second.ranks) place->second = entry.run;
  }
  SpeedupCurves all;
  for (auto& [name, run] : runs) {
    run.ranks_per_node = machine.cluster.devices_per_node;
    append_curve(all, *validation.networks.at(name), machine, run, ranks);
  }
  return all;
}

}  // namespace dlscale::report
