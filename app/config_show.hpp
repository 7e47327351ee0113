#pragma once
#include <string>
#include <vector>

#include "app/settings_file.hpp"
#include "report/table.hpp"

namespace dlscale::app {

/// Where the value of a setting comes from.
enum class Origin { command_line, environment, file, default_value, not_set };

/// A setting as it is in effect.
struct Setting {
  std::string name = {};   ///< "--cluster", or words for one of the program itself
  std::string value = {};  ///< empty: none, or one that depends on others
  Origin origin = Origin::not_set;
  std::string detail = {};  ///< where it is from, the file it names, or what decides it
};

/// Of a command line, and of the program whatever it does.
struct Settings {
  std::string command;  ///< "bench conv"; empty: no verb was named
  std::vector<Setting> options;
  std::vector<Setting> program;
  /// Sentences on variables that look as if they were the program's and are not, and on what cannot
  /// be used.
  std::vector<std::string> problems;
};

/// What a verb with these words would go by; nothing of it runs. What a verb needs may be missing.
/// `variable` returns the value of an environment variable, or null; `names` are all there are.
/// Throws ConfigError for an unknown verb, for options that the verb would refuse, and for a
/// settings file that is wrong: of all commands where `words` is empty.
Settings effective_settings(const std::vector<std::string>& words, const VariableLookup& variable,
                            const std::vector<std::string>& names);

report::Document settings_document(const Settings& settings);

}  // namespace dlscale::app
