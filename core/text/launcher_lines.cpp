#include "core/text/launcher_lines.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace dlscale {
namespace {

// Each pattern stands at the start of a line, after other prefixes. Blanks that align the
// program's own columns remain. A comment may follow without a blank.

/// Prefixes that no such program prints itself, and that say nothing about the process.
constexpr const char* times_and_quotes =
    // ISO 8601, with what GitLab ("00O+") and CRI ("stdout F") put behind it.
    R"(\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?:?)"
    R"((?: \d\d[OE]\b\+?| (?:stdout|stderr) [FP])?(?:[ \t]|$|#))"
    // ctime, whole or without weekday and year.
    R"(|\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?)"
    R"((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
    R"((?: \d{4})?\]?:? ?)"
    // The clock, or a duration.
    R"(|\[?\+?\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\]?:?(?:[ \t]|$|#))"
    R"(|\[?\+?\d{1,2}:\d\d[.,]\d+\]?:?(?:[ \t]|$|#))"  // minutes and seconds
    // Flux, and other durations ("1.510s", "1m2.5s", "12ms").
    R"(|\[?\+?(?:\d+h ?)?(?:\d+m ?)?\d+(?:\.\d+)?m?s\]?:?(?:[ \t]|$|#))"
    R"(|\[?\d{9,10}\.\d+\]?:?(?:[ \t]|$)|\[ *\d+\.\d+\] )"  // seconds since 1970, or the start
    R"(|<std(?:out|err|diag)>: ?)"                          // Open MPI, after a time alone
    R"(|(?:> ?)+)";                                         // a quotation

/// Labels of processes. Each alternative has one group, which names the process.
constexpr std::array labels{
    R"( *((?:P\d+ +)?\d+)[:-](?:[ \t]|$|#))",                          // srun, flux, grep -n
    R"(\[([^\[\]<>]*)\](?:\[[^\[\]<>]*\])?<std(?:out|err|diag)>: ?)",  // Open MPI
    R"((\d+)<std(?:out|err|diag)>: ?)",                                // PRRTE
    R"(\[([A-Za-z_ ]*\d+)\](?::? ?))",                                 // MPICH, torchrun, aprun
    R"(\[([^\[\]\s]+)\]:?(?: |$|#))",                                  // kubectl
    R"(\(([^()]*pid=\d+[^()]*)\) ?)",                                  // Ray
    R"(([A-Za-z][\w.-]* [\w./@-]+\[\d+\]):(?: |$|#))",                 // syslog
    R"(([\w./@-]+) +\|(?: |$|#))",                                     // docker compose
    // pdsh, clush and PALS; a host has a digit, a dash or a dot, unlike "Copy:" of STREAM.
    R"(([A-Za-z][\w.-]*[\d.-][\w.-]*(?: +\d+)?|[Rr]ank +\d+|\d+\.\d+\.\d+\.\d+)"
    R"(|[A-Za-z][\w.,-]*\[[\d,-]+\][\w.,\[\]-]*):(?: |$|#))",
    // grep: a file, the number of a line, and a dash where the line is beside a match.
    R"(([\w./~+=%@-]+[./][\w+=%@-]+):(?:\d+:)?(?:[ \t]|$|#))",
    R"(([\w./~+=%@-]+\.[\w+=%@]+)-(?:\d+-)?(?:[ \t]|$|#))"};

/// Labels that rows follow without a blank, if all comments do: srun, grep -n, grep.
constexpr std::array tight_labels{R"( *((?:P\d+ +)?\d+)[:-])",
                                  R"(([\w./~+=%@-]+[./][\w+=%@-]+):(?:\d+:)?)"};

/// Patterns are compiled once; their use is thread-safe.
const re2::RE2& unlabelled_prefix() {
  static const re2::RE2 pattern(times_and_quotes);
  return pattern;
}
const std::array<re2::RE2, labels.size()>& label_prefixes() {
  static const std::array<re2::RE2, labels.size()> patterns{
      re2::RE2(labels[0]), re2::RE2(labels[1]), re2::RE2(labels[2]), re2::RE2(labels[3]),
      re2::RE2(labels[4]), re2::RE2(labels[5]), re2::RE2(labels[6]), re2::RE2(labels[7]),
      re2::RE2(labels[8]), re2::RE2(labels[9]), re2::RE2(labels[10])};
  return patterns;
}

/// Colours and movements of the cursor [ECMA-48], also where a log lost or spelt out their first
/// byte.
void drop_escapes(std::string& text) {
  static const re2::RE2 sequence(
      R"(\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~])"
      R"(|(?:\^\[|\x{241b})?\[\d+(?:;\d+)*m)");
  const bool may_have =
      text.find('\x1b') != std::string::npos ||
      (text.find('[') != std::string::npos && text.find('m') != std::string::npos);
  if (may_have) re2::RE2::GlobalReplace(&text, sequence, "");
}

/// Blanks of other widths, as from pages and documents, become blanks.
void drop_controls(std::string& text) {
  static const re2::RE2 blank(R"([\x{A0}\x{1680}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}])");
  static const re2::RE2 invisible(R"([\x{200B}-\x{200F}\x{2060}\x{FEFF}])");
  const bool is_ascii = std::ranges::all_of(
      text, [](char letter) { return static_cast<unsigned char>(letter) < 0x80; });
  if (!is_ascii) {
    re2::RE2::GlobalReplace(&text, blank, " ");
    re2::RE2::GlobalReplace(&text, invisible, "");
  }
  std::erase_if(
      text, [](char letter) { return static_cast<unsigned char>(letter) < ' ' && letter != '\t'; });
}

/// Whether a line may have a prefix. Most lines of tables begin with '#'.
bool may_have_prefix(std::string_view text) {
  return !text.empty() && text.front() != '#' &&
         text.find_first_of(".:-]>|)") != std::string_view::npos;
}

bool consume(re2::StringPiece& text, const re2::RE2& pattern, std::string* label) {
  const bool is_there = label == nullptr ? re2::RE2::Consume(&text, pattern)
                                         : re2::RE2::Consume(&text, pattern, label);
  // The mark of a comment is the program's own.
  if (is_there && text.data()[-1] == '#') text.set(text.data() - 1, text.size() + 1);
  return is_there;
}

void add_label(std::string_view label, std::string& source) {
  if (!source.empty()) source += ' ';
  source += label;
}

/// Drops one prefix; adds its label to the source. A tight label comes first.
bool drop_prefix(re2::StringPiece& text, std::string& source, const re2::RE2* tight) {
  const char* begin = text.data();
  if (consume(text, unlabelled_prefix(), nullptr)) return text.data() > begin;
  if (std::string label; tight != nullptr && source.empty() && consume(text, *tight, &label)) {
    source = label;
    return true;
  }
  for (const re2::RE2& pattern : label_prefixes()) {
    std::string label;
    if (!consume(text, pattern, &label)) continue;
    add_label(label, source);
    return true;
  }
  return false;
}

/// The place of the label's last word if that is a number; else npos.
std::size_t place_of_number(std::string_view source) {
  const std::size_t last = source.find_last_not_of("0123456789") + 1;
  const bool is_word = last < source.size() && (last == 0 || source[last - 1] == ' ');
  return is_word ? last : std::string_view::npos;
}

/// Finds logs whose lines are numbered: no number of a source comes again or goes down.
class NumberedLines {
 public:
  void read(const LauncherLine& line) {
    const std::size_t place = place_of_number(line.source);
    if (place == std::string::npos) return;
    const std::string_view digits = std::string_view(line.source).substr(place);
    long long number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const auto [last, is_new] = last_.try_emplace(line.source.substr(0, place), number);
    if (is_new) return;
    ++later_;
    rises_ = rises_ && number > last->second;
    last->second = number;
  }

