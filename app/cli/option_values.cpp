#include "app/cli/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "app/cli/number_words.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/quantity_text.hpp"

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
  const auto without_blanks = [](std::string& item) -> std::string {
    item.erase(0, std::min(item.find_first_not_of(" \t"), item.size()));
    item.erase(item.find_last_not_of(" \t") + 1);
    return {};
  };
  for (CLI::Option* option : command.get_options({})) {
    const bool is_flag = option->get_items_expected_max() == 0;
    // The check has an empty name, since help would show one as the kind of value.
    if (!is_flag) option->check(CLI::Validator(check, ""));
    if (option->get_delimiter() != '\0') option->transform(CLI::Validator(without_blanks, ""));
  }
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_values(*below);
  }
}

void read_whole_numbers_in_base_10(CLI::App& command) {
  const auto read = [](std::string& text) -> std::string {
    const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    if (text.size() <= sign + 1 || text[sign] != '0') return {};
    if (text.find_first_not_of("0123456789", sign) == std::string::npos) {
      const std::size_t first = std::min(text.find_first_not_of('0', sign), text.size() - 1);
      text.erase(sign, first - sign);
      return {};
    }
    const bool is_hexadecimal = text[sign + 1] == 'x' || text[sign + 1] == 'X';
    return is_hexadecimal ? text + " is not a whole number in base 10. Write it in digits" : "";
  };
  for (CLI::Option* option : command.get_options({})) {
    const std::string type = option->get_type_name();
    // The transformation has an empty name, since help would show one as the kind of value.
    if (type.starts_with("INT") || type.starts_with("UINT")) {
      option->transform(CLI::Validator(read, ""));
    }
  }
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) {
    read_whole_numbers_in_base_10(*below);
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
      option.get_name(), escape_for_terminal(list)));
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

namespace {

/// The problem with a number; empty if it is finite and above zero.
std::string why_not_positive(const std::string& text) {
  double value = 0;
  const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
  if (number && value > 0) return {};
  if (std::string advice = advice_on_number(text, Numbers::one); !number && !advice.empty()) {
    return advice;
  }
  return number ? fmt::format("{} is not a number above 0. Write a larger one", text)
                : fmt::format("{} is not a finite number above 0; expected, for example, 1", text);
}

/// Advice on a time with a unit, "10m", for an option that counts seconds; empty for other texts.
std::string advice_on_seconds(const std::string& text) {
  double number = 0;
  if (CLI::detail::lexical_cast(text, number)) return {};
  try {
    return fmt::format("{} has a unit, and this option counts seconds. Write {}", text,
                       parse_quantity<Seconds>(text, "it").si());
  } catch (const ConfigError&) {
    return {};
  }
}

/// Advice on a percentage for an option that takes a fraction; empty for other texts.
std::string advice_on_fraction(const std::string& text) {
  double number = 0;
  if (!text.ends_with('%') ||
      !CLI::detail::lexical_cast(text.substr(0, text.find_last_not_of(" %") + 1), number)) {
    return {};
  }
  return fmt::format("{} is a percentage, and this option takes a fraction. Write {:g}", text,
                     number / 100);
}

}  // namespace

CLI::Validator positive() {
  return {why_not_positive, "POSITIVE"};
}

CLI::Validator positive_count() {
  const auto check = [](const std::string& text) -> std::string {
    int value = 0;
    std::string problem = why_not_positive(text);
    if (!problem.empty() || CLI::detail::lexical_cast(text, value)) return problem;
    if (std::string advice = advice_on_number(text, Numbers::one); !advice.empty()) return advice;
    return fmt::format("{} is not a whole number up to {}; expected, for example, 2", text,
                       std::numeric_limits<int>::max());
  };
  return {check, "POSITIVE"};
}

CLI::Validator positive_seconds() {
  constexpr double most = 1e9;
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    if (std::string advice = advice_on_seconds(text); !advice.empty()) return advice;
    std::string problem = why_not_positive(text);
    if (!problem.empty() || (CLI::detail::lexical_cast(text, value) && value <= most)) {
      return problem;
    }
    return fmt::format(
        "{} is more than 1e9 seconds, which are thirty years. Write a smaller number", text);
  };
  return {check, "POSITIVE"};
}

CLI::Validator margin_fraction() {
  // CLI::Range accepts NaN, since no comparison puts it out of range.
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
    if (is_number && value >= 0 && value < 1) return {};
    if (std::string advice = advice_on_fraction(text); !advice.empty()) return advice;
    if (is_number && value >= 1) {
      return fmt::format(
          "{} would be {:g} %, and this option takes a fraction. Write {:g} for {:g} %", text,
          value * 100, value / 100, value);
    }
    return fmt::format(
        "{} is not a fraction from 0 to 1; expected, for example, 0.02, which is 2 %", text);
  };
  return {check, "FLOAT in [0 - 1)"};
}

CLI::Validator seed() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("{} is not a whole number from 0 to 2^64 - 1; expected, for example, 1",
                       text);
  };
  return {check, "SEED"};
}

void exclude_others(CLI::App& verb, CLI::Option& option,
                    std::initializer_list<const char*> beside) {
  std::set<const CLI::Option*> allowed{&option, verb.get_help_ptr()};
  for (const char* name : beside) allowed.insert(verb.get_option_no_throw(name));
  for (CLI::Option* other : verb.get_options()) {
    if (!allowed.contains(other)) option.excludes(other);
  }
}

}  // namespace dlscale::app
