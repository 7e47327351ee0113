#pragma once
#include <string>
#include <string_view>

namespace dlscale::report::format {

/// The text as UTF-8 that XML 1.0 and OpenMetrics allow, on one line: control characters become
/// blanks; bytes that are no UTF-8, surrogates and non-characters become U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace dlscale::report::format
