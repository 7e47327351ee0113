#include "core/text/launcher_lines.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace dlscale {
namespace {

// Each pattern stands at the start of a line, after other prefixes. Blanks that align the
// program's own columns remain.

/// Prefixes that no such program prints itself, and that say nothing about the process.
constexpr const char* times_and_quotes =
    // ISO 8601, with what GitLab ("00O+") and CRI ("stdout F") put behind it.
    R"(\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?:?)"
    R"((?: \d\d[OE]\b\+?| (?:stdout|stderr) [FP])?(?: |$))"
    // ctime, whole or without weekday and year.
    R"(|\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?)"
    R"((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
    R"((?: \d{4})?\]?:? ?)"
    R"(|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?:?(?: |$))"     // the clock
    R"(|\[?\d{9,10}\.\d+\]?:?(?: |$)|\[ *\d+\.\d+\] )"  // seconds since 1970, or since the start
    R"(|<std(?:out|err|diag)>: ?)"                      // Open MPI, after a time alone
    R"(|(?:> ?)+)";                                     // a quotation

/// Labels of processes. Each alternative has one group, which names the process.
constexpr std::array labels{
    R"( *((?:P\d+ +)?\d+):(?: |$))",                                   // srun, flux
    R"(\[([^\[\]<>]*)\](?:\[[^\[\]<>]*\])?<std(?:out|err|diag)>: ?)",  // Open MPI
    R"((\d+)<std(?:out|err|diag)>: ?)",                                // PRRTE
    R"(\[([A-Za-z_]*\d+)\](?::? ?))",                                  // MPICH, torchrun
    R"(\[([^\[\]\s]+)\]:?(?: |$))",                                    // kubectl
    R"(\(([^()]*pid=\d+[^()]*)\) ?)",                                  // Ray
    R"(([A-Za-z][\w.-]* [\w./@-]+\[\d+\]):(?: |$))",                   // syslog
    R"(([\w./@-]+) +\|(?: |$))",                                       // docker compose
    // pdsh and PALS; a host has a digit, a dash or a dot, unlike "Copy:" of STREAM.
    R"(([A-Za-z][\w.-]*[\d.-][\w.-]*(?: +\d+)?|[Rr]ank +\d+|\d+\.\d+\.\d+\.\d+):(?: |$))"};

/// Patterns are compiled once; their use is thread-safe.
const re2::RE2& unlabelled_prefix() {
  static const re2::RE2 pattern(times_and_quotes);
  return pattern;
}
const std::array<re2::RE2, labels.size()>& label_prefixes() {
  static const std::array<re2::RE2, labels.size()> patterns{
      re2::RE2(labels[0]), re2::RE2(labels[1]), re2::RE2(labels[2]),
      re2::RE2(labels[3]), re2::RE2(labels[4]), re2::RE2(labels[5]),
      re2::RE2(labels[6]), re2::RE2(labels[7]), re2::RE2(labels[8])};
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

void drop_controls(std::string& text) {
  static const re2::RE2 no_break_space(R"(\x{A0})");
  if (text.find('\xC2') != std::string::npos) {
    re2::RE2::GlobalReplace(&text, no_break_space, " ");
  }
  std::erase_if(
      text, [](char letter) { return static_cast<unsigned char>(letter) < ' ' && letter != '\t'; });
}

/// Whether a line may have a prefix. Most lines of tables begin with '#'.
bool may_have_prefix(std::string_view text) {
  return !text.empty() && text.front() != '#' &&
         text.find_first_of(".:]>|)") != std::string_view::npos;
}

/// Drops one prefix; adds its label to the source.
bool drop_prefix(re2::StringPiece& text, std::string& source) {
  if (re2::RE2::Consume(&text, unlabelled_prefix())) return true;
  for (const re2::RE2& pattern : label_prefixes()) {
    std::string label;
    if (!re2::RE2::Consume(&text, pattern, &label)) continue;
    if (!source.empty()) source += ' ';
    source += label;
    return true;
  }
  return false;
}

}  // namespace

bool LauncherLines::next(LauncherLine& line) {
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
  for (int i = 0; i < most_prefixes; ++i) {
    const std::string_view rest(text.data(), text.size());
    if (!may_have_prefix(rest) || !drop_prefix(text, line.source)) break;
  }
  line.text.erase(0, line.text.size() - text.size());
  return true;
}

}  // namespace dlscale
