#include "app/cli/number_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "core/text/escape_for_terminal.hpp"

namespace dlscale::app {
namespace {

constexpr std::string_view all_digits = "0123456789";

/// Numbers, the one mark between all of them, and what stands before and behind.
struct Writing {
  std::string before;
  std::vector<std::string> numbers;
  std::string mark;
  std::string behind;
  bool has_other_marks = false;
};

std::string without_blanks_around(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// The mark without blanks around it; a blank if there is nothing else.
std::string mark_of(std::string_view between) {
  const std::string mark = without_blanks_around(between);
  return mark.empty() ? " " : mark;
}

Writing writing_of(std::string_view text) {
  Writing writing;
  std::size_t at = std::min(text.find_first_of(all_digits), text.size());
  writing.before = without_blanks_around(text.substr(0, at));
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_not_of(all_digits, at), text.size());
    writing.numbers.emplace_back(text.substr(at, end - at));
    at = std::min(text.find_first_of(all_digits, end), text.size());
    if (at == text.size()) {
      writing.behind = without_blanks_around(text.substr(end));
      break;
    }
    const std::string mark = mark_of(text.substr(end, at - end));
    writing.has_other_marks =
        writing.has_other_marks || (!writing.mark.empty() && mark != writing.mark);
    writing.mark = mark;
  }
  return writing;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// "1_000" and "12 000": parts of three digits, and more than a list of numbers could have.
bool is_in_thousands(const Writing& writing) {
  constexpr std::array<std::string_view, 4> marks{"_", "'", "’", ","};
  const auto has_three = [](const std::string& part) { return part.size() == 3; };
  const bool threes = std::all_of(writing.numbers.begin() + 1, writing.numbers.end(), has_three);
  const bool zero = std::any_of(writing.numbers.begin() + 1, writing.numbers.end(),
                                [](const std::string& part) { return part.front() == '0'; });
  return threes && writing.numbers.front().front() != '0' &&
         (is_one_of(writing.mark, marks) || (writing.mark == " " && zero));
}

double value_of_digits(const std::string& number) {
  double value = std::numeric_limits<double>::infinity();  // stays if the number is too large
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

/// The value of numbers with an operator between; 0 if it is too large.
double result_of(const Writing& writing) {
  double value = value_of_digits(writing.numbers[0]);
  const bool is_power = writing.mark == "^" || writing.mark == "**";
  for (std::size_t i = 1; i < writing.numbers.size(); ++i) {
    const double next = value_of_digits(writing.numbers[i]);
    value = is_power ? std::pow(value, next) : value * next;
  }
  return value <= std::numeric_limits<std::int32_t>::max() ? value : 0;
}

std::string range_advice(const Writing& writing, Numbers numbers) {
  if (numbers == Numbers::one) return "is a range, and one number is taken. Write one";
  return fmt::format(
      "is not a range here. Write {0}..{1}:x2 for each double of the last, or {0}..{1} for each "
      "number",
      writing.numbers.front(), writing.numbers[1]);
}

std::string list_advice(const Writing& writing, Numbers numbers) {
  if (numbers == Numbers::one) return "is a list, and one number is taken. Write one";
  return fmt::format("has no commas between its numbers. Write {}",
                     fmt::join(writing.numbers, ","));
}

std::string advice_on_several(const Writing& writing, Numbers numbers) {
  constexpr std::array<std::string_view, 8> ranges{"-", "–", "—", ":", "to", "~", "...", "…"};
  constexpr std::array<std::string_view, 5> lists{" ", ";", "/", "|", "+"};
  constexpr std::array<std::string_view, 6> products{"x", "X", "*", "×", "^", "**"};
  if (is_in_thousands(writing) && (writing.mark != "," || writing.numbers.size() > 2)) {
    return fmt::format("has marks between thousands. Write {}", fmt::join(writing.numbers, ""));
  }
  if (writing.mark == "," && writing.numbers.size() == 2) {
    return fmt::format("has a comma in its number. Write {0}.{1}, or {0}{1}", writing.numbers[0],
                       writing.numbers[1]);
  }
  if (is_one_of(writing.mark, ranges)) return range_advice(writing, numbers);
  if (is_one_of(writing.mark, lists)) return list_advice(writing, numbers);
  const bool is_product = is_one_of(writing.mark, products);
  const double result = is_product ? result_of(writing) : 0;
  if (is_product && result > 0) {
    return fmt::format("is a calculation, and a number is taken. Write {:.0f}", result);
  }
  return {};
}

std::string advice_on_one(const Writing& writing) {
  const std::string& number = writing.numbers.front();
  const std::string& behind = writing.behind;
  constexpr std::array<std::string_view, 5> prefixes{"k", "K", "M", "Ki", "Mi"};
  if (is_one_of(behind, prefixes)) {
    const double by_1000 = value_of_digits(number) * (behind.front() == 'M' ? 1e6 : 1e3);
    const double by_1024 = value_of_digits(number) * (behind.front() == 'M' ? 1048576 : 1024);
    if (behind.size() == 2) return fmt::format("has a prefix. Write {:.0f}", by_1024);
    return fmt::format("may count thousands by 1000 or by 1024. Write {:.0f} or {:.0f}", by_1000,
                       by_1024);
  }
  constexpr std::array<std::string_view, 19> of_counts{
      "x",      "X",       "gpu",   "gpus",  "GPU", "GPUs", "rank", "ranks", "node", "nodes",
      "images", "workers", "procs", "iters", "$",   "€",    "£",    "USD",   "EUR"};
  if (is_one_of(behind, of_counts)) {
    return fmt::format("has {} behind its number. Write {}",
                       behind.size() == 1 ? "a sign" : "a word", number);
  }
  if (number.size() > 1 && number.front() == '0' && behind.empty()) {
    return "begins with 0. A comma stands between two numbers: write 1,024 as 1024";
  }
  return {};
}

/// "1e3" and "8.0", which are whole numbers; 0 for others.
std::int32_t whole_value(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && value >= 1 &&
                        value <= std::numeric_limits<std::int32_t>::max() &&
                        std::floor(value) == value;
  return is_whole ? static_cast<std::int32_t>(value) : 0;
}

bool is_plain(std::string_view text) {
  return text.find_first_not_of(all_digits) == std::string_view::npos;
}

constexpr std::array<std::string_view, 6> signs_before{"x", "$", "€", "£", "¥", "US$"};

/// One number, which may have a point or marks between thousands.
std::string joined_number(const Writing& writing) {
  return fmt::format("{}", fmt::join(writing.numbers, writing.mark == "." ? "." : ""));
}

std::string advice_without_text(std::string_view text, Numbers numbers) {
  if (const std::int32_t whole = whole_value(text); whole > 0 && !is_plain(text)) {
    return fmt::format("is not written in digits. Write {}", whole);
  }
  const Writing writing = writing_of(text);
  if (writing.numbers.empty() || writing.has_other_marks) return {};
  if (writing.before == "[" || writing.before == "(" || writing.before == "{" ||
      writing.behind == "]" || writing.behind == ")" || writing.behind == "}") {
    return fmt::format("has a bracket. Write {}", fmt::join(writing.numbers, ","));
  }
  if (is_one_of(writing.before, signs_before) && writing.behind.empty()) {
    return fmt::format("has a sign before its number. Write {}", joined_number(writing));
  }
  if (!writing.before.empty()) return {};
  if (writing.numbers.size() == 1) return advice_on_one(writing);
  return writing.behind.empty() ? advice_on_several(writing, numbers) : std::string();
}

}  // namespace

std::string advice_on_number(std::string_view text, Numbers numbers) {
  const std::string found = advice_without_text(text, numbers);
  return found.empty() ? found : fmt::format("{} {}", escape_for_terminal(text), found);
}

}  // namespace dlscale::app
