#include "app/option_values.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

#include "core/error.hpp"

namespace dlscale::app {

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
    const bool one = option->get_items_expected_max() == 1;
    if (!one || option->count() < 2) continue;
    return fmt::format(
        "{} is given {} times. Give it once; where it takes several values, write them with commas "
        "between them.",
        option->get_name(), option->count());
  }
  return {};
}

}  // namespace dlscale::app
