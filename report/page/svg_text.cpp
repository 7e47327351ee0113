#include "report/page/svg_text.hpp"

#include <regex>

#include <fmt/format.h>

#include "core/error.hpp"
#include "report/page/html_text.hpp"

namespace dlscale::report {
namespace {

/// Removes every part from `open` to `close`, both included.
std::string without(std::string text, std::string_view open, std::string_view close) {
  for (std::size_t from = text.find(open); from != text.npos; from = text.find(open, from)) {
    const std::size_t end = text.find(close, from);
    text.erase(from, end == text.npos ? text.npos : end + close.size() - from);
  }
  return text;
}

void refuse_active_content(const std::string& svg) {
  static const std::regex active(
      R"re(<script|<foreignObject|\son[a-z]+\s*=|href\s*=\s*"(?!#|data:image/png)|url\((?!#))re",
      std::regex::icase);
  std::smatch found;
  if (!std::regex_search(svg, found, active)) return;
  throw ConfigError(
      fmt::format("a figure holds \"{}\", which a self-contained page must not. Draw it with the "
                  "scripts in plots/.",
                  found.str()));
}

std::string with_prefixed_ids(const std::string& svg, const std::string& prefix) {
  static const std::regex id(R"re((\sid=")([^"]+"))re");
  static const std::regex reference(R"re((href="#|url\(#)([^")]+))re");
  const std::string named = std::regex_replace(svg, id, "$1" + prefix + "$2");
  return std::regex_replace(named, reference, "$1" + prefix + "$2");
}

}  // namespace

std::string inline_svg(std::string_view svg, std::string_view id_prefix, std::string_view alt) {
  std::string text = without(std::string(svg), "<!--", "-->");
  text = without(std::move(text), "<metadata", "</metadata>");
  const std::size_t start = text.find("<svg");
  const std::size_t end = text.rfind("</svg>");
  if (start == text.npos || end == text.npos) {
    throw ConfigError("a figure is no SVG. Draw it with the scripts in plots/.");
  }
  text = text.substr(start + 4, end + 6 - start - 4);
  refuse_active_content(text);
  return fmt::format("<svg role=\"img\" aria-label=\"{}\"{}", escape_html(alt),
                     with_prefixed_ids(text, std::string(id_prefix) + "-"));
}

}  // namespace dlscale::report
