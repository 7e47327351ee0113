#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The number of layers, passes and batches at which each algorithm is the fastest, and at which
/// overlapping intervals leave this open. Also the number with only some algorithms measured, so
/// that the fastest is only of those.
std::string fastest_sentence(std::span<const ResultFile> results);

/// Each algorithm over all measured cases, with its median speed. Counts the cases at which it ran,
/// was fastest, tied with the fastest, was refused, or was not measured although others were.
Table algorithms_table(std::span<const ResultFile> results, const KernelStudy& study);

/// The largest and the typical error of each algorithm against double precision, by pass.
Table answers_table(std::span<const ResultFile> results);

}  // namespace dlscale::report
