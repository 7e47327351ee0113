#pragma once
#include <string>
#include <vector>

namespace dlscale {

/// The fields of a line of comma-separated values, without their quotes; a comma within quotes is
/// part of a field.
inline std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

}  // namespace dlscale
