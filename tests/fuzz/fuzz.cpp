// dlscale_fuzz [--inputs N] [--seed S] [TARGET…]: damages files that users write, at random and the
// same for every seed, and does with each what the program would. Every one must be used, or
// refused by one sentence; none may crash, hang, or lead to a time that is negative
// or not finite. What fails is kept, and its path is printed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "tests/core/mutator.hpp"
#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Longer than any input may take, even on a busy machine and with sanitizers.
constexpr double longest_s = 20;

struct Options {
  std::size_t inputs = 1000;  ///< of each target
  std::uint32_t seed = 20261123;
  std::vector<std::string_view> names = {};  ///< empty: all
};

struct Tally {
  std::size_t used = 0;
  std::size_t refused = 0;
  std::size_t failed = 0;
};

/// Why it is wrong that an input was refused so; empty if it is not.
std::string fault_of(const std::string& sentence) {
  if (sentence.empty()) return "refused without a word";
  if (sentence.find('\n') != std::string::npos) return "more than one line: " + sentence;
  if (sentence.size() > 2000) return fmt::format("refused by {} bytes", sentence.size());
  return {};
}

class Fuzzer {
 public:
  Fuzzer(const Target& target, const fs::path& folder, std::uint32_t seed)
      : target_(target),
        file_(folder / fmt::format("damaged_{}{}", target.name, target.extension)),
        mutated_(seed),
        seeds_(target.seeds()) {}

  Tally run(std::size_t inputs) {
    for (const std::string& seed : seeds_) try_one(seed, true);
    for (std::size_t i = 0; i < inputs / target_.one_in; ++i) {
      try_one(mutated_(seeds_[i % seeds_.size()]), false);
    }
    return tally_;
  }

 private:
  void try_one(const std::string& text, bool must_be_used) {
    // Not written over: file systems make sure of that at once, which takes longer than all else.
    fs::remove(file_);
    std::ofstream(file_, std::ios::binary) << text;
    const std::clock_t start = std::clock();  // of the processor: other programs may be busy, too
    try {
      target_.use(file_);
      ++tally_.used;
    } catch (const ConfigError& error) {
      ++tally_.refused;
      std::string fault = fault_of(error.what());
      if (must_be_used) fault = fmt::format("an undamaged file is refused: {}", error.what());
      if (!fault.empty()) fail(fault);
    } catch (const std::exception& error) {
      fail(error.what());
    }
    if (static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC > longest_s) {
      fail("it takes too long");
    }
  }

  void fail(std::string_view why) {
    ++tally_.failed;
    fs::path kept = file_;
    kept.replace_filename(
        fmt::format("failed_{}_{}{}", target_.name, tally_.failed, target_.extension));
    if (tally_.failed <= 20) {
      fs::copy_file(file_, kept, fs::copy_options::overwrite_existing);
      fmt::print(stderr, "{}: {}\n", kept.string(), why);
    }
  }

  const Target& target_;
  fs::path file_;
  test::Mutator mutated_;
  std::vector<std::string> seeds_;
  Tally tally_;
};

template <class Number>
Number number_after(std::span<const std::string_view> words, std::size_t at) {
  Number value{};
  if (at + 1 >= words.size()) throw std::invalid_argument("a number is missing");
  const std::string_view word = words[at + 1];
  const auto end = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end.ec != std::errc() || end.ptr != word.data() + word.size()) {
    throw std::invalid_argument(fmt::format("{} is not a number", word));
  }
  return value;
}

Options parse(std::span<const std::string_view> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--inputs") {
      options.inputs = number_after<std::size_t>(words, i++);
    } else if (words[i] == "--seed") {
      options.seed = number_after<std::uint32_t>(words, i++);
    } else {
      const auto is_it = [&](const Target& target) { return target.name == words[i]; };
      if (std::ranges::none_of(targets(), is_it)) {
        throw std::invalid_argument(fmt::format("{} is not a target", words[i]));
      }
      options.names.push_back(words[i]);
    }
  }
  return options;
}

/// How many inputs failed.
std::size_t fuzz(const Options& options) {
  std::string pattern = (fs::temp_directory_path() / "dlscale_fuzz_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  std::size_t failed = 0;
  for (const Target& target : targets()) {
    const bool asked = options.names.empty() ||
                       std::ranges::find(options.names, target.name) != options.names.end();
    if (!asked) continue;
    const auto start = Clock::now();
    const Tally tally = Fuzzer(target, pattern, options.seed).run(options.inputs);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    fmt::print("{:12} {:8} used {:8} refused {:6} failed  {:.1f} s\n", target.name, tally.used,
               tally.refused, tally.failed, took);
    std::fflush(stdout);
    failed += tally.failed;
    // A mutator that damages nothing, or everything, tests nothing.
    const std::size_t tried = tally.used + tally.refused + tally.failed;
    if (tried >= 60 && (tally.used == 0 || tally.refused < tried / 50)) {
      fmt::print(stderr, "{}: too few are {}\n", target.name, tally.used == 0 ? "used" : "refused");
      ++failed;
    }
  }
  if (failed == 0) fs::remove_all(pattern);
  return failed;
}

}  // namespace
}  // namespace dlscale::fuzz

int main(int count, char** words) {
  try {
    const std::vector<std::string_view> all(words + 1, words + count);
    return dlscale::fuzz::fuzz(dlscale::fuzz::parse(all)) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "dlscale_fuzz: {}.\n", error.what());
    return 2;
  }
}
