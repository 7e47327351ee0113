#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"

namespace dlscale::app {

/// Answers internal commands, which only programs call:
///   __completion SHELL  prints the completion script of bash, fish or zsh
///   __hello RANKS       a rank that dlscale doctor starts to test the launcher
/// They take their arguments unchanged, with all quotes and dashes, before options are read.
/// Returns nothing for any other command line. Throws Error.
std::optional<ExitCode> answer_hidden(std::span<const std::string> words);

}  // namespace dlscale::app
