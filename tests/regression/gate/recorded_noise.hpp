#pragma once
#include <map>
#include <string>
#include <vector>

namespace dlscale::regression {

/// The recording "aa_noisy_shared_cpu": 2,364 rounds on a shared virtual machine with two
/// processors, in each of which 11 fresh processes ran in random order; arms A and A2 are the same
/// program, B1 … B10 do 1 … 10 % more work. Holds the least of the 15 times of each run (µs), by
/// kernel + ":" + arm. Empty where the shared data are not there.
using RecordedNoise = std::map<std::string, std::vector<double>>;
RecordedNoise read_recorded_noise();

/// A history of Firefox's Talos with the first points of its labelled new levels.
struct LabelledHistory {
  std::string name;
  std::vector<double> values;
  std::vector<std::size_t> labels;
};
std::vector<LabelledHistory> read_talos();  ///< empty where the shared data are not there

}  // namespace dlscale::regression
