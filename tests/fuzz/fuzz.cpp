// dlscale_fuzz [--inputs N] [--seconds S] [--seed S] [--growth BYTES] [TARGET…]: damages files that
// users write, at random and the same for every seed, and does with each what the program would.
// After S seconds in all, of which each target has an equal share, it draws no more. Every one must
// be used, or refused by one sentence; none may crash, hang, or lead to a time that is negative or
// not finite. What fails is kept, and its path is printed. With --growth, it repeats parts of
// undamaged files up to so many bytes instead: the work must not grow faster than their size.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/mutator.hpp"
#include "tests/fuzz/growth.hpp"
#include "tests/fuzz/input.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::size_t inputs = 1000;  ///< of each target
  double seconds = 1e9;       ///< of all targets
  std::uint32_t seed = 20261123;
  std::size_t growth = 0;                    ///< 0: damage files
  std::vector<std::string_view> names = {};  ///< empty: all
};

struct Tally {
  std::size_t used = 0;
  std::size_t refused = 0;
  std::size_t failed = 0;
};

class Fuzzer {
 public:
  Fuzzer(const Target& target, const fs::path& folder, std::uint32_t seed)
      : target_(target),
        file_(folder / fmt::format("damaged_{}{}", target.name, target.extension)),
        mutated_(seed),
        seeds_(target.seeds()) {}

  Tally run(std::size_t inputs, Clock::time_point end) {
    for (const std::string& seed : seeds_) try_one(seed, true);
    for (const std::string& kept : kept_inputs(target_)) try_one(kept, false);
    for (std::size_t i = 0; i < inputs / target_.one_in && Clock::now() < end; ++i) {
      try_one(mutated_(seeds_[i % seeds_.size()]), false);
    }
    return tally_;
  }

 private:
  void try_one(const std::string& text, bool must_be_used) {
    Outcome outcome = try_input(target_, file_, text);
    if (must_be_used && !outcome.used && outcome.fault.empty()) {
      outcome.fault = "an undamaged file is refused: " + outcome.sentence;
    }
    ++(outcome.used ? tally_.used : tally_.refused);
    if (!outcome.fault.empty()) fail(outcome.fault);
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
    } else if (words[i] == "--seconds") {
      options.seconds = number_after<double>(words, i++);
    } else if (words[i] == "--seed") {
      options.seed = number_after<std::uint32_t>(words, i++);
    } else if (words[i] == "--growth") {
      options.growth = number_after<std::size_t>(words, i++);
    } else {
      if (find_target(words[i]) == nullptr) {
        throw std::invalid_argument(fmt::format("{} is not a target", words[i]));
      }
      options.names.push_back(words[i]);
    }
  }
  return options;
}

std::vector<const Target*> asked_for(const Options& options) {
  std::vector<const Target*> asked;
  for (const Target& target : targets()) {
    const bool is_asked = options.names.empty() ||
                          std::ranges::find(options.names, target.name) != options.names.end();
    if (is_asked) asked.push_back(&target);
  }
  return asked;
}

/// Compares each fourth byte with all others.
void use_in_quadratic_time(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  constexpr std::size_t step = 4;
  volatile std::size_t equal = 0;
  for (std::size_t i = 0; i < text.size(); i += step) {
    for (std::size_t j = 0; j < text.size(); j += step)
      equal = equal + (text[i] == text[j] ? 1 : 0);
  }
}

/// Prints what is wrong with a target's growths, and returns their number.
std::size_t report_growths(const Target& target, const fs::path& folder, std::size_t bytes) {
  const auto start = Clock::now();
  const fs::path file = folder / fmt::format("grown{}", target.extension);
  const std::vector<std::string> faults = growth_faults(target, file, bytes);
  for (const std::string& fault : faults) fmt::print(stderr, "{}: {}\n", target.name, fault);
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("{:12} {:6} failed  {:.1f} s\n", target.name, faults.size(), took);
  std::fflush(stdout);
  return faults.size();
}

/// How many growths failed.
std::size_t grow(const Options& options) {
  const fs::path folder = make_folder();
  const Target quadratic{"quadratic", ".txt", [] { return std::vector<std::string>{"a b\n"}; },
                         use_in_quadratic_time};
  std::size_t failed = 0;
  const Growth whole = growths_of(quadratic.seeds().front()).front();
  if (growth_fault(quadratic, folder / "grown.txt", whole, options.growth).empty()) {
    fmt::print(stderr, "quadratic work is not seen; try more bytes\n");
    ++failed;
  }
  for (const Target* target : asked_for(options)) {
    failed += report_growths(*target, folder, options.growth);
  }
  fs::remove_all(folder);
  return failed;
}

/// How many inputs failed.
std::size_t fuzz(const Options& options) {
  if (options.growth > 0) return grow(options);
  const fs::path folder = make_folder();
  std::size_t failed = 0;
  const std::vector<const Target*> asked = asked_for(options);
  double left = options.seconds;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Target& target = *asked[i];
    const auto start = Clock::now();
    const std::chrono::duration<double> share(left / static_cast<double>(asked.size() - i));
    const auto end = start + std::chrono::duration_cast<Clock::duration>(share);
    const Tally tally = Fuzzer(target, folder, options.seed).run(options.inputs, end);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    fmt::print("{:12} {:8} used {:8} refused {:6} failed  {:.1f} s\n", target.name, tally.used,
               tally.refused, tally.failed, took);
    std::fflush(stdout);
    failed += tally.failed;
    left = std::max(0.0, left - took);
    // A mutator that damages nothing, or everything, tests nothing.
    const std::size_t tried = tally.used + tally.refused;
    if (tried >= 60 && (tally.used == 0 || tally.refused < tried / 50)) {
      fmt::print(stderr, "{}: too few are {}\n", target.name, tally.used == 0 ? "used" : "refused");
      ++failed;
    }
  }
  if (failed == 0) fs::remove_all(folder);
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
