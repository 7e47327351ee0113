#include "regression/rounds/output_word.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

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

}  // namespace

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
