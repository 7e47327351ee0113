#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// What the program is for, as its help and its manual begin.
inline constexpr const char* program_doc =
    "How fast will data-parallel training run on N workers, what bounds it, what to change?";

/// The options of the program itself.
void declare_program(CLI::App& program);

/// The command line of the program as its library of options has it, to be read rather than obeyed:
/// for completion, the manual and the settings. No verb that is declared here runs.
class CommandTree {
 public:
  /// The verbs, without what stands below them.
  CommandTree();
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  [[nodiscard]] CLI::App& root() { return *root_; }
  /// The verb, or null.
  [[nodiscard]] CLI::App* verb(const std::string& name);
  /// Adds the options of a verb, and the commands below it, unless it has them already. To declare
  /// those of all takes longer than most answers.
  void declare(CLI::App& verb);
  void declare_all();

 private:
  ExitCode ignored_ = ExitCode::ok;
  std::unique_ptr<CLI::App> root_;
  std::set<const CLI::App*> declared_;
};

/// Right below a command, in the order in which they were declared.
std::vector<CLI::App*> commands_below(CLI::App& command);

/// The words that call a command, without that of the program: "bench conv"; empty for the program.
std::string path_of(const CLI::App& command);

/// That have names, and those that are told by their place; without those that help hides.
std::vector<const CLI::Option*> named_options(const CLI::App& command);
std::vector<const CLI::Option*> placed_options(const CLI::App& command);

/// "--output", "-o": as they are typed, long ones first.
std::vector<std::string> names_of(const CLI::Option& option);

/// Whether a value follows the name.
bool takes_value(const CLI::Option& option);
/// Whether several may follow one another.
bool takes_values(const CLI::Option& option);
/// Whether its name may be there several times.
bool may_come_again(const CLI::Option& option);

/// The words of which the library of options takes no other; empty where others decide.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace dlscale::app
