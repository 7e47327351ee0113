#pragma once
#include <string_view>

namespace dlscale::report {

/// The text of report/page/style.css.
std::string_view style_sheet();

/// The text of report/page/script.js, which makes tables sort and filter, and its digest as a
/// Content Security Policy names it: "sha256-…". Without it everything can be read all the same.
std::string_view page_script();
std::string_view page_script_hash();

}  // namespace dlscale::report
