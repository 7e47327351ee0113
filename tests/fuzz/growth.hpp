#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {

/// A file that repeats a part of itself: a line, a word of one, a key, an element, a bracket.
struct Growth {
  std::string name;  ///< "line 3, numbered"
  std::string before;
  std::string part;
  std::string separator;
  std::string after;
  bool is_numbered = false;  ///< the first digits of each repetition are its number

  /// The file with as many repetitions as `bytes` hold.
  [[nodiscard]] std::string text(std::size_t bytes) const;
};

/// Ways in which a file may be large.
std::vector<Growth> growths_of(const std::string& text);

/// The fault of a growth of the target: one as of any input, or work that grows faster than the
/// size. That is, four times the size takes more than eight times the processor time,
/// where quadratic work takes sixteen times. Busy machines disturb no verdict: it needs the ratio
/// of the shortest of several repetitions. Times below 10 ms are not judged. Empty: nothing.
std::string growth_fault(const Target& target, const std::filesystem::path& file,
                         const Growth& growth, std::size_t bytes);

/// The faults of all growths of the target's first seeds.
std::vector<std::string> growth_faults(const Target& target, const std::filesystem::path& file,
                                       std::size_t bytes);

}  // namespace dlscale::fuzz
