#include "tests/fuzz/input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

/// Longer than any input of 64 KiB may take with sanitizers.
constexpr double longest_s = 20;
constexpr std::size_t longest_sentence = 2000;

std::string fault_of(const std::string& sentence) {
  if (sentence.empty()) return "refused without a word";
  if (!is_plain_line(sentence)) {
    return "control characters in a message: " + escape_for_terminal(sentence);
  }
  if (sentence.size() > longest_sentence) {
    return fmt::format("refused by {} bytes", sentence.size());
  }
  return {};
}

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string all;
  if (text.empty()) return all;
  all.reserve(bytes + text.size());
  while (all.size() < bytes) all += text;
  return all;
}

}  // namespace

Outcome try_input(const Target& target, const fs::path& file, std::string_view text) {
  // Not written over: file systems make sure of that at once, which takes longer than all else.
  fs::remove(file);
  std::ofstream(file, std::ios::binary) << text;
  Outcome outcome;
  const std::clock_t start = std::clock();  // of the processor: other programs may be busy, too
  try {
    target.use(file);
    outcome.used = true;
  } catch (const Error& error) {
    outcome.sentence = error.what();
    outcome.fault = fault_of(outcome.sentence);
  } catch (const std::exception& error) {
    outcome.fault = error.what();
  }
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (took > longest_s && outcome.fault.empty()) {
    outcome.fault = fmt::format("{} bytes take {:.0f} s", text.size(), took);
  }
  return outcome;
}

std::vector<std::string> stretched(const std::string& text, std::size_t bytes) {
  std::vector<std::string> all{repeated(text, bytes)};
  std::set<std::string_view> seen;
  constexpr std::size_t most_lines = 20;
  for (std::size_t begin = 0; begin < text.size() && seen.size() < most_lines;) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (seen.insert(line).second) {
      all.push_back(text.substr(0, begin) + repeated(line, bytes) + text.substr(end));
    }
    begin = end;
  }
  // Brackets that nest in place of each value.
  const std::string nested = repeated("[", bytes / 2) + repeated("]", bytes / 2);
  std::size_t places = 0;
  for (std::size_t at = text.find(':'); at != text.npos && places < most_lines; ++places) {
    const std::size_t end = std::min(text.find_first_of(",}\n", at), text.size());
    all.push_back(text.substr(0, at + 1) + nested + text.substr(end));
    at = text.find(':', end);
  }
  for (const std::string_view part : {"[", "{\"a\":", "- ", "(", "\t", "1", "\"", "a: &a *a\n"}) {
    all.push_back(repeated(part, bytes));
    const std::size_t middle = text.find_first_of(":,", text.size() / 2);
    if (middle != std::string::npos) {
      all.push_back(text.substr(0, middle + 1) + repeated(part, bytes) + text.substr(middle + 1));
    }
  }
  return all;
}

std::vector<std::string> kept_inputs(const Target& target) {
  std::vector<std::string> texts;
  const fs::path folder = fs::path(DLSCALE_SOURCE_DIR) / "tests/fuzz/corpus" / target.name;
  if (!fs::is_directory(folder)) return texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(texts);
  return texts;
}

fs::path make_folder() {
  const fs::path memory = "/dev/shm";
  const bool has_memory = ::access(memory.c_str(), W_OK) == 0;
  const fs::path place = has_memory ? memory : fs::temp_directory_path();
  std::string pattern = (place / "dlscale_fuzz_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return pattern;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace dlscale::fuzz
