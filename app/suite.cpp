#include "app/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "app/verb.hpp"
#include "core/config_file.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"
#include "core/shown_text.hpp"
#include "core/suggest.hpp"

namespace dlscale::app {
namespace {

using Values = std::map<std::string, std::string>;

constexpr IntegerRange count_range{1, 1'000'000};
/// More than anybody waits for; a few axes of a `for` table come to more than memory holds.
constexpr std::size_t most_steps = 10'000;

[[noreturn]] void fail(const std::string& where, const std::string& problem) {
  throw ConfigError(fmt::format("{}: {}", where, problem));
}

constexpr std::string_view white_space = " \t\n\v\f\r";

/// What hides white space from split(): no argument of a program holds a zero.
constexpr char hidden = '\0';

/// For values from outside, such as the name of a folder: their white space does not end the word
/// they are filled into.
std::string hide_spaces(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const std::size_t which = white_space.find(c);
    if (which == std::string_view::npos) {
      result += c;
    } else {
      result += {hidden, static_cast<char>('0' + which)};
    }
  }
  return result;
}

/// What hide_spaces() was given.
std::string show_spaces(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hides = text[i] == hidden && i + 1 < text.size();
    const std::size_t which = hides ? static_cast<std::size_t>(text[i + 1] - '0') : 0;
    if (!hides || which >= white_space.size()) {
      result += text[i];
    } else {
      result += white_space[which];
      ++i;
    }
  }
  return result;
}

std::string fill_in(const std::string& text, const Values& values, const std::string& where) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    result += text.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = text.find('}', open);
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto found = values.find(name);
    if (close == std::string::npos || found == values.end()) {
      fail(where, fmt::format("{{{}}} stands for nothing. Define it in the step's \"for\".",
                              shown_text(name)));
    }
    result += found->second;
    at = close + 1;
  }
  return result;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(show_spaces(word));
  return words;
}

/// The rows of one axis of a `for` table: words, or tables of words that belong together. They may
/// hold the placeholders `known` so far.
std::vector<Values> rows(const ConfigMap& table, const std::string& axis, const Values& known) {
  std::vector<Values> result;
  if (!table.has_maps(axis)) {
    for (const std::string& word : table.texts(axis)) {
      result.push_back({{axis, fill_in(word, known, table.where(axis))}});
    }
  } else {
    for (const ConfigMap& row : table.maps(axis)) {
      Values& values = result.emplace_back();
      for (const std::string& key : row.keys()) {
        values[key] = fill_in(row.text(key), known, row.where(key));
      }
    }
  }
  if (result.empty()) table.refuse(axis, "empty", "Write what it stands for, or leave it out.");
  return result;
}

/// All combinations of the rows of a step's `for` table, if it has one.
std::vector<Values> combinations(const ConfigMap& step, const Values& base) {
  std::vector<Values> result{base};
  if (!step.has("for")) return result;
  const ConfigMap table = step.map("for");
  for (const std::string& axis : table.keys()) {
    std::vector<Values> next;
    for (const Values& values : result) {
      for (Values& row : rows(table, axis, values)) {
        row.insert(values.begin(), values.end());
        next.push_back(std::move(row));
      }
    }
    if (next.size() > most_steps) {
      step.refuse("for", fmt::format("{} combinations and more", next.size()),
                  fmt::format("Name fewer, of at most {} steps.", most_steps));
    }
    result = std::move(next);
  }
  return result;
}

/// Of a step that says so; the text may hold placeholders.
int read_ranks(const ConfigMap& map, const Values& values) {
  const std::string text = show_spaces(fill_in(map.text("ranks"), values, map.where("ranks")));
  int ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && ranks >= count_range.least && ranks <= count_range.most) return ranks;
  throw ConfigError(fmt::format("{} is \"{}\". Write a whole number from {} to {}.",
                                map.where("ranks"), shown_text(text), count_range.least,
                                count_range.most));
}

std::vector<std::string> read_command(const ConfigMap& map, const Values& values) {
  std::vector<std::string> words =
      split(fill_in(map.text("command"), values, map.where("command")));
  std::vector<std::string> verbs;
  for (const Verb* verb : family<Verb>().members) verbs.emplace_back(verb->name);
  if (words.empty()) {
    throw ConfigError(
        fmt::format("{} is empty. Write a verb of dlscale and its options.", map.where("command")));
  }
  if (std::find(verbs.begin(), verbs.end(), words.front()) == verbs.end()) {
    throw ConfigError(fmt::format(
        "{} starts with \"{}\", which is no verb of dlscale. Write what follows \"dlscale\". {}",
        map.where("command"), shown_text(words.front()), suggestion(words.front(), verbs)));
  }
  return words;
}