  [[nodiscard]] bool are_there() const { return rises_ && later_ > 1; }

 private:
  std::map<std::string, long long> last_;
  std::size_t later_ = 0;
  bool rises_ = true;
};

/// A pattern for a prefix with any numbers in place of its own.
std::string pattern_of(std::string_view prefix) {
  const auto run = [&prefix](std::string_view letters) {
    const std::size_t length = std::min(prefix.find_first_not_of(letters), prefix.size());
    prefix.remove_prefix(length);
    return length;
  };
  run(" ");
  std::string pattern = " *";
  while (!prefix.empty()) {
    if (const std::size_t blanks = run(" "); blanks > 0) {
      pattern += prefix.empty() ? " {" + std::to_string(blanks) + "}" : " +";
    } else if (run("0123456789") > 0) {
      pattern += "\\d+";
    } else {
      pattern += re2::RE2::QuoteMeta(re2::StringPiece(prefix.data(), 1));
      prefix.remove_prefix(1);
    }
  }
  return pattern;
}

/// A mark of a comment that a blank or the end follows.
std::size_t place_of_comment(std::string_view text) {
  std::size_t mark = text.find('#');
  while (mark != std::string_view::npos && mark + 1 < text.size() && text[mark + 1] != ' ') {
    mark = text.find('#', mark + 1);
  }
  return mark;
}

/// A prefix without the times in it, which come again by chance.
std::string without_times(std::string_view prefix) {
  static const re2::RE2 time(
      R"((?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[+-]\d\d:?\d\d)?)"
      R"(|\d{9,}(?:\.\d+)?)");
  std::string rest(prefix);
  re2::RE2::GlobalReplace(&rest, time, "");
  return rest;
}

/// The tight label that stands before all comments of a log; null if there is none.
std::shared_ptr<const re2::RE2> tight_label_of(std::string_view log) {
  for (const char* label : tight_labels) {
    const auto pattern = std::make_shared<const re2::RE2>(label);
    std::size_t comments = 0;
    bool all = true;
    for (std::string_view rest = log; all && !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t mark = place_of_comment(line);
      if (mark == std::string_view::npos) continue;
      ++comments;
      re2::StringPiece prefix(line.data(), mark);
      while (!prefix.empty() && re2::RE2::Consume(&prefix, unlabelled_prefix())) {
      }
      std::string name;
      all = re2::RE2::FullMatch(prefix, *pattern, &name);
    }
    if (all && comments > 0) return pattern;
  }
  return nullptr;
}

/// Collects the text before the comments of a log, and finds whether it is alike.
class CommentPrefixes {
 public:
  void read(std::string_view text) {
    const std::size_t mark = place_of_comment(text);
    if (mark == std::string_view::npos) {
      others_ += text.find_first_not_of(" \t") == std::string_view::npos ? 0 : 1;
      return;
    }
    if (is_mixed_) return;
    const std::string_view prefix = text.substr(0, mark);
    constexpr std::size_t longest = 120;
    if (prefix.size() > longest || prefix.find_first_not_of(" \t") == std::string_view::npos ||
        prefix.find_first_of("{\"") != std::string_view::npos) {
      is_mixed_ = true;
      return;
    }
    std::string pattern = pattern_of(prefix);
    if (count_ > 0 && pattern != pattern_) is_mixed_ = true;
    pattern_ = std::move(pattern);
    ++count_;
    different_.insert(without_times(prefix));
  }

