#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// The kind of value of an option that takes one of these words: "{f32,bf16}". Help shows it and
/// completion offers the words; the verb itself refuses others.
std::string one_of(std::span<const std::string> words);
template <class Enum, std::size_t N>
std::string one_of(const std::array<Enum, N>& all, std::string_view (*name_of)(Enum)) {
  std::vector<std::string> words;
  for (const Enum one : all) words.emplace_back(name_of(one));
  return one_of(words);
}

/// Makes every option of the command and its subcommands refuse an empty value, as `-o "$FOLDER"`
/// gives if the variable is not set. Otherwise nothing would be written, or a limit would not hold.
/// Call it when all options are declared.
void refuse_empty_values(CLI::App& command);

/// Throws CLI::ValidationError if a list has an empty item ("1,,2"), which CLI11 would drop.
/// `refuse_empty_items()` checks all lists among the words of a command line.
void refuse_empty_item(const CLI::Option& option, std::string_view list);
void refuse_empty_items(const CLI::App& command, std::span<const std::string> words);

/// Throws ConfigError if the list of an option names a number twice.
void refuse_repeated(std::string_view option, std::span<const int> numbers);

}  // namespace dlscale::app
