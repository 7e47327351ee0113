#include "regression/history/commit_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::size_t fewest_digits = 7;
constexpr std::size_t sha1_digits = 40;
constexpr std::size_t sha256_digits = 64;
constexpr std::string_view hexadecimal = "0123456789abcdefABCDEF";

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of(hexadecimal) == std::string_view::npos;
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return small;
}

/// "abc1234" of "v1.2-3-gabc1234", which `git describe` prints; empty for any other word.
std::string_view described(std::string_view word) {
  const std::size_t mark = word.rfind("-g");
  if (mark == std::string_view::npos || mark == 0) return "";
  const std::string_view before = word.substr(0, mark);
  const std::size_t dash = before.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == before.size()) return "";
  if (before.find_first_not_of("0123456789", dash + 1) != std::string_view::npos) return "";
  const std::string_view digits = word.substr(mark + 2);
  return is_commit_name(digits) ? digits : "";
}

/// The word without what git and Mercurial append where files were changed; empty if it ends in
/// nothing of the kind.
std::string_view without_changes(std::string_view word) {
  for (const std::string_view mark : {"-dirty", "-modified", "-broken", "+"}) {
    if (word.ends_with(mark)) return word.substr(0, word.size() - mark.size());
  }
  return "";
}

/// Why a word names no commit, and what to do.
std::string problem_of(std::string_view word, std::string_view option) {
  if (const std::string_view commit = described(word); !commit.empty()) {
    return fmt::format("is a word of git describe for commit {0}. Write {1} {0}", commit,
                       option);
  }
  if (const std::string_view base = without_changes(word); !base.empty()) {
    const std::string_view digits = described(base);
    return fmt::format(
        "is commit {} with local changes, which no commit has. Commit them, and measure that commit",
        escape_for_terminal(std::string(digits.empty() ? base : digits)));
  }
  if (is_hexadecimal(word)) {
    if (word.find_first_not_of('0') == std::string_view::npos) {
      return "has zeros only, which git writes in place of a commit. Name the commit measured";
    }
    return fmt::format("has {} digits, and names of commits have 7 to 40, or 64. Write it whole",
                       word.size());
  }
  return "is not a commit's name of 7 to 40 (or 64) hexadecimal digits, and other names may stand "
         "for another commit tomorrow. Write what git rev-parse prints for it, or name "
         "its repository to look it up";
}

/// The first part of a word that may be long.
std::string shown(std::string_view word) {
  constexpr std::size_t most = 80;
  if (word.size() <= most) return escape_for_terminal(std::string(word));
  return fmt::format("{}… ({} bytes)", escape_for_terminal(std::string(word.substr(0, most))),
                     word.size());
}

}  // namespace

bool is_commit_name(std::string_view text) {
  const bool fits =
      (text.size() >= fewest_digits && text.size() <= sha1_digits) || text.size() == sha256_digits;
  return fits && is_hexadecimal(text) && text.find_first_not_of('0') != std::string_view::npos;
}

std::string parse_commit_name(std::string_view word, std::string_view option) {
  if (is_commit_name(word)) return in_small_letters(word);
  throw ConfigError(fmt::format("{} {} {}.", option, shown(word), problem_of(word, option)));
}

bool may_mean(std::string_view word, std::string_view commit) {
  const std::string small = is_hexadecimal(word) ? in_small_letters(word) : std::string(word);
  if (commit.starts_with(small)) return true;
  return is_commit_name(word) && is_commit_name(commit) && small.starts_with(commit);
}

CommitNames::CommitNames(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return !is_commit_name(name); });
  for (std::string& name : names) {
    std::string small = in_small_letters(name);
    if (small != name) whole_.emplace(name, small);
    name = std::move(small);
  }
  std::ranges::sort(names);
  const auto [first, last] = std::ranges::unique(names);
  names.erase(first, last);
  // Sorted, longer names follow the name that they begin with.
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string longest = names[i];
    bool is_one = true;
    for (std::size_t j = i + 1; j < names.size() && names[j].starts_with(names[i]); ++j) {
      is_one = is_one && names[j].starts_with(longest);
      longest = names[j];
    }
    if (!is_one) {
      ambiguous_.push_back(names[i]);
    } else if (longest != names[i]) {
      whole_.emplace(names[i], longest);
    }
  }
}

std::string CommitNames::whole(const std::string& name) const {
  auto found = whole_.find(name);
  if (found == whole_.end()) return name;
  // Small letters first, then the longer name.
  const auto longer = whole_.find(found->second);
  return longer == whole_.end() ? found->second : longer->second;
}

}  // namespace dlscale::regression::history
