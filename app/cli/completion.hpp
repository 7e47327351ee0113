#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// The static completion script of "bash", "fish" or "zsh", from the verbs and options there are:
/// words that CLI11 checks (CLI::IsMember), files where the kind of value is FILE or FOLDER, and
/// names in configs/networks, too, where it is NETWORK. Throws ConfigError for another shell.
std::string completion_script(std::string_view shell);

}  // namespace dlscale::app
