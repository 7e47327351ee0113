#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "suite/definition/suite.hpp"
#include "suite/run_suite.hpp"

namespace dlscale::app {

/// The commands of this program, as suites list them.
suite::Commands program_commands();

/// The defaults of a suite on this machine.
suite::SuiteRun suite_run();

/// Runs a suite, and prints next commands if all of it was measured. Throws as suite::run_suite().
ExitCode run_suite_here(const suite::SuiteRun& run);

/// The suite that a benchmark runs in place of its options.
struct SuiteChoice {
  std::string name;    ///< <benchmark>_<name> in configs/suites, or a YAML file
  bool fresh = false;  ///< repeat every step
};

/// Adds the options --suite and --restart to a benchmark that has suites.
void declare_suite(CLI::App& command, std::string_view benchmark, SuiteChoice& suite);

/// Whether `command` was given a suite. Throws ConfigError if only --restart was.
bool names_suite(const CLI::App& command);

/// Runs the suite, alone on this machine, into the folder `output` (default:
/// results/local/<benchmark>_<name>), with `options` for its steps. Throws ConfigError if `command`
/// was given other options, which would have no effect.
ExitCode run_bench_suite(const CLI::App& command, std::string_view benchmark,
                         const SuiteChoice& suite, const suite::SuiteOptions& options,
                         const std::string& output);

}  // namespace dlscale::app