/// With {out} as it stands in the suite, also where the data set lies in that folder: what a step
/// does is the same by whatever name the folder is called.
Values without_folder(Values values) {
  const auto out = values.find("out");
  if (out == values.end()) return values;
  const auto data = values.find("data");
  const std::string placeholder = "{out}";
  if (data != values.end() && data->second == out->second + "/data") {
    data->second = placeholder + "/data";
  }
  out->second = placeholder;
  return values;
}

SuiteStep make_step(const ConfigMap& map, const Values& values) {
  SuiteStep step;
  step.name = show_spaces(fill_in(map.text("name"), values, map.where("name")));
  step.words = read_command(map, values);
  step.placed_words = read_command(map, without_folder(values));
  if (map.has("doc")) step.doc = show_spaces(fill_in(map.text("doc"), values, map.where("doc")));
  if (map.has("ranks")) step.ranks = read_ranks(map, values);
  step.seconds = map.number_or("seconds", 10, {0, 1e9});
  step.accept_failed_validation = map.flag_or("accept_failed_validation", false);
  step.always = map.flag_or("always", false);
  return step;
}

void allow_step_keys(const ConfigMap& map) {
  if (map.has("steps")) {
    map.allow_only({"for", "steps"});
  } else if (map.has("command")) {
    map.allow_only({"name", "doc", "for", "ranks", "command", "seconds", "accept_failed_validation",
                    "always"});
  } else {  // which of the two it was to be is not known
    map.allow_only({"name", "doc", "for", "ranks", "command", "seconds", "accept_failed_validation",
                    "always", "steps"});
  }
}

/// The steps of a suite, or of a group of steps that are done in turn for each row of its `for`.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the file's groups
void add_steps(const ConfigMap& parent, const Values& values, Suite& suite) {
  for (const ConfigMap& map : parent.maps("steps")) {
    const bool is_group = map.has("steps");
    allow_step_keys(map);
    for (const Values& row : combinations(map, values)) {
      if (is_group) {
        add_steps(map, row, suite);
      } else {
        suite.steps.push_back(make_step(map, row));
        if (suite.steps.size() > most_steps) {
          parent.refuse("steps",
                        fmt::format("more than {} with all their combinations", most_steps),
                        "Part the suite into several.");
        }
      }
    }
  }
}

/// A step that is done is known by its name.
void check_names(const Suite& suite, const std::string& where) {
  std::set<std::string> names;
  for (const SuiteStep& step : suite.steps) {
    if (names.insert(step.name).second) continue;
    fail(where, fmt::format("two steps are called \"{}\", so that one would count as done with the "
                            "other. Put what tells them apart into the name.",
                            shown_text(step.name)));
  }
}

void check_workers(int wanted, const Values& values, const std::string& where) {
  const auto given = values.find("workers");
  if (given != values.end() && std::stoi(given->second) >= wanted) return;
  fail(where, fmt::format("needs {} workers at least, since it compares one worker with several at "
                          "once, and --workers is {}. Give more of them, each with a core of its "
                          "own, or measure one by hand with \"dlscale bench\".",
                          wanted, given == values.end() ? "not given" : given->second));
}

}  // namespace

std::vector<std::filesystem::path> outputs_of(const SuiteStep& step) {
  static constexpr std::array<std::string_view, 3> options{"-o", "--output", "--out"};
  std::vector<std::filesystem::path> result;
  for (std::size_t i = 0; i + 1 < step.words.size(); ++i) {
    const bool names_output = std::ranges::find(options, step.words[i]) != options.end();
    if (names_output && step.words[i + 1] != "-") result.emplace_back(step.words[i + 1]);
  }
  return result;
}

Suite load_suite(std::string_view name, const Values& values) {
  const std::filesystem::path path = find_config("suites", name);
  const ConfigMap map = ConfigMap::load(path);
  map.allow_only({"suite", "doc", "least_workers", "steps"});
  if (map.has("least_workers")) {
    check_workers(map.integer("least_workers", count_range), values, path.string());
  }
  Suite suite;
  suite.name = map.text("suite");
  suite.doc = map.text_or("doc", "");
  Values whole;
  for (const auto& [key, value] : values) whole[key] = hide_spaces(value);
  add_steps(map, whole, suite);
  if (suite.steps.empty()) map.refuse("steps", "empty", "Write a list of steps.");
  check_names(suite, path.string());
  return suite;
}

}  // namespace dlscale::app
