#include "report/page/svg_text.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/replaced.hpp"
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

std::string lower_case(std::string text) {
  for (char& character : text) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  return text;
}

/// Whether `opening` stands anywhere without one of `allowed` right behind it.
bool opens_otherwise(std::string_view text, std::string_view opening,
                     std::initializer_list<std::string_view> allowed) {
  for (std::size_t at = text.find(opening); at != text.npos; at = text.find(opening, at + 1)) {
    const std::string_view rest = text.substr(at + opening.size());
    if (std::ranges::none_of(allowed, [rest](auto word) { return rest.starts_with(word); })) {
      return true;
    }
  }
  return false;
}

/// Attributes such as onload="...".
bool has_event_handler(std::string_view text) {
  for (std::size_t at = text.find(" on"); at != text.npos; at = text.find(" on", at + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 1);
    if (end != text.npos && text.substr(end).starts_with("=\"")) return true;
  }
  return false;
}

void refuse_active_content(std::string svg) {
  svg = lower_case(std::move(svg));
  std::ranges::replace_if(
      svg, [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  const bool refused = opens_otherwise(svg, "<script", {}) ||
                       opens_otherwise(svg, "<foreignobject", {}) ||
                       opens_otherwise(svg, "href=\"", {"#", "data:image/png"}) ||
                       opens_otherwise(svg, "url(", {"#"}) || has_event_handler(svg);
  if (refused) {
    throw ConfigError(
        "a figure holds a script, an event handler or a link, which a self-contained page must "
        "not. Draw it with the scripts in plots/.");
  }
}

std::string with_prefixed_ids(std::string svg, const std::string& prefix) {
  for (const std::string opening : {" id=\"", "href=\"#", "url(#"}) {
    std::string renamed = opening;
    renamed += prefix;
    svg = replaced(std::move(svg), opening, renamed);
  }
  return svg;
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
                     with_prefixed_ids(std::move(text), std::string(id_prefix) + "-"));
}

}  // namespace dlscale::report
