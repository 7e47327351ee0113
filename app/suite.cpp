#include "app/suite.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "core/config_path.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using Values = std::map<std::string, std::string>;

[[noreturn]] void fail(const std::string& where, const std::string& problem) {
  throw ConfigError(fmt::format("{}: {}", where, problem));
}

void check_keys(const YAML::Node& node, const std::set<std::string>& allowed,
                const std::string& where) {
  if (!node.IsMap()) fail(where, "is not a table of keys and values.");
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    if (!allowed.contains(key)) {
      fail(where, fmt::format("unknown key \"{}\". Allowed: {}.", key, fmt::join(allowed, ", ")));
    }
  }
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
      fail(where, fmt::format("{{{}}} stands for nothing. Define it in the step's \"for\".", name));
    }
    result += found->second;
    at = close + 1;
  }
  return result;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// A row of a `for` table may be a word or a table of words that belong together. They may hold
/// the placeholders `known` so far.
Values row_values(const std::string& name, const YAML::Node& row, const Values& known,
                  const std::string& where) {
  const auto text = [&](const YAML::Node& word) {
    return fill_in(word.as<std::string>(), known, where);
  };
  if (!row.IsMap()) return {{name, text(row)}};
  Values result;
  for (const auto& entry : row) result[entry.first.as<std::string>()] = text(entry.second);
  return result;
}

/// All combinations of the rows of a `for` table.
std::vector<Values> combinations(const YAML::Node& table, const Values& base,
                                 const std::string& where) {
  std::vector<Values> result{base};
  for (const auto& axis : table) {
    std::vector<Values> next;
    for (const Values& values : result) {
      for (const auto& row : axis.second) {
        Values extended = row_values(axis.first.as<std::string>(), row, values, where);
        extended.insert(values.begin(), values.end());
        next.push_back(std::move(extended));
      }
    }
    result = std::move(next);
  }
  return result;
}

SuiteStep make_step(const YAML::Node& node, const Values& values, const std::string& where) {
  const auto text = [&](const char* key) {
    return fill_in(node[key].as<std::string>(""), values, where);
  };
  SuiteStep step{.name = text("name"), .doc = text("doc"), .words = split(text("command"))};
  if (step.name.empty() || step.words.empty())
    fail(where, "a step needs \"name\" and \"command\".");
  if (node["ranks"]) step.ranks = std::stoi(text("ranks"));
  step.seconds = node["seconds"].as<double>(10);
  step.accept_failed_validation = node["accept_failed_validation"].as<bool>(false);
  step.always = node["always"].as<bool>(false);
  return step;
}

void add_steps(const YAML::Node& list, const Values& values, const std::string& where,
               Suite& suite);

/// A step, or a group of steps that are done in turn for each row of the group's `for`.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the file's groups
void add_step(const YAML::Node& node, const Values& values, const std::string& where,
              Suite& suite) {
  if (node.IsMap() && node["steps"]) {
    check_keys(node, {"for", "steps"}, where);
    for (const Values& row : combinations(node["for"], values, where)) {
      add_steps(node["steps"], row, where, suite);
    }
    return;
  }
  check_keys(
      node,
      {"name", "doc", "command", "ranks", "seconds", "for", "accept_failed_validation", "always"},
      where);
  for (const Values& row : combinations(node["for"], values, where)) {
    suite.steps.push_back(make_step(node, row, where));
  }
}

// NOLINTNEXTLINE(misc-no-recursion): see add_step
void add_steps(const YAML::Node& list, const Values& values, const std::string& where,
               Suite& suite) {
  if (!list.IsSequence()) fail(where, "/steps is missing. Write a list of steps.");
  for (std::size_t i = 0; i < list.size(); ++i) {
    add_step(list[i], values, fmt::format("{}/steps/{}", where, i), suite);
  }
}

/// A step that is done is known by its name.
void check_names(const Suite& suite, const std::string& where) {
  std::set<std::string> names;
  for (const SuiteStep& step : suite.steps) {
    if (names.insert(step.name).second) continue;
    fail(where, fmt::format("two steps are called \"{}\", so that one would count as done with the "
                            "other. Put what tells them apart into the name.",
                            step.name));
  }
}

void check_workers(const YAML::Node& least, const Values& values, const std::string& where) {
  if (!least) return;
  const int wanted = least.as<int>();
  const auto given = values.find("workers");
  if (given != values.end() && std::stoi(given->second) >= wanted) return;
  fail(where, fmt::format("needs {} workers at least, since it compares one worker with several at "
                          "once, and --workers is {}. Give more of them, each with a core of its "
                          "own, or measure one by hand with \"dlscale bench\".",
                          wanted, given == values.end() ? "not given" : given->second));
}

Suite parse_suite(const fs::path& path, const Values& values) {
  const YAML::Node root = YAML::LoadFile(path.string());
  check_keys(root, {"suite", "doc", "least_workers", "steps"}, path.string());
  check_workers(root["least_workers"], values, path.string());
  Suite suite;
  suite.name = root["suite"].as<std::string>();
  suite.doc = root["doc"].as<std::string>("");
  add_steps(root["steps"], values, path.string() + ": ", suite);
  check_names(suite, path.string());
  return suite;
}

}  // namespace

Suite load_suite(std::string_view name, const Values& values) {
  const fs::path path = find_config("suites", name);
  try {
    return parse_suite(path, values);
  } catch (const YAML::Exception& error) {
    fail(path.string(), fmt::format("cannot be read as YAML ({}).", error.what()));
  } catch (const std::logic_error& error) {  // std::stoi
    fail(path.string(), fmt::format("\"ranks\" is no whole number ({}).", error.what()));
  }
}

}  // namespace dlscale::app
