#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/suite/launch/launch_command.hpp"

namespace dlscale::app {

/// One command of a suite, placeholders filled in.
struct SuiteStep {
  std::string name;
  std::string doc;
  std::vector<std::string> words;         ///< of the command, without "dlscale", or of a program
  std::vector<std::string> placed_words;  ///< the same with {out} in place of the output folder
  int ranks = 0;                          ///< 0: no launcher; ≥ 1: ranks of this step
  double seconds = 0;                     ///< estimate on two cores, for the time left
  std::optional<double> timeout_s;        ///< after which it counts as hung, and is ended
  bool accept_failed_validation = false;  ///< exit codes 1 and 3 are findings, no failures
  bool always = false;      ///< only derives from what others measured: never counts as done
  bool is_program = false;  ///< the words are another program's, which is found on the PATH
  /// It reads only what its command names; where it fails in any way, the other steps follow.
  bool keep_going = false;
};

/// A benchmark of dlscale, which writes result files.
bool is_benchmark(const SuiteStep& step);

/// The whole command of a step as a shell reads it.
std::string command_text(const SuiteStep& step);

/// One point of a matrix that a suite measures: a command by itself, on a shape of its own. Cells
/// do not build upon each other, so they are carried out in a random order, and one that fails is
/// no more than a row that says so.
struct SuiteCell {
  std::string name;
  std::string id;  ///< the name as that of a folder
  std::string doc;
  std::vector<std::string> words;         ///< without "dlscale"; {cell} is a folder of its own
  std::vector<std::string> placed_words;  ///< the same with {out} in place of the output folder
  LaunchShape shape;
  double seconds = 0;          ///< estimate, for the time left
  double timeout_s = 0;        ///< after which it counts as hung, and is ended
  std::set<std::string> tags;  ///< by which it can be chosen: its own and those of the suite
};

/// The files and folders that its command is told to write.
std::vector<std::filesystem::path> outputs_of(const SuiteStep& step);

/// Whether a step needs another to have been carried out before it. One that measures needs only
/// those whose output, or what is in it, its command names, and so do steps that always run, which
/// derive from what there is, and all steps of a suite that keeps going; any other may read all
/// that was written before.
bool builds_upon(const SuiteStep& step, const SuiteStep& earlier);

/// A list of commands that a person would type one after the other, a matrix of cells, or both:
/// configs/suites/<name>.yaml. Cells come after the steps, but before those that always run.
struct Suite {
  std::string name;
  std::string doc;
  std::set<std::string> tags;  ///< what it is about, in words
  bool keep_going = false;     ///< its steps build only upon what their commands name
  std::vector<SuiteStep> steps;
  std::vector<SuiteCell> cells;
};

/// Reads a suite and fills in {placeholders}: those of `values` and those of a step's own `for`
/// table, whose combinations become one step each. White space parts the words of a command, but
/// not that of `values`: a folder's name stays whole. A step with `steps` of its own is a group,
/// which is done as a whole for each combination. Throws ConfigError naming file and place: unknown
/// and missing keys, placeholders that stand for nothing, values out of range, a command that
/// starts with no verb of the program, two steps or cells of one name; or fewer "workers" among the
/// `values` than the suite's `least_workers`. A step that asks for more workers is left out.
Suite load_suite(std::string_view name, const std::map<std::string, std::string>& values);

}  // namespace dlscale::app
