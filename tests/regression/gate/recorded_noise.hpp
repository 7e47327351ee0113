#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlscale::regression {

/// The recording "aa_noisy_shared_cpu": 2,364 rounds on a shared virtual machine with two
/// processors, in each of which 11 fresh processes ran in random order; arms A and A2 are the same
/// program, B1 … B10 do 1 … 10 % more work. repetitions[kernel + ":" + arm][round] are 15 times
/// (µs).
struct RecordedNoise {
  std::map<std::string, std::vector<std::vector<double>>> repetitions;
  /// One number a run, of the arm "gemm:A2".
  [[nodiscard]] std::vector<double> minima(const std::string& arm) const;
  [[nodiscard]] std::vector<double> medians(const std::string& arm) const;
};

/// Absent where the shared data are not there.
std::optional<RecordedNoise> read_recorded_noise();

/// A history of Firefox's Talos with the first points of its labelled new levels.
struct LabelledHistory {
  std::string name;
  std::vector<double> values;
  std::vector<double> times;
  std::vector<std::size_t> labels;
};
std::vector<LabelledHistory> read_talos();  ///< empty where the shared data are not there

}  // namespace dlscale::regression
