#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// By network or list, of rows that name an algorithm (names_algorithm()):
///
///  - "Times by algorithm: …": all side by side in ms, and which is fastest; a row a layer and pass,
///    a table a batch and whatever else they were measured under;
///  - after them, all that was measured of a kernel: a row an algorithm, pass and batch, with speed
///    by the operations asked for and by those executed, the share of the measured roofline,
///    workspace and errors, or why it did not run. A kernel that several sets have stands with the
///    first of them.
std::map<std::string, std::vector<Table>> tables_by_set(std::span<const ResultFile> results,
                                                        const KernelStudy& study);

}  // namespace dlscale::report
