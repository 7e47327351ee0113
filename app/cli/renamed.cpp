#include "app/cli/renamed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/cli/foreign_words.hpp"
#include "app/cli/rank0_error.hpp"

namespace dlscale::app {
namespace {

/// A name of the last release, which works until the next one. Help and completion do not show it.
struct Renamed {
  std::string_view verb;  ///< whose option it is; empty: a verb itself
  std::string_view old;
  std::string_view now;
};

constexpr std::array<Renamed, 18> renamed{{
    {"", "choose", "select-algorithm"},
    {"bench", "beside", "overlap-with"},
    {"bench", "beside-work", "overlap-work"},
    {"bench", "company", "concurrent-with"},
    {"bench", "cut", "gemm-source"},
    {"bench", "fresh", "restart"},
    {"bench", "normalise", "normalize"},
    {"bench", "patience", "heartbeat-timeout"},
    {"gate", "fresh", "restart"},
    {"noise", "fresh", "restart"},
    {"plan", "callers", "server-clients"},
    {"plan", "check", "simulate-top"},
    {"plan", "normalise", "normalize"},
    {"predict", "callers", "server-clients"},
    {"predict", "normalise", "normalize"},
    {"predict", "stragglers", "straggler-spread"},
    {"run", "fresh", "restart"},
    {"validate", "quality", "data-quality"},
}};

/// Words of `option` that the last release wrote otherwise.
struct RenamedValue {
  std::string_view option;
  std::string_view old;
  std::string_view now;
};

constexpr std::array<RenamedValue, 2> renamed_values{
    {{"--concurrent-with", "solo", "none"}, {"--concurrent-with", "bidirectional", "copy"}}};

const Renamed* find_renamed(std::string_view verb, std::string_view name) {
  const auto found = std::ranges::find_if(
      renamed, [&](const Renamed& one) { return one.verb == verb && one.old == name; });
  return found == renamed.end() ? nullptr : &*found;
}

bool has_renamed_values(std::string_view option) {
  return std::ranges::any_of(renamed_values,
                             [&](const RenamedValue& one) { return one.option == option; });
}

}  // namespace

void CurrentNames::say(const std::string& old, std::string_view now) {
  if (!said_.insert(old).second || !is_first_rank()) return;
  fmt::print(stderr, "dlscale: {} is now {}; the next release does not know the old name.\n", old,
             now);
}

std::string CurrentNames::name(std::string_view verb, const std::string& name) {
  const bool is_typed = name.starts_with("--");
  const Renamed* const found = find_renamed(verb, std::string_view(name).substr(is_typed ? 2 : 0));
  if (found == nullptr) return name;
  std::string now = fmt::format("{}{}", is_typed ? "--" : "", found->now);
  say(name, now);
  return now;
}

std::string CurrentNames::value(std::string_view option, const std::string& value) {
  if (!has_renamed_values(option)) return our_values(option, value);
  std::vector<std::string> items = CLI::detail::split(value, ',');
  for (std::string& item : items) {
    for (const RenamedValue& one : renamed_values) {
      if (one.option != option || one.old != item) continue;
      say(fmt::format("{} {}", option, one.old), fmt::format("{} {}", option, one.now));
      item = one.now;
    }
  }
  return fmt::format("{}", fmt::join(items, ","));
}

std::vector<std::string> CurrentNames::words(std::vector<std::string> words) {
  std::string verb;
  std::string before;
  for (std::string& word : words) {
    if (word == "--") break;
    const bool is_verb = verb.empty() && !word.starts_with('-') && before != "--config";
    const std::size_t end = std::min(word.find('='), word.size());
    if (is_verb) {
      verb = word = name("", word);
    } else if (word.starts_with("--")) {
      const std::string option = name(verb, word.substr(0, end));
      word = end < word.size() ? option + "=" + value(option, word.substr(end + 1)) : option;
    } else {
      word = value(before, word);
    }
    before = word;
  }
  return words;
}

std::vector<std::string> old_verbs() {
  std::vector<std::string> verbs;
  for (const Renamed& one : renamed) {
    if (one.verb.empty()) verbs.emplace_back(one.old);
  }
  return verbs;
}

}  // namespace dlscale::app
