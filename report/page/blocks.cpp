#include "report/page/blocks.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace dlscale::report {

std::string file_name(const std::string& name) {
  std::string plain = name;
  const auto odd = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_';
  };
  std::ranges::replace_if(plain, odd, '-');
  return plain;
}

void append_folded(Section& section, Table table) {
  constexpr std::size_t most_in_markdown = 300;  // rows of a table on a page of text
  if (table.rows.empty()) return;
  if (table.rows.size() > most_in_markdown) {
    section.blocks.emplace_back(RawRows{std::move(table)});
  } else {
    section.blocks.emplace_back(Folded{std::move(table)});
  }
}

}  // namespace dlscale::report
