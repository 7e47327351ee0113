#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/printable.hpp"
#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

bool reads_as_number(std::string_view text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error != std::errc::invalid_argument && end == last;
}

/// Whether spreadsheets carry out the text as a formula, which a name of a file must not cause.
bool is_formula(std::string_view text) {
  constexpr std::array<std::string_view, 8> openings{"=", "+", "-", "@", "＝", "＋", "－", "＠"};
  const std::string_view shown = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  const auto opens = [shown](std::string_view each) { return shown.starts_with(each); };
  return std::ranges::any_of(openings, opens) && !reads_as_number(shown);
}

/// A field by RFC 4180: quoted if it holds a comma or a quote; quotes doubled. An apostrophe keeps
/// it from being a formula.
std::string field(const std::string& raw) {
  const std::string shown = printable(raw);
  const std::string text = is_formula(shown) ? "'" + shown : shown;
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + "\"";
}

std::string write_csv(const Document& document, const Terminal&) {
  std::string out;
  for (std::size_t i = 0; i < document.records.columns.size(); ++i) {
    out.append(i > 0 ? "," : "").append(field(document.records.columns[i].heading));
  }
  out += "\n";
  for (const auto& row : document.records.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out.append(i > 0 ? "," : "").append(field(row[i].text));
    out += "\n";
  }
  return out;
}

}  // namespace

extern const Format csv_format;
const Format csv_format{"csv", "one row a record, SI units, unit in the heading", write_csv};

}  // namespace dlscale::report::format
