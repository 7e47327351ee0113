#include "regression/rounds/command_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/system/process.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::regression {
namespace {

namespace fs = std::filesystem;

/// The first word of a command line; empty if it is a part of the shell's language, as in "A=1 x".
std::string first_word(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t\n;", begin), text.size());
  const std::string word = text.substr(begin, end - begin);
  const bool is_plain = std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._+-", c) != nullptr;
  });
  return is_plain && !word.starts_with('-') ? word : "";
}

/// Where the shell finds a program; empty if it does not, or if the word is one of its own.
std::string place_of_program(const std::string& word) {
  const ProgramOutput found = run_program({"/bin/sh", "-c", "command -v \"$0\"", word});
  if (found.code != 0 || !found.text.starts_with('/')) return found.code == 0 ? word : "";
  return found.text.substr(0, found.text.find('\n'));
}

/// The words of a command line, whatever quotes and operators stand around them.
std::set<std::string> words_of(std::string_view line) {
  constexpr std::string_view between = " \t\n;&|()<>`\"'=";
  std::set<std::string> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(between), line.size());
    if (end > 0) words.emplace(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// Whether a file is a program, or text that an interpreter runs.
bool is_program(const fs::path& file) {
  constexpr std::array<std::string_view, 8> scripts{".py", ".sh", ".pl",  ".rb",
                                                    ".jl", ".js", ".lua", ".R"};
  std::error_code unknown;
  const fs::file_status status = fs::status(file, unknown);
  if (unknown || !fs::is_regular_file(status)) return false;
  const bool runs = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
  return runs || std::ranges::find(scripts, file.extension().string()) != scripts.end();
}

}  // namespace

void expect_startable(const char* option, const std::string& line) {
  const std::string word = first_word(line);
  if (word.empty()) return;
  const ProgramOutput found = run_program({"/bin/sh", "-c", "command -v \"$0\"", word});
  if (found.code == 0) return;
  throw ConfigError(fmt::format(
      "the command of --{} begins with \"{}\", which is not a program here. Correct the "
      "name, or write its path.",
      option, word));
}

std::string fingerprint_of_command(const std::string& line) {
  std::set<std::string> words = words_of(line);
  if (const std::string word = first_word(line); !word.empty()) {
    words.insert(place_of_program(word));
  }
  std::string all;
  for (const std::string& word : words) {
    if (is_program(word)) all += history::sha256(content_of(word));
  }
  return all.empty() ? all : history::sha256(all);
}

}  // namespace dlscale::regression
