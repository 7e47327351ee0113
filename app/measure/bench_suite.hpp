#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "app/suite/definition/suite_options.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// The suite that stands in for the options of a benchmark.
struct SuiteChoice {
  std::string name;    ///< <benchmark>_<name> is in configs/suites, or a YAML file
  bool fresh = false;  ///< do every step again
};

/// The options --suite and --fresh of a benchmark that has suites.
void declare_suite(CLI::App& command, std::string_view benchmark, SuiteChoice& suite);

/// Whether `command` was given a suite. Throws ConfigError if only --fresh was.
bool names_suite(const CLI::App& command);

/// Carries out the suite, alone on this machine, into the folder `output` (default:
/// results/local/<benchmark>_<name>), with `options` for its steps. Throws ConfigError if `command`
/// was given others, which would have no effect.
ExitCode run_bench_suite(const CLI::App& command, std::string_view benchmark,
                         const SuiteChoice& suite, const SuiteOptions& options,
                         const std::string& output);

}  // namespace dlscale::app
