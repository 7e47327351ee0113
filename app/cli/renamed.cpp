#include "app/cli/renamed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <set>

#include "app/cli/rank0_error.hpp"

namespace dlscale::app {
namespace {

/// A name of the last release, which works until the next one. Help and completion do not show it.
struct Renamed {
  std::string_view verb;  ///< whose option it is; empty: a verb itself
  std::string_view old;
  std::string_view now;
};

constexpr std::array<Renamed, 20> renamed{{
    {"", "choose", "select-algorithm"},
    {"bench", "beside", "overlap-with"},
    {"bench", "beside-work", "overlap-work"},
    {"bench", "company", "concurrent-with"},
    {"bench", "cut", "gemm-source"},
    {"bench", "fresh", "restart"},
    {"bench", "normalise", "normalize"},
    {"bench", "patience", "heartbeat-timeout"},
    {"gate", "fresh", "restart"},
    {"history", "sensitive", "low-threshold"},
    {"noise", "fresh", "restart"},
    {"plan", "callers", "server-clients"},
    {"plan", "check", "simulate-top"},
    {"plan", "normalise", "normalize"},
    {"predict", "callers", "server-clients"},
    {"predict", "normalise", "normalize"},
    {"predict", "stragglers", "straggler-spread"},
    {"report", "sensitive", "low-threshold"},
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

void say_renamed(std::string_view old, std::string_view now) {
  if (!is_first_rank()) return;
  fmt::print(stderr, "dlscale: {} is now {}; the next release does not know the old name.\n", old,
             now);
}

bool has_renamed_values(std::string_view option) {
  return std::ranges::any_of(renamed_values,
                             [&](const RenamedValue& one) { return one.option == option; });
}

}  // namespace

std::string current_value(std::string_view option, const std::string& value) {
  if (!has_renamed_values(option)) return value;
  std::vector<std::string> items = CLI::detail::split(value, ',');
  for (std::string& item : items) {
    for (const RenamedValue& one : renamed_values) {
      if (one.option != option || one.old != item) continue;
      say_renamed(fmt::format("{} {}", option, one.old), fmt::format("{} {}", option, one.now));
      item = one.now;
    }
  }
  return fmt::format("{}", fmt::join(items, ","));
}

std::vector<std::string> old_verbs() {
  std::vector<std::string> verbs;
  for (const Renamed& one : renamed) {
    if (one.verb.empty()) verbs.emplace_back(one.old);
  }
  return verbs;
}

std::vector<std::string> with_current_names(std::vector<std::string> words) {
  std::string verb;
  std::string before;
  std::set<std::string> said;
  for (std::string& word : words) {
    if (word == "--") break;
    const bool is_verb = verb.empty() && !word.starts_with('-') && before != "--config";
    const std::string name = word.substr(0, word.find('='));
    const bool is_option = name.starts_with("--");
    const Renamed* const found = is_verb     ? find_renamed("", word)
                                 : is_option ? find_renamed(verb, name.substr(2))
                                             : nullptr;
    if (found != nullptr) {
      const std::string now = fmt::format("{}{}", is_verb ? "" : "--", found->now);
      word.replace(0, name.size(), now);
      if (said.insert(name).second) say_renamed(name, now);
    }
    word = current_value(before, word);
    if (const std::size_t end = word.find('='); is_option && end != std::string::npos) {
      word = word.substr(0, end + 1) + current_value(word.substr(0, end), word.substr(end + 1));
    }
    if (is_verb) verb = word;
    before = word;
  }
  return words;
}

std::string current_name(std::string_view verb, std::string_view name) {
  const Renamed* const found = find_renamed(verb, name);
  if (found == nullptr) return std::string(name);
  say_renamed(name, found->now);
  return std::string(found->now);
}

}  // namespace dlscale::app
