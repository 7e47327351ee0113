#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What a step of a rank is made of, for people: forward, backward and update; communication that
/// nothing hides; waiting for input and its copy; anything else.
inline constexpr std::array<std::string_view, 4> step_part_words{"compute", "exposed communication",
                                                                 "input", "other"};
using StepTimes = std::array<double, 4>;  ///< s, in that order
double step_total(const StepTimes& times);

/// A training run, rank by rank: means over its steps, for they add up where medians do not.
struct StepParts {
  std::string name;  ///< "alexnet · wait_free · batch 8 · f32 · onednn"
  std::vector<StepTimes> ranks;
};

/// Of each row of "e2e" with phases its first repeat, in the order of the files.
std::vector<StepParts> step_parts(std::span<const ResultFile> results);

/// The same as a table, a row a rank; at most `most` rows, and a note that tells of the others.
Table step_table(std::span<const StepParts> runs, std::size_t most);

}  // namespace dlscale::report
