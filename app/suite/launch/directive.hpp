#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/config/system_file.hpp"

namespace dlscale::app {

/// The prefix of script lines that a scheduler reads: "#SBATCH". Requires a scheduler.
std::string_view directive_mark(Scheduler scheduler);

/// A word of such a line, quoted if necessary. The parsers of directives are Slurm's and PBS's own,
/// and Python's shlex for Flux. They accept both kinds of quotes, but differ in the meaning of a
/// backslash in them. Returns nothing for a word with a line break, a backslash or both kinds of
/// quotes.
std::optional<std::string> directive_word(const std::string& word);

}  // namespace dlscale::app
