#include "regression/import/strict_json.hpp"

#include <cctype>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace dlscale::report::history {
namespace {

bool is_of_a_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Length of the leading word if JSON lacks it; else 0.
std::size_t bare_number(std::string_view text) {
  for (const std::string_view word : {"NaN", "-NaN", "Infinity", "-Infinity"}) {
    if (!text.starts_with(word)) continue;
    const bool ends = text.size() == word.size() || !is_of_a_word(text[word.size()]);
    return ends ? word.size() : 0;
  }
  return 0;
}

}  // namespace

std::string strict_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool may_begin = !in_string && (out.empty() || !is_of_a_word(out.back()));
    const std::size_t length = may_begin ? bare_number(text.substr(i)) : 0;
    if (length > 0) {
      out += "null";
      i += length;
      continue;
    }
    const bool escapes = in_string && text[i] == '\\' && i + 1 < text.size();
    if (text[i] == '"') in_string = !in_string;
    const std::size_t taken = escapes ? 2 : 1;
    out += text.substr(i, taken);
    i += taken;
  }
  return out;
}

std::string value_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace dlscale::report::history
