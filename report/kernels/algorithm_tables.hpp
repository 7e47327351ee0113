#pragma once
#include <map>
#include <optional>
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

/// The algorithm that is alone the fastest at most layers, passes and batches.
struct MostOftenFastest {
  std::string algorithm;  ///< empty if none is anywhere
  long long wins = 0;
  long long ties = 0;     ///< cases at which intervals overlap
  long long unknown = 0;  ///< cases at which one lacks
  long long cases = 0;    ///< all at which any ran
};
/// Absent if no algorithm ran.
std::optional<MostOftenFastest> most_often_fastest(std::span<const ResultFile> results);

/// Each algorithm over all measured cases, with its median speed. Counts the cases at which it ran,
/// was fastest, tied with the fastest, was refused, or was not measured although others were.
Table algorithms_table(std::span<const ResultFile> results, const KernelStudy& study);

/// The largest and the typical error of each algorithm against double precision, by pass.
Table answers_table(std::span<const ResultFile> results);

/// Tables by network or list, from rows that name an algorithm (names_algorithm()):
///
///  - "Times by algorithm: …": all side by side in ms with the fastest; one row for each layer and
///    pass, one table for each batch and other condition;
///  - then all measurements of a kernel: one row for each algorithm, pass and batch, with the
///    speed by requested and by executed operations, the share of the measured roofline,
///    workspace and errors, or why it did not run.
///
/// A kernel of several sets appears with the first of them.
std::map<std::string, std::vector<Table>> tables_by_set(std::span<const ResultFile> results,
                                                        const KernelStudy& study);

}  // namespace dlscale::report
