#include "tests/fuzz/input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
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
