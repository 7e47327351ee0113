#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// What is to be said about measurements (why one is not ok, its warnings), each text once with the
/// number of cells it is about, the most frequent first. Beyond `most` lines the rest is counted.
std::vector<std::string> remarks(std::span<const Measurement> measurements, std::size_t most);

}  // namespace dlscale::report
