#pragma once
#include <string>
#include <string_view>

namespace dlscale::regression {

/// A command line of a shell with `path` in place of each {out}, quoted so that the command gets it
/// as one word, or as part of the word that {out} is part of. Quotes around {out} stay what they
/// are, and a script in quotes (sh -c '…', eval "…") is a command line of its own.
std::string with_output(std::string_view line, std::string_view path);

}  // namespace dlscale::regression
