#pragma once
#include <string_view>

namespace dlscale::report {

/// The text of report/page/style.css.
std::string_view style_sheet();

/// The text of report/page/script.js, which makes tables sortable and filterable. The hash is its
/// digest as in a Content Security Policy: "sha256-…". The page is readable without the script.
std::string_view page_script();
std::string_view page_script_hash();

}  // namespace dlscale::report
