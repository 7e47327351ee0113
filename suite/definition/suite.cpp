#include "suite/definition/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/shell_words.hpp"
#include "suite/definition/suite_text.hpp"

namespace dlscale::suite {
namespace {

constexpr IntegerRange count_range{1, 1'000'000};

SuiteStep make_step(const ConfigMap& map, const Placeholders& values, const Commands& commands) {
  SuiteStep step;
  step.name = fill_in(map.text("name"), values, map.where("name"));
  step.is_program = map.has("program");
  const auto read = [&](const Placeholders& known) {
    return step.is_program ? read_words(map, "program", known)
                           : read_command(map, known, commands.verbs);
  };
  step.words = read(values);
  step.outputs = outputs_of(step, commands.formats);
  step.placed_words = read(without_folder(values));
  if (map.has("doc")) step.doc = fill_in(map.text("doc"), values, map.where("doc"));
  if (map.has("ranks")) step.ranks = read_count(map, "ranks", values, count_range);
  step.seconds = map.number_or("seconds", 10, {0, 1e9});
  if (map.has("timeout")) step.timeout_s = map.number("timeout", {1, 1e9});
  step.accept_failed_validation = map.flag_or("accept_failed_validation", false);
  step.always = map.flag_or("always", false);
  return step;
}

void allow_step_keys(const ConfigMap& map) {
  if (map.has("steps")) return map.allow_only({"for", "steps"});
  std::vector<std::string_view> known{
      "name",    "doc",           "for",     "ranks",   "command",
      "program", "least_workers", "seconds", "timeout", "accept_failed_validation",
      "always"};
  const bool is_step = map.has("command") || map.has("program");
  if (!is_step) known.push_back("steps");  // the entry may be meant as either
  map.allow_only(known);
  if (map.has("command") && map.has("program")) {
    map.refuse("program", "beside a command", "Leave out one of them.");
  }
}

/// Whether there are enough workers for a step, such as one that measures messages.
bool has_workers(const ConfigMap& map, const Values& values) {
  if (!map.has("least_workers")) return true;
  const auto given = values.find("workers");
  return given != values.end() &&
         std::stoi(given->second) >= map.integer("least_workers", count_range);
}

/// Adds the steps of a suite, or of a group of steps for each row of its `for`.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the file's groups
void add_steps(const ConfigMap& parent, const Placeholders& values, const Commands& commands,
               Suite& suite) {
  for (const ConfigMap& map : parent.maps("steps")) {
    const bool is_group = map.has("steps");
    allow_step_keys(map);
    if (!is_group && !has_workers(map, values.outside)) continue;
    for (const Placeholders& row : combinations(map, values, step_limit)) {
      if (is_group) {
        add_steps(map, row, commands, suite);
      } else {
        suite.steps.push_back(make_step(map, row, commands));
        suite.steps.back().keep_going = suite.keep_going;
        if (suite.steps.size() > step_limit.most) {
          parent.refuse("steps",
                        fmt::format("more than {} with all their combinations", step_limit.most),
                        "Part the suite into several.");
        }
      }
    }
  }
}

constexpr IntegerRange shape_range{1, 1'000'000};
constexpr NumberRange seconds_range{0, 1e9};

LaunchShape read_shape(const ConfigMap& cell, const Placeholders& values) {
  LaunchShape shape;
  if (!cell.has("shape")) return shape;
  const ConfigMap map = cell.map("shape");
  map.allow_only({"nodes", "ranks_per_node", "gpus_per_rank", "threads"});
  const auto read = [&](std::string_view key, int& value, IntegerRange range) {
    if (map.has(key)) value = read_count(map, key, values, range);
  };
  read("nodes", shape.nodes, shape_range);
  read("ranks_per_node", shape.ranks_per_node, shape_range);
  read("gpus_per_rank", shape.gpus_per_rank, {0, shape_range.most});
  read("threads", shape.threads, shape_range);
  if (1LL * shape.nodes * shape.ranks_per_node > shape_range.most) {
    throw ConfigError(
        fmt::format("{} asks for more than {} ranks. Write fewer nodes, or fewer "
                    "ranks a node.",
                    map.where(), shape_range.most));
  }
  return shape;
}

/// Values of the row, of the shape, and of the folder that the cell gets when it runs.
Placeholders with_shape(const Placeholders& row, const LaunchShape& shape) {
  Placeholders all = row;
  Values& values = all.outside;
  values["nodes"] = std::to_string(shape.nodes);
  values["ranks_per_node"] = std::to_string(shape.ranks_per_node);
  values["ranks"] = std::to_string(shape.ranks());
  values["gpus_per_rank"] = std::to_string(shape.gpus_per_rank);
  values["threads"] = std::to_string(shape.threads);
  values["cell"] = "{cell}";
  values["result"] = "{cell}/result.jsonl";
  for (const auto& [name, value] : values) all.rows.erase(name);
  return all;
}

/// The id of a cell, a file name with limited length and characters.
std::string id_of(const ConfigMap& map, const std::string& name) {
  std::string id = name;
  std::ranges::replace(id, '/', '-');
  constexpr std::size_t longest = 150;
  const bool is_plain = std::ranges::none_of(
      id, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (!id.empty() && id.front() != '.' && id.size() <= longest && is_plain) return id;
  throw ConfigError(
      fmt::format("{}: \"{}\" cannot be the name of a folder, as that of a cell is. "
                  "Write 1 to {} printable characters, the first of them no dot.",
                  map.where("name"), name, longest));
}

/// Throws ConfigError for a benchmark that only prints its results.
void check_kept(const ConfigMap& map, const SuiteCell& cell) {
  if (cell.words.front() != "bench") return;
  const bool kept = std::ranges::any_of(
      cell.words, [](const std::string& word) { return word.find("{cell}") != std::string::npos; });
  if (kept) return;
  throw ConfigError(
      fmt::format("{} writes nothing below {{cell}}, so that what it measures would "
                  "be lost. Add -o {{result}}.",
                  map.where("command")));
}

SuiteCell make_cell(const ConfigMap& map, const Placeholders& row, const Commands& commands) {
  SuiteCell cell;
  cell.shape = read_shape(map, row);
  const Placeholders values = with_shape(row, cell.shape);
  cell.name = fill_in(map.text("name"), values, map.where("name"));
  cell.id = id_of(map, cell.name);
  cell.words = read_command(map, values, commands.verbs);
  cell.placed_words = read_command(map, without_folder(values), commands.verbs);
  if (map.has("doc")) cell.doc = fill_in(map.text("doc"), values, map.where("doc"));
  cell.seconds = map.number_or("seconds", 10, seconds_range);
  cell.tags = read_tags(map, values);
  cell.timeout_s = map.number_or("timeout", 600, {1, seconds_range.most});
  check_kept(map, cell);
  return cell;
}

/// The cells of a suite file: each entry of `cells`, once for each combination of its `for` table.
/// A command writes below {cell}, or into {result}, a result file there. {nodes}, {ranks_per_node},
/// {ranks}, {gpus_per_rank} and {threads} are those of the cell's shape. Throws ConfigError as
/// load_suite() does, and for a benchmark that keeps its results nowhere.
std::vector<SuiteCell> read_cells(const ConfigMap& suite, const Placeholders& values,
                                  const Commands& commands) {
  std::vector<SuiteCell> cells;
  std::map<std::string, std::string> names;  // by folder name
  for (const ConfigMap& map : suite.maps("cells")) {
    map.allow_only({"name", "doc", "for", "shape", "command", "seconds", "timeout", "tags"});
    for (const Placeholders& row : combinations(map, values, cell_limit)) {
      SuiteCell cell = make_cell(map, row, commands);
      const auto [other, is_new] = names.emplace(cell.id, cell.name);
      if (!is_new) {
        throw ConfigError(
            fmt::format("{}: cells are called \"{}\" and \"{}\", which is the same "
                        "folder. Put what tells them apart into the name.",
                        map.where("name"), other->second, cell.name));
      }
      cells.push_back(std::move(cell));
      if (cells.size() > cell_limit.most) {
        throw ConfigError(
            fmt::format("{}: there are more than {} cells. Write fewer values, or "
                        "several suites.",
                        map.where("for"), cell_limit.most));
      }
    }
  }
  if (cells.empty()) suite.refuse("cells", "empty", "Write a list of cells.");
  return cells;
}

/// Refuses equal names, since finished steps are identified by name.
void check_names(const Suite& suite, const std::string& where) {
  std::set<std::string> names;
  for (const SuiteStep& step : suite.steps) {
    if (names.insert(step.name).second) continue;
    throw ConfigError(
        fmt::format("{}: two steps are called \"{}\", so that one would count as done with the "
                    "other. Put what tells them apart into the name.",
                    where, escape_for_terminal(step.name)));
  }
}

void check_workers(int wanted, const Values& values, const std::string& where) {
  const auto given = values.find("workers");
  if (given != values.end() && std::stoi(given->second) >= wanted) return;
  throw ConfigError(
      fmt::format("{}: needs {} workers at least, since it compares one worker with several at "
                  "once, and --workers is {}. Give more of them, each with a core of its "
                  "own, or measure one by hand with \"dlscale bench\".",
                  where, wanted, given == values.end() ? "not given" : given->second));
}

/// Whether the option's value may be FORMAT=PLACE.
bool names_format(const SuiteStep& step, std::string_view option) {
  static constexpr std::array<std::string_view, 7> others{"bench", "calibrate", "data", "gate",
                                                          "noise", "report",    "run"};
  if (step.is_program) return false;
  if (option == "--write") return true;
  const bool fits_models =
      step.words.front() == "roofline" && step.words.size() > 1 && step.words[1] == "fit";
  return option != "--out" && !fits_models &&
         std::ranges::find(others, step.words.front()) == others.end();
}

/// The path in an option's value, which a format may precede; "-" names standard output.
std::string path_in(const std::string& text, std::span<const std::string> formats) {
  const std::size_t end = text.find('=');
  const bool has_format =
      end != std::string::npos && std::ranges::find(formats, text.substr(0, end)) != formats.end();
  const std::string path = has_format ? text.substr(end + 1) : text;
  return path.empty() ? "-" : path;
}

/// Whether a word of a command names the output, or something in it.
bool is_within(const std::filesystem::path& word, const std::filesystem::path& output) {
  const std::filesystem::path from =
      word.lexically_normal().lexically_relative(output.lexically_normal());
  return !from.empty() && *from.begin() != "..";
}

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

bool is_benchmark(const SuiteStep& step) {
  return !step.is_program && step.words.front() == "bench";
}

std::string command_text(const SuiteStep& step) {
  return (step.is_program ? "" : "dlscale ") + shell_line(step.words);
}

std::vector<std::filesystem::path> outputs_of(const SuiteStep& step,
                                              std::span<const std::string> formats) {
  static constexpr std::array<std::string_view, 4> options{"-o", "--output", "--out", "--write"};
  std::vector<std::filesystem::path> result;
  for (std::size_t i = 0; i < step.words.size(); ++i) {
    const std::string& word = step.words[i];
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (std::ranges::find(options, option) == options.end()) continue;
    const bool is_next = equals == std::string::npos;
    if (is_next && i + 1 == step.words.size()) continue;
    const std::string value = is_next ? step.words[i + 1] : word.substr(equals + 1);
    const std::string path = names_format(step, option) ? path_in(value, formats) : value;
    if (path != "-") result.emplace_back(path);
  }
  return result;
}

bool builds_upon(const SuiteStep& step, const SuiteStep& earlier) {
  if (!step.always && !step.keep_going && !is_benchmark(step)) return true;
  return std::ranges::any_of(step.words, [&earlier](const std::string& word) {
    return std::ranges::any_of(earlier.outputs, [&word](const std::filesystem::path& output) {
      return is_within(word, output);
    });
  });
}

Suite load_suite(std::string_view name, const Values& values, const Commands& commands) {
  const std::filesystem::path path = find_config("suites", name);
  const ConfigMap map = ConfigMap::load(path);
  map.allow_only({"suite", "doc", "tags", "least_workers", "keep_going", "steps", "cells"});
  if (map.has("least_workers")) {
    check_workers(map.integer("least_workers", count_range), values, path.string());
  }
  Suite suite;
  suite.name = map.name("suite");
  suite.doc = map.text_or("doc", "");
  suite.tags = read_tags(map, {});
  suite.keep_going = map.flag_or("keep_going", false);
  Placeholders whole{.rows = {}, .outside = values};
  if (map.has("steps")) {
    add_steps(map, whole, commands, suite);
    if (suite.steps.empty()) map.refuse("steps", "empty", "Write a list of steps.");
  }
  if (map.has("cells")) {
    // Cells state their own shape, independent of the machine that reads the suite.
    for (const char* of_this_machine : {"workers", "cores", "threads"})
      whole.outside.erase(of_this_machine);
    suite.cells = read_cells(map, whole, commands);
    for (SuiteCell& cell : suite.cells) cell.tags.insert(suite.tags.begin(), suite.tags.end());
  }
  if (suite.steps.empty() && suite.cells.empty()) {
    throw ConfigError(
        fmt::format("{} has neither steps nor cells, so there is nothing to do. Write "
                    "a list of either.",
                    map.where()));
  }
  check_names(suite, path.string());
  return suite;
}

void add_options(const SuiteOptions& options, const Commands& commands, Suite& suite) {
  if (options.wait_quiet_s) {
    add(suite, {"--wait-quiet", fmt::format("{}", *options.wait_quiet_s), *options.wait_quiet_s},
        commands);
  }
  if (!options.cluster.empty()) add(suite, {"--cluster", options.cluster, 0}, commands);
}

}  // namespace dlscale::suite
