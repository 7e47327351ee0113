#include "report/format/kind_of.hpp"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

namespace dlscale::report::format {

std::string kind_of(const Document& document) {
  if (!document.json.schema().empty()) return document.json.schema();
  return nlohmann::json::parse(document.json()).at("schema").get<std::string>();
}

std::string plain_kind_of(const Document& document) {
  std::string kind = kind_of(document);
  std::ranges::replace_if(
      kind, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return kind;
}

std::optional<std::size_t> column_of(const Table& table, std::string_view heading) {
  const auto found = std::ranges::find(table.columns, heading, &Column::heading);
  if (found == table.columns.end()) return {};
  return static_cast<std::size_t>(found - table.columns.begin());
}

}  // namespace dlscale::report::format
