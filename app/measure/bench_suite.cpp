#include "app/measure/bench_suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/renamed.hpp"
#include "app/cli/verb.hpp"
#include "app/report/measured_steps.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/family.hpp"
#include "core/config/config_path.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {
namespace {

bool is_path(const std::string& suite) {
  return suite.find('/') != std::string::npos || suite.ends_with(".yaml");
}

std::string prefix_of(std::string_view benchmark) {
  return fmt::format("{}_", benchmark);
}

/// The suites that --suite may name.
std::vector<std::string> suites_of(std::string_view benchmark) {
  std::vector<std::string> names;
  for (const std::string& name : config_names("suites")) {
    const std::string prefix = prefix_of(benchmark);
    if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  }
  return names;
}

/// The suite's name in configs/suites, or the path.
std::string full_name(std::string_view benchmark, const std::string& suite) {
  if (is_path(suite)) return suite;
  const std::vector<std::string> known = suites_of(benchmark);
  if (std::ranges::find(known, suite) != known.end()) return prefix_of(benchmark) + suite;
  throw ConfigError(fmt::format("--suite is \"{}\" (no such suite of bench {}). {}", suite,
                                benchmark, suggestion(suite, known)));
}

constexpr std::array<std::string_view, 6> options_of_suites{"--suite",      "--restart", "--output",
                                                            "--wait-quiet", "--cluster", "--quiet"};

bool is_of_suites(const std::string& option) {
  return std::ranges::find(options_of_suites, option) != options_of_suites.end();
}

void refuse_others(const CLI::App& command, const std::string& suite) {
  std::vector<std::string> others = command.remaining();
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && !is_of_suites(name)) others.push_back(name);
  }
  if (others.empty()) return;
  throw ConfigError(
      fmt::format("--suite {} is a list of whole commands with options of their own, so {} would "
                  "have no effect. Leave out the one or the other; what the suite holds is in "
                  "configs/suites.",
                  suite, fmt::join(others, ", ")));
}

/// Whether the benchmark takes --wait-quiet, for cells or for iterations.
bool takes_wait_quiet(const bench::Benchmark& benchmark) {
  return benchmark.stopping == bench::Benchmark::Stopping::criterion ||
         std::ranges::find(benchmark.axes, "wait_quiet", &bench::Axis::name) !=
             benchmark.axes.end();
}

bool takes(std::string_view name, std::string_view option) {
  const auto* benchmark = family<bench::Benchmark>().find(name);
  if (benchmark == nullptr) return false;
  return option == "--wait-quiet" ? takes_wait_quiet(*benchmark)
                                  : benchmark->rows == bench::Benchmark::Rows::kernels;
}

}  // namespace

suite::Commands program_commands() {
  suite::Commands commands{.verbs = {}, .formats = format_names(), .takes = takes};
  for (const Verb* verb : family<Verb>().members) commands.verbs.emplace_back(verb->name);
  for (const std::string& verb : old_verbs()) commands.verbs.push_back(verb);
  return commands;
}

suite::SuiteRun suite_run() {
  suite::SuiteRun run;
  run.usable_cores = static_cast<int>(backend::usable_cores().size());
  run.commands = program_commands();
  return run;
}

void declare_suite(CLI::App& command, std::string_view benchmark, SuiteChoice& suite) {
  command
      .add_option("--suite", suite.name,
                  fmt::format("Measure what configs/suites/{}_SUITE.yaml lists into the folder -o, "
                              "or go on with it; no other options but --restart, --wait-quiet, "
                              "--cluster and --quiet",
                              benchmark))
      ->type_name("SUITE");
  command.add_flag("--restart", suite.fresh,
                   "Do every step of the suite again, and discard what was measured before");
}

bool names_suite(const CLI::App& command) {
  const auto given = [&command](const char* name) {
    const CLI::Option* option = command.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  if (given("--suite")) return true;
  if (!given("--restart")) return false;
  throw ConfigError(
      "--restart has no effect without --suite: what is measured alone is measured anew unless "
      "--resume is given. Leave it out, or name a suite.");
}

ExitCode run_bench_suite(const CLI::App& command, std::string_view benchmark,
                         const SuiteChoice& suite, const suite::SuiteOptions& options,
                         const std::string& output) {
  refuse_others(command, suite.name);
  suite::SuiteRun run = suite_run();
  run.suite = full_name(benchmark, suite.name);
  run.workers = 1;
  run.fresh = suite.fresh;
  run.quiet = command.get_option("--quiet")->as<bool>();
  run.options = options;
  run.out = !output.empty() ? output
                            : fmt::format("results/local/{}{}", prefix_of(benchmark),
                                          is_path(suite.name) ? "suite" : suite.name);
  return run_suite_here(run);
}

ExitCode run_suite_here(const suite::SuiteRun& run) {
  const ExitCode code = suite::run_suite(run);
  const bool has_measured = code == ExitCode::ok && !run.suite.empty() && !run.list &&
                            !run.cells.dry_run && run.cells.write_scripts.empty();
  if (has_measured) print_next(steps_of_suite(run.out), run.quiet);
  return code;
}

}  // namespace dlscale::app
