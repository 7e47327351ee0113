#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/config/system_file.hpp"

namespace dlscale::app {

/// What a line of a script begins with that its scheduler reads: "#SBATCH". Requires a scheduler.
std::string_view directive_mark(Scheduler scheduler);

/// A word of such a line, in quotes where it needs them. The parsers of directives (Slurm's and
/// PBS's own, Flux by Python's shlex) take both kinds of quotes, but differ in what a backslash is
/// within them: nothing for a word with a line break, a backslash or both kinds of quotes.
std::optional<std::string> directive_word(const std::string& word);

}  // namespace dlscale::app
