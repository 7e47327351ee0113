#include "app/cli/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"

namespace dlscale::app {
namespace {

/// Finds an option of the command or its subcommands; nullptr if there is none.
const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  if (!name.starts_with("--")) return nullptr;
  if (const CLI::Option* const own = command.get_option_no_throw(name)) return own;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (const CLI::Option* const other = find_option(*below, name)) return other;
  }
  return nullptr;
}

}  // namespace

std::string one_of(std::span<const std::string> words) {
  return fmt::format("{{{}}}", fmt::join(words, ","));
}

void refuse_empty_values(CLI::App& command) {
  const auto check = [](const std::string& text) -> std::string {
    const bool empty = text.find_first_not_of(" \t") == std::string::npos;
    return empty ? "the value is empty. Write one, or leave the option out" : "";
  };
  for (CLI::Option* option : command.get_options({})) {
    const bool is_flag = option->get_items_expected_max() == 0;
    // The check has an empty name, since help would show one as the kind of value.
    if (!is_flag) option->check(CLI::Validator(check, ""));
  }
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_values(*below);
  }
}

void refuse_empty_item(const CLI::Option& option, std::string_view list) {
  const char comma = option.get_delimiter();
  if (comma == '\0' || list.empty()) return;
  const bool empty = list.front() == comma || list.back() == comma ||
                     list.find(std::string(2, comma)) != std::string_view::npos;
  if (!empty) return;
  throw CLI::ValidationError(fmt::format(
      "{} is \"{}\", with nothing between, before or behind a comma. Write each value, or leave "
      "the comma out",
      option.get_name(), shown_text(list)));
}

void refuse_empty_items(const CLI::App& command, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word(words[i]);
    if (word == "--") return;
    const std::size_t sign = std::min(word.find('='), word.size());
    const CLI::Option* const option = find_option(command, std::string(word.substr(0, sign)));
    if (option == nullptr) continue;
    if (sign < word.size()) {
      refuse_empty_item(*option, word.substr(sign + 1));
    } else if (i + 1 < words.size()) {
      refuse_empty_item(*option, words[i + 1]);
    }
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

}  // namespace dlscale::app
