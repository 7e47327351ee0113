#include "app/man_text.hpp"

#include <cstddef>
#include <sstream>

namespace dlscale::app {
namespace {

/// A hyphen that is typed begins a word, or stands in one that such a hyphen begins: "--no-check".
/// That of "data-parallel" may become a typographer's.
class Hyphens {
 public:
  [[nodiscard]] bool is_typed(char c) {
    const bool letter = is_letter(c);
    if (c == '-' && !in_word_) in_option_ = true;
    const bool typed = c == '-' && in_option_;
    if (!letter) in_option_ = false;
    in_word_ = letter;
    return typed;
  }

 private:
  static bool is_letter(char c) {
    constexpr std::string_view breaks = " \t\n()[]{},;|\"'";
    return breaks.find(c) == std::string_view::npos;
  }
  bool in_word_ = false;
  bool in_option_ = false;
};

/// A line that begins with one of these is a macro.
std::string guarded(std::string line) {
  if (line.starts_with('.') || line.starts_with('\'')) line.insert(0, "\\&");
  return line;
}

}  // namespace

std::string man_text(std::string_view text) {
  std::string out;
  Hyphens hyphens;
  for (const char c : text) {
    const bool typed = hyphens.is_typed(c);
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += typed ? "\\-" : "-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string man_paragraph(std::string_view text) {
  constexpr std::size_t widest = 78;
  std::istringstream words{std::string(text)};
  std::string out;
  std::string line;
  for (std::string word; words >> word;) {
    const std::string shown = man_text(word);
    if (!line.empty() && line.size() + 1 + shown.size() > widest) {
      out += guarded(line) + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + shown;
  }
  return line.empty() ? out : out + guarded(line) + "\n";
}

std::string man_lines(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with(' ')) line.pop_back();
    out += guarded(man_text(line)) + "\n";
  }
  return out;
}

}  // namespace dlscale::app
