#include "app/suite_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/benchmark.hpp"
#include "core/error.hpp"
#include "core/family.hpp"

namespace dlscale::app {
namespace {

using bench::Benchmark;

/// What the step measures with; null if it is no benchmark.
const Benchmark* benchmark_of(const SuiteStep& step) {
  if (step.words.size() < 2 || step.words.front() != "bench") return nullptr;
  return family<Benchmark>().find(step.words[1]);
}

template <class Has>
void add(Suite& suite, std::string_view option, const std::string& value, const Has& has) {
  bool any = false;
  for (SuiteStep& step : suite.steps) {
    const Benchmark* benchmark = benchmark_of(step);
    if (benchmark == nullptr || !has(*benchmark)) continue;
    if (std::ranges::find(step.words, option) != step.words.end()) continue;
    for (auto* words : {&step.words, &step.placed_words}) {
      words->insert(words->end(), {std::string(option), value});
    }
    any = true;
  }
  if (any) return;
  throw ConfigError(
      fmt::format("{} would have no effect: no step of the suite {} is a benchmark that takes it "
                  "and does not give it itself. Leave it out.",
                  option, suite.name));
}

/// Of cells, or of iterations.
bool takes_wait_quiet(const Benchmark& benchmark) {
  return benchmark.stopping == Benchmark::Stopping::criterion ||
         std::ranges::find(benchmark.axes, "wait_quiet", &bench::Axis::name) !=
             benchmark.axes.end();
}

}  // namespace

void add_options(const SuiteOptions& options, Suite& suite) {
  if (options.wait_quiet_s) {
    add(suite, "--wait-quiet", fmt::format("{}", *options.wait_quiet_s), takes_wait_quiet);
  }
  if (!options.cluster.empty()) {
    add(suite, "--cluster", options.cluster,
        [](const Benchmark& it) { return it.rows == Benchmark::Rows::kernels; });
  }
}

}  // namespace dlscale::app
