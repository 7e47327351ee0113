#pragma once
#include <string>
#include <string_view>

namespace dlscale::report {

/// An SVG file made fit to stand inside an HTML page: without prolog, document type, comments and
/// metadata; all ids and references to them prefixed, so that two figures do not share one; with
/// role and label for those who cannot see it. Throws ConfigError if it is no SVG or holds a
/// script, an event handler or a reference outside itself.
std::string inline_svg(std::string_view svg, std::string_view id_prefix, std::string_view alt);

}  // namespace dlscale::report
