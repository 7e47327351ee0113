#pragma once
#include <string>
#include <string_view>

namespace dlscale::regression {

/// A command line of a shell with `path` in place of each {out}, quoted so that the command gets it
/// as one word, or as part of the word that {out} is part of. Quotes around {out} stay what they
/// are, and a script in quotes (sh -c '…', eval "…") is a command line of its own.
std::string with_output(std::string_view line, std::string_view path);

/// Finds what stands where the writer of a command line probably meant {out}, such as "{OUT}",
/// "{ out }", "{outfile}", "${out}", "{{out}}", "{}" or "$OUT"; empty if there is nothing like
/// that. A variable that the line or the environment sets is meant as it is.
std::string word_like_output(std::string_view line);

}  // namespace dlscale::regression
