#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "report/kernel_study.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// At how many layers, passes and batches each algorithm is the fastest, in a sentence.
std::string fastest_sentence(std::span<const ResultFile> results);

/// Which algorithm is fastest: a row a layer and pass, all algorithms side by side in ms; a table a
/// network, batch and whatever else they were measured under. Only rows that name an algorithm:
/// names_algorithm().
std::vector<Table> fastest_tables(std::span<const ResultFile> results, const KernelStudy& study);

/// All that was measured of a kernel: a row an algorithm, pass and batch, with speed by the
/// operations asked for and by those executed, the share of the measured roofline, workspace and
/// errors, or why it did not run.
std::vector<Table> layer_tables(std::span<const ResultFile> results, const KernelStudy& study);

}  // namespace dlscale::report
