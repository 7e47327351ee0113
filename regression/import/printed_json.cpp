#include "regression/import/printed_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "regression/import/content_kind.hpp"

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
  constexpr std::array<std::string_view, 9> words{"NaN", "Infinity", "nan(ind)", "nan(snan)", "nan",
                                                  "inf", "1.#INF",   "1.#QNAN",  "1.#IND"};
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() <= sign || std::string_view("NIni1").find(text[sign]) == std::string_view::npos) {
    return 0;
  }
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

/// Length of the UTF-8 character that the text begins with; 0 if it is damaged.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

/// Whether a digit follows one of the separators that locales have within numbers.
bool has_separator(std::string_view behind_number, bool in_object) {
  for (const std::string_view separator : {",", "'", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99"}) {
    if (separator == "," && !in_object) continue;
    const bool is_there = behind_number.starts_with(separator);
    if (is_there && behind_number.size() > separator.size()) {
      return is_digit(behind_number[separator.size()]);
    }
  }
  return false;
}

/// Whether the number is too large for a double.
bool is_beyond_range(std::string_view number) {
  double value = 0;
  const std::errc error = std::from_chars(number.data(), number.data() + number.size(), value).ec;
  const bool is_small =
      number.find("e-") != std::string_view::npos || number.find("E-") != std::string_view::npos;
  return error == std::errc::result_out_of_range && !is_small;
}

/// Number of leading letters of a string that it neither ends at nor has to be rewritten at.
std::size_t plain_letters(std::string_view text) {
  const auto is_plain = [](char letter) {
    return static_cast<unsigned char>(letter) < 0x80 && !is_control(letter) && letter != '"' &&
           letter != '\\';
  };
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

std::size_t line_at(std::string_view text, std::size_t place) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, place), '\n'));
}

class Rewriter {
 public:
  /// Rewrites the value that begins at `begin`.
  Rewriter(std::string_view text, std::size_t begin) : text_(text), at_(begin) {
    out_.reserve(text.size());
    const std::string_view before = text.substr(0, begin);
    const std::size_t line = before.rfind('\n') + 1;  // 0 without one
    out_.append(line_at(text, begin) - 1, '\n').append(begin - line, ' ');
  }

  void rewrite() {
    while (at_ < text_.size() && !is_whole_) {
      if (text_[at_] == '"') {
        take_string();
      } else {
        take_other();
      }
    }
    const std::size_t end = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }
  [[nodiscard]] std::string take_text() { return std::move(out_); }
  /// Behind the value.
  [[nodiscard]] std::size_t end() const { return at_; }
  /// First line with bytes that are not UTF-8; 0: none.
  [[nodiscard]] std::size_t damaged_line() const { return damaged_line_; }

 private:
  static constexpr std::size_t depth_of_row = 3;
  static constexpr std::string_view blanks = " \t\r\n";

  /// Takes so many letters as they are.
  void take(std::size_t count) {
    out_.append(text_, at_, count);
    at_ += count;
  }

  void take_other() {
    const std::size_t blank = std::min(text_.find_first_not_of(blanks, at_), text_.size()) - at_;
    if (blank > 0) return take(blank);
    const bool may_begin = out_.empty() || !is_of_a_word(out_.back());
    const std::size_t number = may_begin ? bare_number(text_.substr(at_)) : 0;
    if (number > 0) {
      out_ += "null";
      at_ += number;
      return;
    }
    if (may_begin && is_digit(text_[at_])) return take_number();
    const char letter = text_[at_++];
    const bool is_percentage = letter == '%' && !out_.empty() && is_of_a_word(out_.back());
    if (!is_percentage) out_ += letter;
    if ((letter == '}' || letter == ']') && !open_.empty()) {
      open_.pop_back();
      is_whole_ = open_.empty();
    }
    if (letter != '{' && letter != '[') return;
    open_ += letter;
    if (open_.size() == depth_of_row) keys_.clear();
  }

  /// Called behind the sign of a number.
  void take_number() {
    const std::size_t end = std::min(text_.find_first_not_of("0123456789.eE+-", at_), text_.size());
    const std::string_view number = text_.substr(at_, end - at_);
    const bool has_separators = std::ranges::count(number, '.') > 1 ||
                                has_separator(text_.substr(end), open_.ends_with('{'));
    if (has_separators && begins_value()) refuse_number();
    if (is_beyond_range(number)) {
      if (out_.ends_with('-')) out_.pop_back();
      out_ += "null";
    } else {
      out_ += number;
    }
    at_ = end;
  }

  [[nodiscard]] bool begins_value() const {
    const std::size_t last = out_.find_last_not_of(" \t\r\n-");
    return !open_.empty() && last != std::string::npos &&
           std::string_view(":,[").find(out_[last]) != std::string_view::npos;
  }

