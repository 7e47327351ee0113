#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace dlscale::app {

/// An exit code and what a script may conclude from it.
struct ExitMeaning {
  ExitCode code;
  std::string_view meaning;
};
std::span<const ExitMeaning> exit_meanings();

/// An environment variable that changes what the program does.
struct Variable {
  std::string_view name;
  std::string_view doc;
};
/// Those of its own, DLSCALE_*: all that it reads.
std::span<const Variable> own_variables();
/// Those of others that it reads, too, but for what launchers and schedulers set.
std::span<const Variable> foreign_variables();

/// How options are set elsewhere than on the command line.
std::string_view settings_rule();

/// What dlscale help explains beside verbs.
struct Topic {
  std::string_view name;
  std::string_view doc;
  std::string (*text)();  ///< lines for people
};
std::span<const Topic> topics();

}  // namespace dlscale::app
