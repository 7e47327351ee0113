#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// The static completion script for "bash", "fish" or "zsh", generated from the verbs and options.
/// It completes words that CLI11 checks (CLI::IsMember), and files if the kind of value is FILE or
/// FOLDER. If that is NETWORK, it also completes names in configs/networks. Throws ConfigError for
/// another shell.
std::string completion_script(std::string_view shell);

}  // namespace dlscale::app