  [[noreturn]] void refuse_number() const {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n}]:\"", at_), text_.size());
    std::string_view number = text_.substr(at_, end - at_);
    if (number.ends_with(',')) number.remove_suffix(1);
    throw ConfigError(fmt::format(
        "line {}: {} is a number with separators of a locale, which JSON lacks; LC_ALL=C "
        "in the environment of the program avoids them",
        line_at(text_, at_), escape_for_terminal(number)));
  }

  void take_string() {
    out_ += text_[at_++];
    const std::size_t begin = at_;
    const std::size_t place = out_.size();
    while (true) {
      take(plain_letters(text_.substr(at_)));
      if (at_ == text_.size()) return;
      if (closes()) break;
      take_letter();
    }
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
    if (static_cast<unsigned char>(letter) >= 0x80) return take_character();
    ++at_;
    if (is_control(letter) && letter != '\n') {
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned char>(letter));
      return;
    }
    if (letter == '"' || letter == '\\') out_ += '\\';
    out_ += letter;
  }

  /// Takes a character beyond ASCII.
  void take_character() {
    const std::size_t length = utf8_length(text_.substr(at_));
    if (length > 0) {
      out_ += text_.substr(at_, length);
      at_ += length;
      return;
    }
    if (damaged_line_ == 0) damaged_line_ = line_at(text_, at_);
    out_ += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(text_[at_++]));
  }

  /// Called at the quote that ends a string.
  bool repeats_key(std::string_view name) {
    if (open_.size() != depth_of_row) return false;
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
    if (next == std::string_view::npos || text_[next] != ':') return false;
    return !keys_.insert(name).second;
  }

  [[nodiscard]] bool lacks_comma() const {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    return next != std::string_view::npos && text_[next] == '"';
  }

  std::string_view text_;
  std::size_t at_;
  std::string out_;
  std::string open_;       ///< brackets that are not closed yet
  bool is_whole_ = false;  ///< all are closed
  std::size_t damaged_line_ = 0;
  std::unordered_set<std::string_view> keys_;  ///< of the row so far
};

/// Notes what follows a document, or throws if that may be measurements.
void judge_rest(std::string_view text, std::size_t end, std::vector<std::string>& notes) {
  constexpr std::string_view blank(" \t\r\n\v\f\0", 7);
  const std::size_t next = text.find_first_not_of(blank, end);
  if (next == std::string_view::npos) return;
  const Content other = find_content(text.substr(next));
  const ContentKind kind = other.is_labelled ? ContentKind::unknown : other.kind;
  const bool is_document = kind == ContentKind::google_benchmark || kind == ContentKind::hyperfine;
  const std::size_t of_nccl = text.find("\"nccl_version\"", next);
  if (is_document || of_nccl != std::string_view::npos) {
    const std::size_t begin =
        is_document ? next + other.begin : std::min(text.rfind('{', of_nccl), of_nccl);
    throw ConfigError(
        fmt::format("another document begins in line {}, so it is not sure which counts: give each "
                    "its own file",
                    line_at(text, begin)));
  }
  if (std::string_view("}],:\"").find(text[next]) != std::string_view::npos) {
    throw ConfigError(fmt::format(
        "line {} goes on behind the end of the JSON, as if two programs had written the "
        "file",
        line_at(text, next)));
  }
  notes.push_back(
      fmt::format("the text behind the JSON, from line {}, is left aside", line_at(text, next)));
}

PrintedJson document_at(std::size_t begin, std::string_view text) {
  PrintedJson json;
  const std::size_t first = text.find_first_not_of(" \t\r\n\v\f");
  if (first < begin) {
    json.notes.push_back(fmt::format(
        "the text before the JSON, which begins in line {}, is left aside", line_at(text, begin)));
  }
  Rewriter rewriter(text, begin);
  rewriter.rewrite();
  judge_rest(text, rewriter.end(), json.notes);
  if (rewriter.damaged_line() > 0) {
    json.notes.push_back(fmt::format(
        "line {} has bytes that are not UTF-8, which are shown as \\xe9", rewriter.damaged_line()));
  }
  json.text = rewriter.take_text();
  return json;
}

/// A member of an object that is text; none without one.
const std::string* text_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

/// The first of these members that is text.
template <std::size_t count>
const std::string* first_text_in(const nlohmann::json& object,
                                 const std::array<const char*, count>& names) {
  for (const char* name : names) {
    if (const std::string* text = text_in(object, name)) return text;
  }
  return nullptr;
}

/// The process that printed an entry of a log, as a label of launchers; empty if it is not named.
std::string label_of(const nlohmann::json& entry) {
  constexpr std::array names{"pod_name", "pod", "container_name", "container_id", "_PID",
                             "hostname", "host"};
  const auto inner = entry.find("kubernetes");
  const bool is_nested = inner != entry.end() && inner->is_object();
  const std::string* name = first_text_in(is_nested ? *inner : entry, names);
  if (name == nullptr) return "";
  std::string label = *name;
  std::erase_if(label, [](char letter) { return letter <= ' ' || letter == '[' || letter == ']'; });
  return "[" + label + "] ";
}

