#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"

namespace dlscale::app {

/// Words that programs call this one by, and no person:
///   __completion SHELL  prints the completion script of bash, fish or zsh
///   __hello RANKS       a rank that dlscale doctor starts to see whether it can
/// They take their words as they stand, whatever quotes and dashes are in them, before anything
/// reads options. Nothing if the command line is another; throws Error.
std::optional<ExitCode> answer_hidden(std::span<const std::string> words);

}  // namespace dlscale::app
