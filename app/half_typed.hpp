#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::app {

/// A command line as far as somebody has typed it.
struct HalfTyped {
  std::vector<std::string> words;  ///< those that are complete, as a shell would hand them over
  std::string last;                ///< the one at the end; empty after white space
};

/// Reads quotes and backslashes as POSIX shells do, those that are still open, too. What a shell
/// would replace, such as $HOME and ~, stays as it is.
HalfTyped read_half_typed(std::string_view line);

}  // namespace dlscale::app
