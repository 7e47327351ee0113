#include "report/kernels/kernel_study.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "core/text/numbers.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report {

namespace {

using Key = std::vector<std::string>;

Key key_of(const model::KernelCase& what) {
  return {what.way.backend,
          std::string(convolution::method_name(what.way.method)),
          std::string(pass_name(what.way.pass)),
          std::to_string(what.way.threads),
          what.way.cache,
          what.kernel,
          std::to_string(what.batch)};
}

/// Key of a measurement; empty if it is not a convolution that a model covers.
std::optional<Key> key_of(const Measurement& measurement) {
  const auto method = convolution::method_of(measurement.implementation);
  const auto axis = [&](const char* name) { return axis_or_empty(measurement.axes, name); };
  const bool known = measurement.benchmark == "conv" && method &&
                     axis("dtype") == dtype_name(DType::f32) && axis("ranks_on_node") == "1" &&
                     axis("layout").empty();
  if (!known) return std::nullopt;
  return Key{axis("backend"), std::string(convolution::method_name(*method)),
             axis("pass"),    axis("threads"),
             axis("cache"),   axis("kernel"),
             axis("batch")};
}

/// The most common number of threads among the samples; the smallest of equals.
int usual_threads(std::span<const model::KernelSample> samples) {
  EXPECT(!samples.empty());
  std::map<int, int> counts;
  for (const model::KernelSample& sample : samples) ++counts[sample.what.way.threads];
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::max_element(counts, fewer)->first;
}

bool on_device(const model::KernelSample& sample) {
  return sample.what.way.on_device();
}

bool is_unbounded(const model::KernelSample& sample) {
  return !model::is_bounded(sample.what.way.cache);
}

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

bool names_algorithm(const Measurement& measurement) {
  const std::string algorithm = axis_or_empty(measurement.axes, "algorithm");
  return measurement.benchmark == "conv" && !algorithm.empty() && algorithm != "chosen";
}

bool compares_algorithms(std::span<const ResultFile> results) {
  return std::ranges::any_of(results, [](const ResultFile& file) {
    return std::ranges::any_of(file.measurements, names_algorithm);
  });
}

std::string processor_of(std::span<const ResultFile> results) {
  EXPECT(!results.empty());
  const std::string& cpu = results.front().header.environment.cpu;
  const std::string& host = results.front().header.environment.host_hash;
  for (const ResultFile& file : results) {
    const Environment& other = file.header.environment;
    if (other.cpu == cpu && other.host_hash == host) continue;
    throw ConfigError(fmt::format(
        "{} and {} were measured on different hosts, whose kernels take different times. Give the "
        "results of one.",
        results.front().path.string(), file.path.string()));
  }
  return cpu;
}

KernelStudy::KernelStudy(std::span<const ResultFile> results, const Wording& wording) {
  try {
    processor_of(results);
    model::LeftOut not_modelled;
    samples_ = model::kernel_samples(results, not_modelled);
    for (const model::KernelSample& sample : samples_) {
      if (on_device(sample) || sample.what.way.method != convolution::Method::direct) continue;
      executed_[key_of(sample.what)] = {sample.what.work.flops(), sample.what.work.bytes()};
    }
    find_roofline(results);
  } catch (const ConfigError& error) {
    obstacle_ = wording(error);
  }
}

void KernelStudy::find_roofline(std::span<const ResultFile> results) {
  std::erase_if(samples_, on_device);
  if (samples_.empty()) {
    throw ConfigError(
        "no convolution was measured on the processor, whose ceilings these are. Measure some "
        "by all algorithms of the backend native.");
  }
  const std::vector<model::KernelSample> all = samples_;  // any of these may be the fastest
  std::erase_if(samples_, is_unbounded);
  if (samples_.empty()) {
    throw ConfigError(
        "all convolutions were measured right behind what wrote their inputs, "
        "which no measured ceiling bounds. Measure some from cold caches.");
  }
  const int threads = usual_threads(samples_);
  roofline_ = model::measured_roofline(results, all, threads);
  std::erase_if(samples_, [threads](const model::KernelSample& sample) {
    return sample.what.way.threads != threads;
  });
  place_all();
}

void KernelStudy::place_all() {
  placed_.reserve(samples_.size());
  for (const model::KernelSample& sample : samples_) {
    placed_.push_back(model::place(*roofline_, sample));
    if (!placed_.back().is_nominal()) bounds_[key_of(sample.what)] = placed_.back().bound;
  }
}

std::optional<double> KernelStudy::share(const Measurement& measurement) const {
  const auto key = key_of(measurement);
  const auto* time = main_series(measurement);
  if (!key || time == nullptr || !(time->second.summary.median > 0)) return std::nullopt;
  const auto bound = bounds_.find(*key);
  if (bound == bounds_.end()) return std::nullopt;
  return bound->second / Seconds(time->second.summary.median);
}

std::optional<Work> KernelStudy::executed(const Measurement& measurement) const {
  const auto key = key_of(measurement);
  const auto found = key ? executed_.find(*key) : executed_.end();
  return found == executed_.end() ? measurement.algorithmic_work : found->second;
}

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
