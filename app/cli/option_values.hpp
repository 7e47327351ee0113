#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
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

/// Makes every option of the command and its subcommands that holds whole numbers read them in base
/// 10: CLI11 takes "010" for 8, and "0x20" for 32. Zeros in front mean nothing, as `seq -w` writes
/// them; other bases are refused. Call it when all options are declared.
void read_whole_numbers_in_base_10(CLI::App& command);

/// Throws CLI::ValidationError if a list has an empty item ("1,,2"), which CLI11 would drop.
/// `refuse_empty_items()` checks all lists among the words of a command line.
void refuse_empty_item(const CLI::Option& option, std::string_view list);
void refuse_empty_items(const CLI::App& command, std::span<const std::string> words);

/// Throws ConfigError if the list of an option names a number twice.
void refuse_repeated(std::string_view option, std::span<const int> numbers);

/// A validator for options that count or measure something. It refuses anything but a finite number
/// above zero, with an explanation.
CLI::Validator positive();

/// The same for values that are held in an `int`: also refuses fractions and values that exceed it.
CLI::Validator positive_count();

/// The same for times in seconds, up to the 1e9 (thirty years) that suites allow. A clock cannot
/// count far beyond that.
CLI::Validator positive_seconds();

/// A validator for margins: a fraction below 1, since 5 more probably means 5 %.
CLI::Validator margin_fraction();

/// A validator for seeds, which are unsigned. The conversion alone would read -1 as 2^64 - 1, and a
/// number that is too large as the maximum.
CLI::Validator seed();

/// Makes `option` exclude all other options of the verb, except those named in `beside` and the
/// help.
void exclude_others(CLI::App& verb, CLI::Option& option, std::initializer_list<const char*> beside);

}  // namespace dlscale::app
