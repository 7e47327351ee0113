#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// How options are called where they are set elsewhere than on a command line. The option --rounds
/// of gate is gate: {rounds: …} in a settings file and DLSCALE_GATE_ROUNDS in the environment.

/// The options of a command that can be set elsewhere: those that have a name and that help shows,
/// but for help itself.
std::vector<const CLI::Option*> settable_options(const CLI::App& command);
/// Those that are typed or not there: that for help, and of the program that for its version.
std::vector<const CLI::Option*> typed_only_options(const CLI::App& command);

/// "fail-on-missing": its long name.
std::string key_of(const CLI::Option& option);

/// DLSCALE_BENCH_GEMM_SAMPLES: the words of the command, then the key.
std::string variable_of(const CLI::App& command, const CLI::Option& option);

/// What the variables of all options of a command, and of those below it, begin with.
std::string variable_prefix(const CLI::App& command);

}  // namespace dlscale::app
