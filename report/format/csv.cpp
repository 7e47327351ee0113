#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

/// A field by RFC 4180: quoted if it holds a comma, a quote or a line break; quotes doubled.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
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