  /// The pattern that all have; empty if there is none.
  [[nodiscard]] std::string common() const { return is_mixed_ || count_ < 2 ? "" : pattern_; }
  /// Whether there are so few comments that they may be alike by chance.
  [[nodiscard]] bool are_few() const { return count_ < 3; }
  /// The number of lines without a comment that are not blank.
  [[nodiscard]] std::size_t others() const { return others_; }
  /// Whether the prefixes come again, as labels do, unlike times and numbers of lines.
  [[nodiscard]] bool are_labels() const { return 2 * different_.size() <= count_; }

 private:
  bool is_mixed_ = false;
  std::size_t count_ = 0;
  std::size_t others_ = 0;
  std::string pattern_;
  std::set<std::string> different_;
};

/// The number that cat -n, nl, and editors put before each line.
bool drop_line_number(re2::StringPiece& text, long long& number) {
  static const re2::RE2 prefix(R"([ \t]*(\d{1,9})(?: +\x{2502} ?|[ \t]|$))");
  return re2::RE2::Consume(&text, prefix, &number);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Whether all lines that are not blank have such a number, which rises. Comments tell them from a
/// table of sizes.
bool has_line_numbers(std::string_view log) {
  long long last = -1;
  std::size_t count = 0;
  bool has_comment = false;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (is_blank(line)) continue;
    re2::StringPiece text(line.data(), line.size());
    long long number = 0;
    if (!drop_line_number(text, number) || number <= last) return false;
    last = number;
    has_comment = has_comment || text.find('#') != re2::StringPiece::npos;
    ++count;
  }
  constexpr std::size_t least = 3;
  return has_comment && count >= least;
}

}  // namespace

