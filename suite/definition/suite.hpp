#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suite/launch/launch_command.hpp"

namespace dlscale::suite {

/// The program whose commands a suite lists.
struct Commands {
  std::vector<std::string> verbs;
  std::vector<std::string> formats;  ///< words that may stand before "=" in the value of -o
  /// Whether a benchmark takes one of SuiteOptions.
  std::function<bool(std::string_view benchmark, std::string_view option)> takes;
};

/// One command of a suite, with its placeholders filled in.
struct SuiteStep {
  std::string name;
  std::string doc;
  std::vector<std::string> words;  ///< command without "dlscale", or another program's command
  std::vector<std::string> placed_words;       ///< the same with {out} for the output folder
  std::vector<std::filesystem::path> outputs;  ///< files and folders that the command writes
  int ranks = 0;                               ///< 0: no launcher; ≥ 1: ranks of this step
  double seconds = 0;                          ///< estimate on two cores, for the remaining time
  std::optional<double> timeout_s;  ///< time limit, after which it counts as hung and is ended
  bool accept_failed_validation = false;  ///< exit codes 1 and 3 are findings, not failures
  bool always = false;      ///< derives results from others' measurements and never counts as done
  bool is_program = false;  ///< the words name another program, which is found on the PATH
  /// The step reads only what its command names; if it fails in any way, the other steps follow.
  bool keep_going = false;
};

/// Whether the step is a benchmark of dlscale, which writes result files.
bool is_benchmark(const SuiteStep& step);

/// The complete command of a step in shell syntax.
std::string command_text(const SuiteStep& step);

/// One point of a matrix that a suite measures: a command on its own launch shape. Cells do not
/// build upon each other, so they run in random order, and a failed cell is just a row that says
/// so.
struct SuiteCell {
  std::string name;
  std::string id;  ///< the name as a folder's name
  std::string doc;
  std::vector<std::string> words;         ///< without "dlscale"; {cell} is a folder of its own
  std::vector<std::string> placed_words;  ///< the same with {out} for the output folder
  LaunchShape shape;
  double seconds = 0;          ///< estimate, for the remaining time
  double timeout_s = 0;        ///< time limit, after which it counts as hung and is ended
  std::set<std::string> tags;  ///< tags that select it: its own and those of the suite
};

/// The files and folders that the step's command writes, by its options; `formats` are those of
/// Commands.
std::vector<std::filesystem::path> outputs_of(const SuiteStep& step,
                                              std::span<const std::string> formats = {});

/// Whether a step needs the result of an earlier one. A step that measures needs only steps whose
/// output, or a file in it, its command names. The same holds for steps that always run and for all
/// steps of a suite that keeps going. Any other step may read everything written before.
bool builds_upon(const SuiteStep& step, const SuiteStep& earlier);

/// A list of commands that a person would type one after another, a matrix of cells, or both:
/// configs/suites/<name>.yaml. Cells run after the steps, but before steps that always run.
struct Suite {
  std::string name;
  std::string doc;
  std::set<std::string> tags;  ///< its subjects, in words
  bool keep_going = false;     ///< its steps build only upon the outputs that their commands name
  std::vector<SuiteStep> steps;
  std::vector<SuiteCell> cells;
};

/// Reads a suite and fills in {placeholders} from `values` and from a step's own `for` table; each
/// combination of that table becomes one step. White space separates the words of a command, except
/// within `values`, so a folder's name stays one word. A step with its own `steps` is a group,
/// which runs as a whole for each combination. A step that asks for more workers than there are is
/// left out. Throws ConfigError naming file and place: for unknown and missing keys, undefined
/// placeholders, values out of range, or a command without a verb of the program. It also throws
/// for two steps or cells of one name, and for fewer "workers" in `values` than the suite's
/// `least_workers`.
Suite load_suite(std::string_view name, const std::map<std::string, std::string>& values,
                 const Commands& commands);

/// Options of `dlscale bench` that are given to all steps of a suite at once.
struct SuiteOptions {
  std::optional<double> wait_quiet_s;  ///< limit of each step for --wait-quiet, in seconds
  std::string cluster;                 ///< value of --cluster; empty: none
};

/// Adds the options to steps whose benchmark has them, unless a step sets them itself. Throws
/// ConfigError if an option would have no effect on any step.
void add_options(const SuiteOptions& options, const Commands& commands, Suite& suite);

}  // namespace dlscale::suite
