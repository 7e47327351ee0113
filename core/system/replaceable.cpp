#include "core/system/replaceable.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"

namespace dlscale {

void refuse_foreign_file(const std::filesystem::path& path, std::string_view kind,
                         const std::function<bool(std::istream&)>& is_own) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  if (std::filesystem::is_empty(path, error)) return;
  std::ifstream content(path, std::ios::binary);
  if (is_own(content)) return;
  throw ConfigError(fmt::format(
      "{} is there and is not {}, so it is not overwritten. Choose another name, or remove it "
      "if nobody needs it.",
      path.string(), kind));
}

bool opens_with_schema(std::istream& content, std::string_view schema) {
  const std::string opening = fmt::format("{{\"schema\":\"{}\"", schema);
  std::string found;
  for (char letter = 0; found.size() < opening.size() && content.get(letter);) {
    if (std::isspace(static_cast<unsigned char>(letter)) == 0) found += letter;
    if (!opening.starts_with(found)) return false;
  }
  return found == opening;
}

bool has_schema(const std::filesystem::path& path, std::string_view schema) {
  constexpr std::size_t enough = 256;
  std::istringstream beginning(read_beginning(path, enough));
  return opens_with_schema(beginning, schema);
}

}  // namespace dlscale
