#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace dlscale::app {

/// The option --suite of a benchmark that has suites.
void declare_suite(CLI::App& command, std::string_view benchmark, std::string& suite);

/// Carries out the suite <benchmark>_<suite> of configs/suites, or that of a YAML file, alone on
/// this machine, into the folder `output` (default: results/local/<benchmark>_<suite>). Throws
/// ConfigError if `command` was given other options, which would have no effect.
ExitCode run_bench_suite(const CLI::App& command, std::string_view benchmark,
                         const std::string& suite, const std::string& output);

}  // namespace dlscale::app
