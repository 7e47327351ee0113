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

/// The kind of value of an option that takes one of these words: "{f32,bf16}", which help shows and
/// completion offers. The verb itself refuses others.
std::string one_of(std::span<const std::string> words);
template <class Enum, std::size_t N>
std::string one_of(const std::array<Enum, N>& all, std::string_view (*name_of)(Enum)) {
  std::vector<std::string> words;
  for (const Enum one : all) words.emplace_back(name_of(one));
  return one_of(words);
}

/// Has every option of the command, and of the commands below it, refuse an empty value, as
/// `-o "$FOLDER"` has it where the variable is not set: nothing would be written, no limit would
/// hold. To be called when all options are declared.
void refuse_empty_values(CLI::App& command);

/// Throws CLI::ValidationError where a list has an item that is empty, "1,,2", which CLI11 would
/// leave out; `refuse_empty_items()` for all lists among the words of a command line.
void refuse_empty_item(const CLI::Option& option, std::string_view list);
void refuse_empty_items(const CLI::App& command, std::span<const std::string> words);

/// Throws ConfigError where a list that an option was given names a number twice.
void refuse_repeated(std::string_view option, std::span<const int> numbers);

}  // namespace dlscale::app
