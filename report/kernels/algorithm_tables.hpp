#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

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
