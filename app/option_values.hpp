#pragma once
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace dlscale::app {

/// Has every option of the command, and of the commands below it, refuse an empty value, as
/// `-o "$FOLDER"` has it where the variable is not set: nothing would be written, no limit would
/// hold. To be called when all options are declared.
void refuse_empty_values(CLI::App& command);

/// Throws ConfigError where a list among the words of a command line has an item that is empty,
/// "1,,2", which the library of options would leave out.
void refuse_empty_items(const CLI::App& command, std::span<const std::string> words);

/// "--rank is no option of predict. Did you mean --ranks?", of the first word that the command does
/// not know; empty where there is none.
std::string not_an_option(const CLI::App& command);

/// Throws ConfigError where a list that an option was given names a number twice.
void refuse_repeated(std::string_view option, std::span<const int> numbers);

/// A sentence on an option of the command that takes one value and was given several times; empty
/// where there is none.
std::string given_twice(const CLI::App& command);

}  // namespace dlscale::app
