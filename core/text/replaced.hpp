#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale {

/// `text` with `with` in place of each `what`, which must not be empty. Inserted text is not
/// searched again.
inline std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

}  // namespace dlscale
