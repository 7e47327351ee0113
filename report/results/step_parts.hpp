#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Parts of a rank's step, for people: forward, backward and update; communication that is not
/// hidden; waiting for input and its copy; everything else.
inline constexpr std::array<std::string_view, 4> step_part_words{"compute", "exposed communication",
                                                                 "input", "other"};
using StepTimes = std::array<double, 4>;  ///< s, in that order
double step_total(const StepTimes& times);

/// A training run, rank by rank: means over its steps, since they add up and medians do not.
struct StepParts {
  std::string name;  ///< "alexnet · wait_free · batch 8 · f32 · onednn"
  std::vector<StepTimes> ranks;
};

/// Rows of "e2e" with phases, in the order of the files. Of rows of one file that differ only in
/// the repeat, the lowest one counts, whatever its number.
std::vector<StepParts> step_parts(std::span<const ResultFile> results);

/// The same as a table with one row for each rank; at most `most` rows, and a note about the rest.
Table step_table(std::span<const StepParts> runs, std::size_t most);

}  // namespace dlscale::report