/// Adds the text of a line that is an entry of a log; false if it is none. Entries are flat.
bool add_entry(std::string_view line, std::string& text) {
  constexpr std::array names{"log", "MESSAGE", "textPayload", "message", "msg", "line"};
  constexpr int depth_of_labels = 2;
  const auto is_near = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    return depth <= depth_of_labels;
  };
  if (!line.starts_with('{')) return false;
  const nlohmann::json entry = nlohmann::json::parse(line, is_near, /*allow_exceptions=*/false);
  if (!entry.is_object()) return false;
  const std::string* said = first_text_in(entry, names);
  if (said == nullptr) return false;
  // Docker cuts longer lines into entries, of which the last alone ends the line.
  constexpr std::size_t most_of_docker = std::size_t{16} << 10U;
  if (text.empty() || text.ends_with('\n')) text += label_of(entry);
  text += *said;
  if (!text.ends_with('\n') && said->size() < most_of_docker) text += '\n';
  return true;
}

/// Whether a line without its first blanks may be one of JSON: it begins as such lines do, and
/// other words than those of JSON stand in quotes.
bool may_be_json(std::string_view line) {
  if (std::string_view("{}[]\",-0123456789tfn").find(line.front()) == std::string_view::npos) {
    return false;
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') return true;
    if (!is_of_a_word(line[i])) continue;
    const std::size_t begin = i;
    while (i < line.size() && is_of_a_word(line[i])) ++i;
    const std::string_view word = line.substr(begin, i - begin);
    const bool is_number = is_digit(word.front());
    if (!is_number && word != "true" && word != "false" && word != "null") return false;
  }
  return true;
}

}  // namespace

std::string text_of_json_log(std::string_view content) {
  std::string text;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || add_entry(line, text)) continue;
    if (text.empty()) return "";
    text.append(line).append("\n");
  }
  return text;
}

std::string strict_json(std::string_view text) {
  Rewriter rewriter(text, 0);
  rewriter.rewrite();
  return rewriter.take_text();
}

PrintedJson printed_json(std::string_view content) {
  const Content found = find_content(content);
  if (found.is_labelled) return document_at(found.begin, unlabelled(content));
  return document_at(found.begin, content);
}

std::string printed_problem(const std::exception& error, const PrintedJson& json) {
  const std::string problem = json_problem(error, json.text);
  const auto* parsing = dynamic_cast<const nlohmann::json::parse_error*>(&error);
  if (parsing == nullptr || parsing->byte == 0 || parsing->byte > json.text.size()) return problem;
  const std::string_view text = json.text;
  const std::size_t line = text.rfind('\n', parsing->byte - 1) + 1;  // 0 for the first
  const std::size_t start = text.find_first_not_of(" \t", line);
  if (start == std::string_view::npos || text.find('{') >= start) return problem;
  const std::string_view other = text.substr(start, text.find('\n', start) - start);
  if (may_be_json(other)) return problem;
  return fmt::format(
      "line {} is text within the JSON, \"{}\": let the program write its JSON to a "
      "file of its own",
      line_at(text, start), escape_for_terminal(other));
}

void PrintedDigits::add(std::string_view strict_json, std::string_view key) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::string quoted = fmt::format("\"{}\"", key);
  const std::boyer_moore_horspool_searcher search(quoted.begin(), quoted.end());
  std::size_t at = 0;
  while (true) {
    const char* const begin = strict_json.data() + at;
    const char* const found = search(begin, strict_json.data() + strict_json.size()).first;
    at += static_cast<std::size_t>(found - begin);
    at = strict_json.find_first_not_of(blanks, std::min(at + quoted.size(), strict_json.size()));
    if (at == std::string_view::npos) return;
    if (strict_json[at] != ':') continue;
    at = strict_json.find_first_not_of(blanks, at + 1);
    if (at == std::string_view::npos) return;
    const std::size_t end = strict_json.find_first_not_of("+-.0123456789eE", at);
    add_number(strict_json.substr(at, end == std::string_view::npos ? end : end - at));
  }
}

void PrintedDigits::add_number(std::string_view word) {
  if (word.empty()) return;
  const std::size_t mark = std::min(word.find_first_of("eE"), word.size());
  const std::string_view digits = word.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const auto count = [&is_digit](std::string_view part) {
    return static_cast<int>(std::ranges::count_if(part, is_digit));
  };
  if (mark < word.size()) {
    significant_ = std::max(significant_.value_or(1), count(digits));
  } else {
    decimals_ = std::max(decimals_.value_or(0), count(digits.substr(point)));
  }
}

double PrintedDigits::half_unit(double value) const {
  constexpr double matters = 1e-6;
  double half = std::numeric_limits<double>::infinity();
  const double size = std::abs(value);
  if (decimals_) half = 0.5 * std::pow(10.0, -*decimals_);
  if (significant_ && size > 0) {
    half = std::min(half, 0.5 * std::pow(10.0, std::floor(std::log10(size)) + 1 - *significant_));
  }
  return std::isfinite(half) && half >= matters * size ? half : 0;
}

}  // namespace dlscale::regression::history
