#include "app/name_pattern.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstddef>

#include "core/error.hpp"
#include "core/shown_text.hpp"

namespace dlscale::app {
namespace {

// A stack of 8 MiB takes several times as much in builds that check memory, too.
constexpr std::size_t longest = 1000;
constexpr std::size_t longest_written_out = 10'000;
// The time grows with the square of a name that has nothing of the kind: about a second here.
constexpr std::size_t longest_name = 4000;

/// The larger count of a repetition, "2,30}"; 0 where there is none.
std::size_t most_repeats(std::string_view text) {
  std::size_t most = 0;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    std::size_t count = 0;
    const auto [after, error] = std::from_chars(at, end, count);
    if (error == std::errc::result_out_of_range) return longest_written_out;
    if (error != std::errc()) break;
    most = std::max(most, count);
    if (after == end || *after != ',') break;
    at = after + 1;
  }
  return std::min(most, longest_written_out);
}

/// No less than the letters of a pattern whose repetitions, one in the other, are written out.
std::size_t written_out(std::string_view text) {
  std::size_t letters = text.size();
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    letters *= std::max<std::size_t>(1, most_repeats(text.substr(at + 1)));
    if (letters > longest_written_out) break;
  }
  return letters;
}

/// libstdc++ has a way of looking for an expression whose time grows with the name as a polynomial,
/// and that does not call itself for each letter of it: its other way ends the program at long
/// names and never ends at expressions such as (a+)+b. It knows no references back.
std::regex compiled(const std::string& text) {
  auto flags = std::regex::ECMAScript | std::regex::optimize;
#ifdef __GLIBCXX__
  flags |= std::regex_constants::__polynomial;
#endif
  return std::regex(text, flags);
}

/// Empty for a pattern that can be looked for.
std::string why_no_pattern(const std::string& text) {
  if (text.size() > longest || written_out(text) > longest_written_out) {
    return fmt::format(
        "\"{}\" is a regular expression of more than {} letters, or {} with its repetitions "
        "written out. Write a shorter part of the names",
        shown_text(text), longest, longest_written_out);
  }
  try {
    static_cast<void>(compiled(text));
    return "";
  } catch (const std::regex_error&) {
    return fmt::format(
        "\"{}\" is no regular expression (of ECMAScript, without references back). Write a part of "
        "the names, such as "
        "\"gemm-.*-2$\" or \"e2e .*resnet50\"",
        shown_text(text));
  }
}

}  // namespace

NamePattern::NamePattern(std::string_view option, const std::string& text) : option_(option) {
  const std::string problem = why_no_pattern(text);
  if (!problem.empty()) throw ConfigError(fmt::format("{}: {}.", option, problem));
  expression_ = compiled(text);
}

bool NamePattern::is_in(const std::string& name) const {
  if (name.size() > longest_name) {
    throw ConfigError(
        fmt::format("{}: the name \"{}\" has {} letters, more than the {} in which expressions are "
                    "looked for. Leave the option out, or give what has this name a shorter one.",
                    option_, shown_text(name), name.size(), longest_name));
  }
  try {
    return std::regex_search(name, expression_);
  } catch (const std::regex_error&) {  // of other libraries than libstdc++
    throw ConfigError(fmt::format(
        "{}: to look for it in \"{}\" takes too much. Write a simpler part of the names.", option_,
        shown_text(name)));
  }
}

CLI::Validator name_pattern() {
  return {why_no_pattern, ""};
}

}  // namespace dlscale::app
