#include "app/suite/definition/suite_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/base/family.hpp"

namespace dlscale::app {
namespace {

using bench::Benchmark;

/// The benchmark that the step or cell runs; null if it is something else.
template <class Step>
const Benchmark* benchmark_of(const Step& step) {
  if (step.words.size() < 2 || step.words.front() != "bench") return nullptr;
  return family<Benchmark>().find(step.words[1]);
}

void lengthen(SuiteStep& step, double seconds) {
  if (step.timeout_s) *step.timeout_s += seconds;
}

void lengthen(SuiteCell& cell, double seconds) {
  cell.timeout_s += seconds;
}

/// Adds an option to steps that take it; returns whether any does. `longer`: extra seconds that a
/// step may then take.
template <class Step, class Has>
bool add_to(std::vector<Step>& steps, std::string_view option, const std::string& value,
            double longer, const Has& has) {
  bool any = false;
  for (Step& step : steps) {
    const Benchmark* benchmark = benchmark_of(step);
    if (benchmark == nullptr || !has(*benchmark)) continue;
    if (std::ranges::find(step.words, option) != step.words.end()) continue;
    for (auto* words : {&step.words, &step.placed_words}) {
      words->insert(words->end(), {std::string(option), value});
    }
    lengthen(step, longer);
    any = true;
  }
  return any;
}

template <class Has>
void add(Suite& suite, std::string_view option, const std::string& value, double longer,
         const Has& has) {
  const bool to_steps = add_to(suite.steps, option, value, longer, has);
  if (add_to(suite.cells, option, value, longer, has) || to_steps) return;
  throw ConfigError(
      fmt::format("{} would have no effect: no step of the suite {} is a benchmark that takes it "
                  "and does not give it itself. Leave it out.",
                  option, suite.name));
}

/// Whether the benchmark takes --wait-quiet, for cells or for iterations.
bool takes_wait_quiet(const Benchmark& benchmark) {
  return benchmark.stopping == Benchmark::Stopping::criterion ||
         std::ranges::find(benchmark.axes, "wait_quiet", &bench::Axis::name) !=
             benchmark.axes.end();
}

}  // namespace

void add_options(const SuiteOptions& options, Suite& suite) {
  if (options.wait_quiet_s) {
    add(suite, "--wait-quiet", fmt::format("{}", *options.wait_quiet_s), *options.wait_quiet_s,
        takes_wait_quiet);
  }
  if (!options.cluster.empty()) {
    add(suite, "--cluster", options.cluster, 0,
        [](const Benchmark& it) { return it.rows == Benchmark::Rows::kernels; });
  }
}

}  // namespace dlscale::app
