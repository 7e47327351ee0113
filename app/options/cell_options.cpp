// Options of `dlscale run` for cells, and those that steps share.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>

#include "app/cli/positive.hpp"
#include "app/suite/run_cells.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {

bool CellOptions::chooses() const {
  return !name.empty() || !exclude.empty() || nodes || !tags.empty();
}

bool CellOptions::any() const {
  return chooses() || !system.empty() || !partition.empty() || seed || !write_scripts.empty() ||
         submit || retry || !job_options.empty() || !distribute.empty();
}

namespace {

/// Converts a time with a unit, such as "9min", into seconds.
CLI::Validator with_unit() {
  const auto convert = [](std::string& text) -> std::string {
    if (text.empty() || (std::isalpha(static_cast<unsigned char>(text.back())) == 0)) return {};
    try {
      text = fmt::format("{}", parse_quantity<Seconds>(text, "it").si());
    } catch (const ConfigError&) {
      return fmt::format("{} is no time. Write such as 9min, or a number of seconds", text);
    }
    return {};
  };
  return {convert, ""};
}

}  // namespace

void declare_cell_options(CLI::App& verb, CellOptions& options) {
  verb.add_option("--time-budget", options.time_budget_s,
                  "Time for this call, such as 9min, or in seconds: no step or cell is begun that "
                  "does not fit into it, by its estimate; the same command goes on")
      ->transform(with_unit())
      ->check(positive_seconds());
  verb.add_flag("--dry-run", options.dry_run,
                "Print the steps with their estimates, the scripts of jobs, and the commands with "
                "their launchers, and stop");
  const char* group = "Cells";
  verb.add_option("--system", options.system,
                  "Where cells run: a system in configs/systems, or a YAML file (default: local)")
      ->type_name("SYSTEM")
      ->group(group);
  verb.add_option("--partition", options.partition, "Partition of the system (default: its first)")
      ->group(group);
  verb.add_option("--name", options.name, "Only cells whose name this regular expression is in")
      ->group(group);
  verb.add_option("--exclude", options.exclude, "Not the cells whose name it is in")->group(group);
  verb.add_option("--tag", options.tags,
                  "Only cells that have this tag in the suite; given again: that one, too")
      ->expected(1)
      ->take_all()
      ->group(group);
  verb.add_option("--nodes", options.nodes, "Only cells that run on so many nodes")
      ->check(positive_count())
      ->group(group);
  verb.add_option("--seed", options.seed,
                  "Of the random order of the cells (default: that of the plan, else 1)")
      ->check(seed())
      ->group(group);
  verb.add_flag("--retry", options.retry, "Carry out again the cells that failed")->group(group);
  verb.add_option("--write-scripts", options.write_scripts,
                  "Write the scripts of jobs into this folder, and stop")
      ->type_name("FOLDER")
      ->group(group);
  verb.add_option("-J,--job-option", options.job_options,
                  "An option for the scheduler of the jobs: NAME=VALUE (time=01:00:00), NAME "
                  "(exclusive), or as the scheduler reads it (--account=physics); repeatable. It "
                  "comes after those of the system file, and wins over the same one there")
      ->expected(1)
      ->take_all()
      ->group(group);
  verb.add_option(
          "--distribute", options.distribute,
          "Carry out the cells of one node on each node of the partition that is idle, or on "
          "all that can be used, by a job of its own each; results lie in a folder of its name")
      ->check(CLI::IsMember({"idle", "all"}))
      ->group(group);
  verb.add_flag("--submit", options.submit, "Submit jobs, wait for them and collect their results")
      ->group(group);
}

}  // namespace dlscale::app
