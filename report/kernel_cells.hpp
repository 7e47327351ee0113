#pragma once
#include <vector>

#include "model/roofline/kernel_sample.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// Columns that say which kernel a row is of, and by which algorithm, for people.
std::vector<Column> kernel_columns();
std::vector<Cell> kernel_cells(const model::KernelCase& what);

/// The same for records, which tell threads and caches, too.
std::vector<Column> kernel_record_columns();
std::vector<Cell> kernel_record_cells(const model::KernelCase& what);

}  // namespace dlscale::report
