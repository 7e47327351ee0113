#include "core/config/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
/// Values stay within ± this, so that no sum or product of two overflows 64 bits.
constexpr std::int64_t largest_value = std::int64_t{1} << 31;
constexpr int deepest_nesting = 100;

/// Recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}.
class Parser {
 public:
  Parser(std::string_view text, const NamedNumbers& names) : rest_(text), names_(&names) {}

  std::int64_t whole() {
    const std::int64_t value = sum();
    if (!rest_.empty()) refuse(fmt::format("\"{}\" is left over.", escape_for_terminal(rest_)));
    return value;
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) { throw ConfigError(why); }

  void skip_spaces() {
    const std::size_t place = rest_.find_first_not_of(' ');
    rest_.remove_prefix(place == std::string_view::npos ? rest_.size() : place);
  }

  /// Takes one of `signs`; 0 if none comes next.
  char take(std::string_view signs) {
    skip_spaces();
    if (rest_.empty() || signs.find(rest_.front()) == std::string_view::npos) return 0;
    const char sign = rest_.front();
    rest_.remove_prefix(1);
    return sign;
  }

  static std::int64_t within(std::int64_t value) {
    if (value > largest_value || value < -largest_value) refuse("it exceeds 2^31.");
    return value;
  }

  std::int64_t sum() {
    std::int64_t value = product();
    while (const char sign = take("+-")) {
      const std::int64_t next = product();
      value = within(sign == '+' ? value + next : value - next);
    }
    return value;
  }

  std::int64_t product() {
    std::int64_t value = factor();
    while (const char sign = take("*/")) {
      const std::int64_t next = factor();
      if (sign == '*') {
        value = within(value * next);
        continue;
      }
      if (next == 0 || value % next != 0) refuse(fmt::format("{} / {} is not whole.", value, next));
      value /= next;
    }
    return value;
  }

  std::int64_t factor() {
    if (take("(") != 0) {
      if (++depth_ > deepest_nesting) refuse("it has too many parentheses.");
      const std::int64_t value = sum();
      if (take(")") == 0) refuse("a parenthesis is not closed.");
      --depth_;
      return value;
    }
    const std::size_t size = std::min(rest_.find_first_not_of(letters), rest_.size());
    const std::string_view word = rest_.substr(0, size);
    if (word.empty()) refuse("a number or a name is missing.");
    rest_.remove_prefix(size);
    skip_spaces();
    return value_of(word);
  }

  [[nodiscard]] std::int64_t value_of(std::string_view word) const {
    if (const auto found = names_->find(word); found != names_->end()) return found->second;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size()) return within(number);
    std::vector<std::string> known;
    for (const auto& [name, value] : *names_) known.push_back(name);
    refuse(fmt::format("\"{}\" is not a parameter. {}", word, suggestion(word, known)));
  }

  std::string_view rest_;
  const NamedNumbers* names_;
  int depth_ = 0;
};

}  // namespace

bool is_number_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  return !name.empty() && digits.find(name.front()) == std::string_view::npos &&
         name.find_first_not_of(letters) == std::string_view::npos;
}

std::int64_t evaluate(std::string_view expression, const NamedNumbers& names) {
  return Parser(expression, names).whole();
}

}  // namespace dlscale
