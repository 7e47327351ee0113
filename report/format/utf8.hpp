#pragma once
#include <string>
#include <string_view>

namespace dlscale::report::format {

/// The text as UTF-8 that XML 1.0 and OpenMetrics allow, on one line. Control characters become
/// blanks; invalid bytes, surrogates and non-characters become U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace dlscale::report::format