LauncherLines::LauncherLines(std::string_view log)
    : rest_(log), has_line_numbers_(has_line_numbers(log)), tight_label_(tight_label_of(log)) {
  LauncherLines copy(*this);
  NumberedLines numbers;
  CommentPrefixes comments;
  for (LauncherLine line; copy.next_of_known(line);) {
    numbers.read(line);
    comments.read(line.text);
  }
  lines_are_numbered_ = numbers.are_there();
  if (comments.common().empty()) return;
  // Few comments are alike by chance, unless two other lines and half of them begin so.
  if (comments.are_few()) {
    const std::size_t beginning = others_beginning(comments.common());
    if (beginning < 2 || 2 * beginning < comments.others()) return;
  }
  // Latin 1 stands for any bytes.
  const re2::RE2::CannedOptions bytes = re2::RE2::Latin1;
  own_prefix_ = std::make_shared<const re2::RE2>("(" + comments.common() + ")", bytes);
  own_prefix_is_label_ = comments.are_labels();
}

std::size_t LauncherLines::others_beginning(const std::string& pattern) const {
  const re2::RE2 prefix(pattern, re2::RE2::Latin1);
  LauncherLines copy(*this);
  std::size_t count = 0;
  for (LauncherLine line; copy.next_of_known(line);) {
    if (is_blank(line.text) || place_of_comment(line.text) != std::string::npos) continue;
    re2::StringPiece text(line.text);
    count += re2::RE2::Consume(&text, prefix) ? 1 : 0;
  }
  return count;
}

bool LauncherLines::next(LauncherLine& line) {
  if (!next_of_known(line)) return false;
  if (lines_are_numbered_) {
    line.source.erase(std::min(place_of_number(line.source), line.source.size()));
  }
  if (!own_prefix_) return true;
  re2::StringPiece text(line.text);
  std::string label;
  if (!re2::RE2::Consume(&text, *own_prefix_, &label)) return true;
  if (own_prefix_is_label_) add_label(without_times(label), line.source);
  line.text.erase(0, line.text.size() - text.size());
  return true;
}

bool LauncherLines::next_of_known(LauncherLine& line) {
  if (rest_.empty()) return false;
  if (!continues_) ++number_;
  const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
  line.number = number_;
  line.source.clear();
  line.text = rest_.substr(0, end);
  std::size_t ending = end < rest_.size() ? 1 : 0;
  if (rest_.substr(end).starts_with("\r\n")) ending = 2;
  continues_ = ending == 1 && rest_[end] == '\r';
  rest_.remove_prefix(end + ending);
  drop_escapes(line.text);
  drop_controls(line.text);
  constexpr int most_prefixes = 8;
  re2::StringPiece text(line.text);
  if (long long number = 0; has_line_numbers_) drop_line_number(text, number);
  for (int i = 0; i < most_prefixes; ++i) {
    const std::string_view rest(text.data(), text.size());
    if (!may_have_prefix(rest) || !drop_prefix(text, line.source, tight_label_.get())) break;
  }
  line.text.erase(0, line.text.size() - text.size());
  return true;
}

}  // namespace dlscale
