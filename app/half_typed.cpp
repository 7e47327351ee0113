#include "app/half_typed.hpp"

#include <cstddef>
#include <utility>

namespace dlscale::app {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

/// Between double quotes a backslash hides these only; before others it stands for itself.
bool is_hidden_in_quotes(char c) {
  return c == '"' || c == '\\' || c == '$' || c == '`';
}

}  // namespace

HalfTyped read_half_typed(std::string_view line) {
  HalfTyped read;
  char quote = '\0';
  bool begun = false;  // "" is a word, too
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool more = i + 1 < line.size();
    if (quote == '\0' && is_blank(c)) {
      if (begun) read.words.push_back(std::exchange(read.last, {}));
      begun = false;
      continue;
    }
    begun = true;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (c == '\\' && quote != '\'' && more &&
               (quote == '\0' || is_hidden_in_quotes(line[i + 1]))) {
      read.last += line[++i];
    } else if (c != '\\' || quote == '\'' || more) {
      read.last += c;  // a backslash at the very end hides what is not typed yet
    }
  }
  return read;
}

}  // namespace dlscale::app
