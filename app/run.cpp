// dlscale run: runs a suite, one child process for each step, and resumes where it stopped.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <memory>
#include <string>

#include "app/cli/document_output.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/measure/bench_suite.hpp"
#include "core/base/error.hpp"
#include "core/system/process.hpp"
#include "core/text/quantity_text.hpp"
#include "suite/run_suite.hpp"

namespace dlscale::app {
namespace {

using suite::CellOptions;
using suite::SuiteRun;

/// Converts a time with a unit, such as "9min", into seconds.
CLI::Validator with_unit() {
  const auto convert = [](std::string& text) -> std::string {
    if (text.empty() || (std::isalpha(static_cast<unsigned char>(text.back())) == 0)) return {};
    try {
      text = fmt::format("{}", parse_quantity<Seconds>(text, "it").si());
    } catch (const ConfigError&) {
      return fmt::format("{} is not a time; expected, for example, 9min, or a number of seconds",
                         text);
    }
    return {};
  };
  return {convert, ""};
}

void declare_cell_options(CLI::App& verb, CellOptions& options) {
  verb.add_option("--time-budget", options.time_budget_s,
                  "Time for this call, such as 9min; steps that do not fit by their estimate "
                  "wait for the next call")
      ->transform(with_unit())
      ->check(positive_seconds());
  verb.add_flag("--dry-run", options.dry_run,
                "Print steps, estimates, scripts of jobs and commands, and stop");
  verb.add_option("--system", options.system,
                  "Where cells run: a system in configs/systems, or a YAML file (default: local)")
      ->type_name("SYSTEM");
  verb.add_option("--partition", options.partition, "Partition of the system (default: its first)");
  verb.add_option("--name", options.name, "Only cells whose name matches this regular expression");
  verb.add_option("--exclude", options.exclude, "All cells but those whose name matches it");
  verb.add_option("--tag", options.tags,
                  "Only cells with this tag; repeatable, for cells with all of them")
      ->expected(1)
      ->take_all();
  verb.add_option("--nodes", options.nodes, "Only cells on this number of nodes")
      ->check(positive_count());
  verb.add_option("--seed", options.seed,
                  "Seed of the order of the cells (default: that of the plan, else 1)")
      ->check(seed());
  verb.add_flag("--retry", options.retry, "Run the cells that failed again");
  verb.add_option("--write-scripts", options.write_scripts,
                  "Write the scripts of jobs into this folder, and stop")
      ->type_name("FOLDER");
  verb.add_option("-J,--job-option", options.job_options,
                  "Option for the scheduler, such as time=01:00:00, exclusive or "
                  "--account=physics; repeatable")
      ->expected(1)
      ->take_all();
  verb.add_option("--distribute", options.distribute,
                  "Run the cells of one node on every idle node, or on all, by a job each")
      ->check(CLI::IsMember({"idle", "all"}));
  verb.add_flag("--submit", options.submit, "Submit jobs, wait for them and collect their results");
}

void declare_run(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<SuiteRun>(suite_run());
  verb.add_option("suite", options->suite,
                  "Suite: a name in configs/suites (see --list), or a YAML file")
      ->type_name("SUITE");
  verb.add_option("-o,--output", options->out, "Folder for results")
      ->type_name("FOLDER")
      ->capture_default_str();
  verb.add_option("--data", options->data, "Data set folder (default: data in the output folder)")
      ->type_name("FOLDER")
      ->envname("DLSCALE_DATA");
  verb.add_option("--workers", options->workers, "Number of workers on this machine")
      ->check(positive_count())
      ->capture_default_str();
  verb.add_option("--cores", options->cores, "Cores per worker (default: an even share)")
      ->check(positive_count());
  verb.add_flag("--restart", options->fresh, "Discard what was measured before, and measure again");
  verb.add_flag("--list", options->list,
                "Print the commands, or without a suite the suites, and stop");
  declare_quiet(verb, options->quiet);
  verb.add_option("--wait-quiet", options->options.wait_quiet_s,
                  "Most seconds that each step waits for a quiet machine (see bench gemm --help)")
      ->check(positive_seconds());
  verb.add_option("--cluster", options->options.cluster,
                  "Cluster whose data sheet gives the peak for shares of kernels")
      ->type_name("CLUSTER");
  declare_cell_options(verb, options->cells);
  group_options(verb,
                {{"What to measure", {"--data", "--workers", "--cores", "--time-budget"}},
                 {"Cells", {"--name", "--exclude", "--tag", "--nodes", "--retry"}},
                 {"Jobs", {"--system", "--partition", "--job-option", "--distribute", "--submit"}},
                 {"Print, and stop", {"--list", "--dry-run", "--write-scripts"}},
                 {"Output", {"--output", "--restart", "--quiet"}},
                 {"Advanced", {"--wait-quiet", "--cluster", "--seed"}}});
  verb.footer(
      "Example: dlscale run quickstart -o results/local/quickstart\nInterrupt it at any time; the "
      "same command goes on.\nExit code 0: all was measured, 3: cells are left, 4: some failed, 5: "
      "nothing measured.");
  verb.callback([options, &result] {
    heed_end_of_job();
    result = run_suite_here(*options);
  });
}

}  // namespace

extern const Verb run_verb{"run", "Carry out a suite of measurements, with progress and resumption",
                           declare_run, Verb::Signals::are_remembered};

}  // namespace dlscale::app
