#include "suite/definition/suite_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::suite {
namespace {

void lengthen(SuiteStep& step, double seconds) {
  if (step.timeout_s) *step.timeout_s += seconds;
}

void lengthen(SuiteCell& cell, double seconds) {
  cell.timeout_s += seconds;
}

/// An option for all steps, and the extra seconds that a step may then take.
struct CommonOption {
  std::string_view name;
  std::string value;
  double longer = 0;
};

/// Adds an option to steps that take it; returns whether any does.
template <class Step>
bool add_to(std::vector<Step>& steps, const CommonOption& option, const Commands& commands) {
  bool any = false;
  for (Step& step : steps) {
    const bool is_bench = step.words.size() > 1 && step.words.front() == "bench";
    if (!is_bench || !commands.takes(step.words[1], option.name)) continue;
    if (std::ranges::find(step.words, option.name) != step.words.end()) continue;
    for (auto* words : {&step.words, &step.placed_words}) {
      words->insert(words->end(), {std::string(option.name), option.value});
    }
    lengthen(step, option.longer);
    any = true;
  }
  return any;
}

void add(Suite& suite, const CommonOption& option, const Commands& commands) {
  const bool to_steps = add_to(suite.steps, option, commands);
  if (add_to(suite.cells, option, commands) || to_steps) return;
  throw ConfigError(
      fmt::format("{} would have no effect: no step of the suite {} is a benchmark that takes it "
                  "and does not give it itself. Leave it out.",
                  option.name, suite.name));
}

}  // namespace

void add_options(const SuiteOptions& options, const Commands& commands, Suite& suite) {
  if (options.wait_quiet_s) {
    add(suite, {"--wait-quiet", fmt::format("{}", *options.wait_quiet_s), *options.wait_quiet_s},
        commands);
  }
  if (!options.cluster.empty()) add(suite, {"--cluster", options.cluster, 0}, commands);
}

}  // namespace dlscale::suite
