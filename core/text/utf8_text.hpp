#pragma once
#include <string>

namespace dlscale {

/// Text of a file as UTF-8 without byte order marks. Editors and shells of Windows write UTF-16 of
/// either order, mostly with a mark, and put a mark before UTF-8; files joined by `cat` have it at
/// the start of later lines. Anything else stays as it is. Halves of surrogate pairs become U+FFFD.
std::string utf8_text(std::string bytes);

}  // namespace dlscale
