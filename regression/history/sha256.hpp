#pragma once
#include <string>
#include <string_view>

namespace dlscale::report::history {

/// SHA-256 [FIPS 180-4] as 64 hexadecimal digits, which identifies the content.
std::string sha256(std::string_view content);

}  // namespace dlscale::report::history
