#include "regression/import/printed_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <unordered_set>
#include <utility>

namespace dlscale::regression::history {
namespace {

bool is_of_a_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20;
}

/// Length of the leading number if JSON lacks it; else 0.
std::size_t bare_number(std::string_view text) {
  constexpr std::array<std::string_view, 9> words{"NaN",       "Infinity", "nan(ind)",
                                                  "nan(snan)", "nan",      "inf",
                                                  "1.#INF",    "1.#QNAN",  "1.#IND"};
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  for (const std::string_view word : words) {
    if (!text.substr(sign).starts_with(word)) continue;
    const std::size_t length = sign + word.size();
    const bool ends = text.size() == length || (!is_of_a_word(text[length]) && text[length] != '(');
    return ends ? length : 0;
  }
  return 0;
}

/// Whether an escape of JSON begins here, at a backslash.
bool is_escape(std::string_view text) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  if (text.size() < 2) return false;
  if (letters.find(text[1]) != std::string_view::npos) return true;
  constexpr std::size_t digits = 4;
  const auto is_digit = [](unsigned char letter) { return std::isxdigit(letter) != 0; };
  return text[1] == 'u' && text.size() >= 2 + digits &&
         std::ranges::all_of(text.substr(2, digits), is_digit);
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  [[nodiscard]] std::string rewritten() && {
    while (at_ < text_.size()) {
      if (text_[at_] == '"') {
        take_string();
      } else {
        take_other();
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr int depth_of_row = 3;

  void take_other() {
    const bool may_begin = out_.empty() || !is_of_a_word(out_.back());
    const std::size_t number = may_begin ? bare_number(text_.substr(at_)) : 0;
    if (number > 0) {
      out_ += "null";
      at_ += number;
      return;
    }
    const char letter = text_[at_++];
    const bool is_percentage = letter == '%' && !out_.empty() && is_of_a_word(out_.back());
    if (!is_percentage) out_ += letter;
    if (letter == '}' || letter == ']') --depth_;
    if (letter != '{' && letter != '[') return;
    if (++depth_ == depth_of_row) keys_.clear();
  }

  void take_string() {
    out_ += text_[at_++];
    const std::size_t begin = at_;
    const std::size_t place = out_.size();
    while (at_ < text_.size() && !closes()) take_letter();
    if (at_ == text_.size()) return;
    if (repeats_key(text_.substr(begin, at_ - begin))) out_.insert(place, "counter ");
    out_ += text_[at_++];
    if (lacks_comma()) out_ += ',';
  }

  /// A string ends where a quote ends its line, or where JSON goes on.
  [[nodiscard]] bool closes() const {
    if (text_[at_] != '"') return false;
    const std::size_t next = text_.find_first_not_of(" \t\r", at_ + 1);
    return next == std::string_view::npos ||
           std::string_view(",:}]\n").find(text_[next]) != std::string_view::npos;
  }

  void take_letter() {
    const char letter = text_[at_];
    if (letter == '\\' && is_escape(text_.substr(at_))) {
      out_ += text_.substr(at_, 2);
      at_ += 2;
      return;
    }
    ++at_;
    if (is_control(letter) && letter != '\n') {
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned char>(letter));
      return;
    }
    if (letter == '"' || letter == '\\') out_ += '\\';
    out_ += letter;
  }

  /// Called at the quote that ends a string.
  bool repeats_key(std::string_view name) {
    if (depth_ != depth_of_row) return false;
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
    if (next == std::string_view::npos || text_[next] != ':') return false;
    return !keys_.insert(name).second;
  }

  [[nodiscard]] bool lacks_comma() const {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    return next != std::string_view::npos && text_[next] == '"';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  int depth_ = 0;
  std::unordered_set<std::string_view> keys_;  ///< of the row so far
};

}  // namespace

std::string strict_json(std::string_view text) {
  return Rewriter(text).rewritten();
}

}  // namespace dlscale::regression::history
