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
  /// Creates the verbs without their options and subcommands. Declaring those of all verbs takes
  /// longer than most commands.
  CommandTree();
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  /// Runs a command line, given without the name of the program. Help goes to standard output; a
  /// usage error is one sentence on standard error. Verbs throw Error.
  ExitCode run(const std::vector<std::string>& typed);

  [[nodiscard]] CLI::App& root() { return *root_; }
  /// The verb, or null.
  [[nodiscard]] CLI::App* verb(const std::string& name);
  /// Adds the options and subcommands of a verb unless it already has them.
  void declare(CLI::App& verb);
  void declare_all();

 private:
  ExitCode result_ = ExitCode::ok;
  std::unique_ptr<CLI::App> root_;
  std::set<const CLI::App*> declared_;
};

/// The direct subcommands of a command, in the order of their declaration.
std::vector<CLI::App*> commands_below(CLI::App& command);

/// The words that call a command, without the program's name: "bench conv"; empty for the program.
std::string path_of(const CLI::App& command);

/// Named options, and positional options; both without those that the help hides.
std::vector<const CLI::Option*> named_options(const CLI::App& command);
std::vector<const CLI::Option*> placed_options(const CLI::App& command);

/// The names of an option as typed, long ones first: "--output", "-o".
std::vector<std::string> names_of(const CLI::Option& option);

/// Whether a value follows the name.
bool takes_value(const CLI::Option& option);
/// Whether the option takes several values, after one name or after several.
bool takes_values(const CLI::Option& option);

/// The words that CLI11 accepts (CLI::IsMember); empty if CLI11 does not check them.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace dlscale::app
