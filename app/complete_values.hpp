#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/complete.hpp"

namespace CLI {
class Option;
}

namespace dlscale::app {

/// What a half-typed line says so far that values depend on.
struct Typed {
  std::string command;  ///< "bench conv"
  /// Option, by each of its names → its last value; of a flag "".
  std::map<std::string, std::string> given;
};

/// The values of an option.
struct OptionValues {
  std::vector<Candidate> words;
  Paths paths = Paths::none;
  /// Several go into one word, with commas between them.
  bool list = false;
};

/// Those that the library of options knows, or the table of this file has. Nothing where any number
/// or text may stand, or where the file that they are in cannot be read.
OptionValues values_of(const CLI::Option& option, const Typed& typed);

/// Whether the words of this option are a command line of dlscale themselves.
bool takes_command_line(const CLI::Option& option, std::string_view command);

/// For tests, which hold the table against the options there are: of each of its lines the name of
/// the option, the commands that it is of (empty: all), and the words that it lists itself.
struct ValuesLine {
  std::string_view option;
  std::string_view command;
  std::string_view words;
};
std::vector<ValuesLine> lines_of_values();

}  // namespace dlscale::app
