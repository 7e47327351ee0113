#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Remarks about measurements (reasons for a status, warnings), each text once with its number of
/// cells, most frequent first. Beyond `most` lines only counts the rest.
std::vector<std::string> remarks(std::span<const Measurement> measurements, std::size_t most);

}  // namespace dlscale::report
