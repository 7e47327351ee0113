#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// The command line of the program as CLI11 has it: the verbs, the commands below them and their
/// options.
class CommandTree {
 public:
  /// The verbs, without what stands below them: to declare that of all takes longer than most
  /// answers.
  CommandTree();
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  /// Carries out a command line, given without the name of the program. Help goes to standard
  /// output; a usage error is one sentence on standard error. Verbs throw Error.
  ExitCode run(const std::vector<std::string>& words);

  [[nodiscard]] CLI::App& root() { return *root_; }
  /// The verb, or null.
  [[nodiscard]] CLI::App* verb(const std::string& name);
  /// Adds the options of a verb, and the commands below it, unless it has them already.
  void declare(CLI::App& verb);
  void declare_all();

 private:
  ExitCode result_ = ExitCode::ok;
  std::unique_ptr<CLI::App> root_;
  std::set<const CLI::App*> declared_;
};

/// Right below a command, in the order in which they were declared.
std::vector<CLI::App*> commands_below(CLI::App& command);

/// The words that call a command, without that of the program: "bench conv"; empty for the program.
std::string path_of(const CLI::App& command);

/// The options that have names, and those that are given by their place; without those that help
/// hides.
std::vector<const CLI::Option*> named_options(const CLI::App& command);
std::vector<const CLI::Option*> placed_options(const CLI::App& command);

/// "--output", "-o": as they are typed, long ones first.
std::vector<std::string> names_of(const CLI::Option& option);

/// Whether a value follows the name.
bool takes_value(const CLI::Option& option);
/// Whether several values may be given, behind one name or behind several.
bool takes_values(const CLI::Option& option);

/// The words of which CLI11 takes no other (CLI::IsMember); empty where others decide.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace dlscale::app
