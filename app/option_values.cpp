#include "app/option_values.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/shown_text.hpp"
#include "core/suggest.hpp"

namespace dlscale::app {
namespace {

/// Of the command or one below it; nullptr where it is none.
const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  if (!name.starts_with("--")) return nullptr;
  if (const CLI::Option* const own = command.get_option_no_throw(name)) return own;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (const CLI::Option* const other = find_option(*below, name)) return other;
  }
  return nullptr;
}

bool has_empty_item(std::string_view list, char delimiter) {
  const std::string two(2, delimiter);
  return !list.empty() && (list.front() == delimiter || list.back() == delimiter ||
                           list.find(two) != std::string_view::npos);
}

}  // namespace

void refuse_empty_values(CLI::App& command) {
  const auto check = [](const std::string& text) -> std::string {
    const bool empty = text.find_first_not_of(" \t") == std::string::npos;
    return empty ? "the value is empty. Write one, or leave the option out" : "";
  };
  for (CLI::Option* option : command.get_options({})) {
    const bool is_flag = option->get_items_expected_max() == 0;
    // Without a name of its own, which help would show as the kind of value.
    if (!is_flag) option->check(CLI::Validator(check, ""));
  }
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_values(*below);
  }
}

void refuse_empty_items(const CLI::App& command, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word(words[i]);
    if (word == "--") return;
    const std::size_t sign = std::min(word.find('='), word.size());
    const CLI::Option* const option = find_option(command, std::string(word.substr(0, sign)));
    if (option == nullptr || option->get_delimiter() == '\0') continue;
    std::string_view list;
    if (sign < word.size()) {
      list = word.substr(sign + 1);
    } else if (i + 1 < words.size()) {
      list = words[i + 1];
    }
    if (!has_empty_item(list, option->get_delimiter())) continue;
    throw ConfigError(fmt::format(
        "{} is \"{}\", with nothing between, before or behind a comma. Write each value, or leave "
        "the comma out.",
        option->get_name(), shown_text(list)));
  }
}

std::string not_an_option(const CLI::App& command) {
  const std::vector<std::string> unknown = command.remaining();
  const auto first = std::ranges::find_if(
      unknown, [](const std::string& word) { return word.size() > 2 && word.starts_with("--"); });
  if (first == unknown.end()) return {};
  const std::string word = first->substr(0, first->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string> nearest = nearest_first(word, names);
  const bool near = !nearest.empty() && edit_distance(nearest.front(), word) <= 2;
  return fmt::format("{} is no option of {}.{}", shown_text(word), command.get_name(),
                     near ? fmt::format(" Did you mean {}?", nearest.front()) : "");
}

void refuse_repeated(std::string_view option, std::span<const int> numbers) {
  std::set<int> met;
  for (const int number : numbers) {
    if (met.insert(number).second) continue;
    throw ConfigError(
        fmt::format("{} names {} twice (both would say the same). Name it once.", option, number));
  }
}

std::string given_twice(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool one = option->get_items_expected_max() == 1 &&
                     option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
    if (!one || option->count() < 2) continue;
    return fmt::format(
        "{} is given {} times. Give it once; where it takes several values, write them with commas "
        "between them.",
        option->get_name(), option->count());
  }
  return {};
}

}  // namespace dlscale::app
