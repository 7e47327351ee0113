#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::app {

/// A word that may stand at the end of a command line, and what it means; may be empty.
struct Candidate {
  std::string word;
  std::string doc;
  bool operator==(const Candidate&) const = default;
};

/// What else may stand there, which shells know best.
enum class Paths { none, files, folders };

/// All that may stand in place of the last word of a half-typed line and begins as it does.
struct Completions {
  std::vector<Candidate> candidates;
  Paths paths = Paths::none;
};

/// `line` is as typed, from the name of the program up to the cursor. Looks at no hardware; reads
/// the names of configurations, and a suite, network or history where one is named in the line; a
/// history no longer than a person waits.
/// What is wrong in the line, or cannot be read, has no candidates.
Completions complete(std::string_view line);

/// As the scripts for shells read it: a candidate a line, without its first `apart` letters, with a
/// tab and what it means behind it unless `shell` is "bash"; and ":files" or ":folders".
std::string completion_text(const Completions& completions, std::string_view shell,
                            std::size_t apart);

/// How many letters of the last word bash takes for words of their own: up to the last of `breaks`,
/// its COMP_WORDBREAKS. It wants what follows them only.
std::size_t taken_apart(std::string_view line, std::string_view breaks);

}  // namespace dlscale::app
