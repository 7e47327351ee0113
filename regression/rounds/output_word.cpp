#include "regression/rounds/output_word.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>

#include "core/text/shell_words.hpp"

namespace dlscale::regression {
namespace {

constexpr std::string_view placeholder = "{out}";

/// The text for a place that such a quote encloses; 0: none does.
std::string quoted_within(char quote, const std::string& text) {
  if (quote == '\'') return replaced(text, "'", "'\\''");
  if (quote == 0) return shell_word(text);
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\\"$`").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

bool is_shell(std::string_view word) {
  constexpr std::array<std::string_view, 7> shells{"sh",  "bash", "dash",   "zsh",
                                                   "ksh", "ash",  "busybox"};
  return std::ranges::find(shells, word.substr(word.rfind('/') + 1)) != shells.end();
}

/// "-c", "-lc", "-euc".
bool takes_script(std::string_view word) {
  return word.size() >= 2 && word.front() == '-' && word[1] != '-' && word.back() == 'c';
}

/// Follows the quotes of a command line.
class Quotes {
 public:
  /// Takes the next character.
  void take(char c) {
    if (escaped_) {
      escaped_ = false;
      if (is_script_ && quote_ == '"' && c == '"') turn('"', inner_);
    } else if (c == '\\' && quote_ != '\'') {
      escaped_ = true;
    } else if (quote_ == 0 && (c == '\'' || c == '"')) {
      quote_ = c;
      is_script_ = begins_script();
      inner_ = 0;
    } else if (quote_ == c) {
      quote_ = 0;
    } else if (is_script_ && quote_ != 0 && (c == '\'' || c == '"')) {
      turn(c, inner_);
    }
    follow_words(c);
  }
  [[nodiscard]] bool is_escaped() const { return escaped_; }
  /// The path for this place.
  [[nodiscard]] std::string place(const std::string& path) const {
    if (quote_ == 0 || !is_script_) return quoted_within(quote_, path);
    return quoted_within(quote_, quoted_within(inner_, path));
  }

 private:
  static void turn(char c, char& quote) {
    if (quote == 0) {
      quote = c;
    } else if (quote == c) {
      quote = 0;
    }
  }
  [[nodiscard]] bool begins_script() const {
    if (!word_.empty()) return false;
    return before_ == "eval" || (takes_script(before_) && is_shell(earlier_));
  }
  void follow_words(char c) {
    const bool ends =
        quote_ == 0 && std::string_view(" \t\n;|&()").find(c) != std::string_view::npos;
    if (!ends) {
      word_ += c;
    } else if (!word_.empty()) {
      earlier_ = before_;
      before_ = word_;
      word_.clear();
    }
  }

  char quote_ = 0;          ///< the quote that is open
  bool is_script_ = false;  ///< what it holds is read by another shell
  char inner_ = 0;          ///< the quote that is open for that shell
  bool escaped_ = false;
  std::string word_;
  std::string before_;
  std::string earlier_;
};

char small(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool is_of_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Whether a name begins with "out", in letters of any case.
bool begins_like_output(std::string_view name) {
  constexpr std::string_view out = "out";
  return name.size() >= out.size() &&
         std::ranges::equal(name.substr(0, out.size()), out, {}, small);
}

/// Whether the environment or the line itself seems to set a variable.
bool is_set(std::string_view line, const std::string& name) {
  if (std::getenv(name.c_str()) != nullptr) return true;
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const bool is_used = at > 0 && (line[at - 1] == '$' || line[at - 1] == '{');
    if (!is_used) return true;
  }
  return false;
}

/// The braces that begin at `at` if they hold only a name like "out": "{ out }", "{OUT", "{{out}}".
std::string braces_like_output(std::string_view line, std::size_t at) {
  const std::size_t begin = std::min(line.find_first_not_of("{ ", at), line.size());
  std::size_t end = begin;
  while (end < line.size() && (is_of_name(line[end]) || line[end] == '-')) ++end;
  const std::string name(line.substr(begin, end - begin));
  if (!begins_like_output(name)) return "";
  std::size_t close = std::min(line.find_first_not_of(" }", end), line.size());
  if (line.substr(end, close - end).find('}') != std::string_view::npos) {
    close = line.substr(0, close).rfind('}') + 1;
  } else {
    const bool lacks_brace = line.find('}', end) == std::string_view::npos;
    if (begin != at + 1 || !lacks_brace) return "";
    close = end;
  }
  const bool is_variable = at > 0 && line[at - 1] == '$';
  if (is_variable && name != "out" && is_set(line, name)) return "";
  const std::string_view word = line.substr(is_variable ? at - 1 : at, close - at + is_variable);
  return std::string(word == placeholder ? "" : word);
}

/// Whether "{}" at `at` is a word or the end of one, outside quotes, in a line of no program that
/// replaces it itself.
bool is_empty_placeholder(std::string_view line, std::size_t at) {
  const auto is_end = [&line](std::size_t place, std::string_view ends) {
    return place >= line.size() || ends.find(line[place]) != std::string_view::npos;
  };
  if (line.substr(at, 2) != "{}" || at == 0 || !is_end(at - 1, " \t=:>")) return false;
  if (!is_end(at + 2, " \t;|&).")) return false;
  const std::string_view before = line.substr(0, at);
  const bool is_quoted =
      std::ranges::count(before, '"') % 2 == 1 || std::ranges::count(before, '\'') % 2 == 1;
  const auto has = [&line](std::string_view word) {
    return line.find(word) != std::string_view::npos;
  };
  return !is_quoted && !has(placeholder) && !has("find ") && !has("fd ") && !has("xargs") &&
         !has("parallel");
}

/// The variable "$OUT", "$OUTPUT", … that begins at `at` unless something sets it.
std::string variable_like_output(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  while (end < line.size() && is_of_name(line[end])) ++end;
  const std::string name(line.substr(at + 1, end - at - 1));
  return begins_like_output(name) && !is_set(line, name) ? "$" + name : "";
}

}  // namespace

std::string word_like_output(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string word;
    if (line[at] == '{' && (at == 0 || line[at - 1] != '{')) word = braces_like_output(line, at);
    if (is_empty_placeholder(line, at)) return "{}";
    if (line[at] == '$') word = variable_like_output(line, at);
    if (!word.empty()) return word;
  }
  return "";
}

std::string with_output(std::string_view line, std::string_view path) {
  std::string result;
  Quotes quotes;
  for (std::size_t at = 0; at < line.size();) {
    if (line.substr(at).starts_with(placeholder) && !quotes.is_escaped()) {
      result += quotes.place(std::string(path));
      for (const char c : placeholder) quotes.take(c);
      at += placeholder.size();
    } else {
      quotes.take(line[at]);
      result += line[at++];
    }
  }
  return result;
}

}  // namespace dlscale::regression
