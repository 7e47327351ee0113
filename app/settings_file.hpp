#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config_file.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// The value of an environment variable, or null.
using VariableLookup = std::function<const char*(const char*)>;
/// Empty where it is not set.
std::string value_of_variable(const VariableLookup& variable, const std::string& name);

/// The variable that names the settings file; or "off": then neither a file nor the variables that
/// options have by their names count. Others that verbs read go on to, such as DLSCALE_HISTORY and
/// DLSCALE_CONFIGS. Programs that this one starts have it so: their command lines were planned.
inline constexpr const char* settings_variable = "DLSCALE_SETTINGS";

/// Which settings file is in effect.
struct SettingsPlace {
  /// Why that one: the variable names it, it lies in the working folder or among the user's own
  /// settings; or there is none, or shall be none.
  enum class By { variable, working_folder, user, none, off };
  By by = By::none;
  std::filesystem::path file = {};  ///< empty: none
  /// The ones that would have counted, had they been there.
  std::vector<std::filesystem::path> missing = {};
};

/// The first that there is: of DLSCALE_SETTINGS, which must be there, dlscale.yaml in the working
/// folder, and dlscale/settings.yaml in XDG_CONFIG_HOME or ~/.config.
SettingsPlace find_settings(const VariableLookup& variable);

/// Options that a file of YAML sets: keys are the words of commands, and below them the long names
/// of options. A file with nothing in it sets nothing, and so does a key of a command with nothing
/// behind it: what stood there may be commented out.
class SettingsFile {
 public:
  /// Throws ConfigError, which names file and line, where it is no mapping of YAML, and where it is
  /// larger than 64 KiB.
  explicit SettingsFile(const std::filesystem::path& file);

  /// Throws ConfigError where a key is no verb of `root`.
  void check_verbs(CLI::App& root) const;
  /// Throws ConfigError where a key below that of the command is none of its options or commands,
  /// or a value is of another kind than its option takes. What the option itself thinks of it is
  /// not asked.
  void check(CLI::App& command) const;

  /// What an option is set to.
  struct Value {
    std::vector<std::string> items;  ///< at least one; of a flag "true" or "false"
    std::string place;               ///< "dlscale.yaml:3"
  };
  /// Nothing where it is not set. Throws ConfigError as check() does.
  [[nodiscard]] std::optional<Value> find(const CLI::App& command, const CLI::Option& option) const;

 private:
  [[nodiscard]] std::optional<ConfigMap> section(const CLI::App& command) const;
  std::string file_;
  ConfigMap root_;
};

}  // namespace dlscale::app
