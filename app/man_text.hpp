#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// Text as the macros of man(7) read it: backslashes, quotes and the hyphens of options appear as
/// they are typed. For a part of a line.
std::string man_text(std::string_view text);

/// A paragraph, in lines of at most 78 letters where its words allow it, none of which is taken for
/// a macro. Ends in a newline, unless it is empty.
std::string man_paragraph(std::string_view text);

/// Lines as they stand, such as examples.
std::string man_lines(std::string_view text);

}  // namespace dlscale::app
