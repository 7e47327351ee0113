#pragma once
#include <string_view>

namespace dlscale::report {

/// The text of report/page/style.css.
std::string_view style_sheet();

}  // namespace dlscale::report
