// The entry of libFuzzer, which `scripts/fuzz` builds and runs:
//   dlscale_fuzz --targets                 prints the names of all targets
//   dlscale_fuzz --target=NAME --seeds=FOLDER
//                                          writes the seeds of a target and, as FOLDER.dict, the
//                                          words in them, and stops
//   dlscale_fuzz --target=NAME --growth=BYTES
//                                          repeats parts of the seeds up to so many bytes, prints
//                                          what takes more work than its size, and stops
//   dlscale_fuzz --target=NAME [option of libFuzzer]… [FOLDER of inputs]…
#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/growth.hpp"
#include "tests/fuzz/input.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

const Target* chosen = nullptr;
fs::path file;

void print_names() {
  for (const Target& target : targets()) fmt::print("{}\n", target.name);
}

/// Words that begin with a letter or a mark, as a dictionary of libFuzzer.
std::set<std::string> words_of(std::string_view text) {
  constexpr std::size_t least = 3;
  constexpr std::size_t most = 32;
  std::set<std::string> words;
  const auto is_inside = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-:#/.").find(letter) != std::string_view::npos;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_inside(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    const bool is_number =
        std::isdigit(static_cast<unsigned char>(word.empty() ? '0' : word.front())) != 0;
    if (!is_number && word.size() >= least && word.size() <= most) words.emplace(word);
  }
  return words;
}

void write_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<std::string> texts = chosen->seeds();
  for (std::string& text : kept_inputs(*chosen)) texts.push_back(std::move(text));
  std::set<std::string> words;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ofstream(folder / fmt::format("seed_{:03}", i), std::ios::binary) << texts[i];
    words.merge(words_of(texts[i]));
  }
  std::ofstream dictionary(folder.string() + ".dict");
  for (const std::string& word : words) dictionary << '"' << word << "\"\n";
}

/// Exit code of a run that only looks at growths.
int look_at_growths(std::size_t bytes) {
  const std::vector<std::string> faults = growth_faults(*chosen, file, bytes);
  for (const std::string& fault : faults) fmt::print(stderr, "{}: {}\n", chosen->name, fault);
  return faults.empty() ? 0 : 1;
}

void start(int count, char** words) {
  std::string seeds;
  std::size_t bytes = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    constexpr std::string_view target = "--target=";
    constexpr std::string_view folder = "--seeds=";
    constexpr std::string_view growth = "--growth=";
    if (word == "--targets") {
      print_names();
      std::exit(0);
    }
    if (word.starts_with(target)) chosen = find_target(word.substr(target.size()));
    if (word.starts_with(folder)) seeds = word.substr(folder.size());
    if (word.starts_with(growth)) bytes = std::strtoull(word.data() + growth.size(), nullptr, 10);
  }
  if (chosen == nullptr) {
    fmt::print(stderr, "dlscale_fuzz: name one of the targets (--targets) with --target=NAME.\n");
    std::exit(2);
  }
  if (!seeds.empty()) {
    write_seeds(seeds);
    std::exit(0);
  }
  file = make_folder() / fmt::format("input{}", chosen->extension);
  std::atexit([] { fs::remove_all(file.parent_path()); });
  if (bytes > 0) std::exit(look_at_growths(bytes));
}

}  // namespace
}  // namespace dlscale::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  dlscale::fuzz::start(*count, *words);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dlscale::fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Outcome outcome = try_input(*chosen, file, text);
  if (outcome.fault.empty()) return 0;
  fmt::print(stderr, "{}: {}\n", chosen->name, outcome.fault);
  std::abort();
}
