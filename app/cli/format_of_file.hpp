#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// The format of answers that the extension of a file's name says; "table" without one. Throws
/// ConfigError for an extension of no format; `option` is named in it.
std::string format_of_file(std::string_view option, const std::string& path);

}  // namespace dlscale::app
