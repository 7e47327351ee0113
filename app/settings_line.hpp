#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/settings_file.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// An option that a command line does not name and that is set elsewhere.
struct SetElsewhere {
  const CLI::Option* option = nullptr;
  std::string name = {};    ///< "--rounds"
  std::string letter = {};  ///< "-o" of "--output"; empty where there is none
  std::string value = {};   ///< several with commas between them; of a flag "yes" or "no"
  enum class From { environment, file } from = From::environment;
  std::string place = {};               ///< the variable, or "dlscale.yaml:3"
  std::vector<std::string> words = {};  ///< as it would be typed; none of a flag that is off
  std::string obstacle = {};            ///< why it does not count on this line; empty: it does
};

/// A command line with what is set elsewhere.
struct SettledLine {
  std::vector<std::string> words;  ///< as if all were typed
  std::vector<SetElsewhere> set;   ///< in effect or not
};

/// Where options are set that a line does not name.
struct SettingsSources {
  VariableLookup variable;
  SettingsPlace place;
};
SettingsSources find_sources(const VariableLookup& variable);

/// Follows `words`, a command line without the name of the program, and puts behind the words of
/// the command that they call all options that the environment or else the settings file sets and
/// that they do not name. What is typed wins, then the environment: an option that goes without one
/// in effect that is set nearer, or only with one that is not there, is left out. `declare` is that
/// of CommandWalk. Throws ConfigError where a variable or the file is wrong; looks at neither where
/// help is asked for.
SettledLine settle_line(CLI::App& root, const std::function<void(CLI::App&)>& declare,
                        const std::vector<std::string>& words, const SettingsSources& sources);

}  // namespace dlscale::app
