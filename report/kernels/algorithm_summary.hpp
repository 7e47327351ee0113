#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// At how many layers, passes and batches each algorithm is the fastest, and at how many none is
/// known to be, since intervals overlap; and at how many not all algorithms were measured, so that
/// the fastest is that of some.
std::string fastest_sentence(std::span<const ResultFile> results);

/// Each algorithm over all measured cases: at how many it ran, was the fastest, tied with it or
/// was refused or was not measured though others were, and its speed in the median.
Table algorithms_table(std::span<const ResultFile> results, const KernelStudy& study);

/// The largest and the typical error of each algorithm against double precision, by pass.
Table answers_table(std::span<const ResultFile> results);

/// What choosing among all algorithms gains over staying with one backend: a row for whatever was
/// measured together. Without rows where there is one backend only.
Table backends_table(std::span<const ResultFile> results);

/// The fastest algorithm of each layer and its lead, a column a pass; a table a network, batch and
/// whatever else they were measured under.
std::vector<Table> fastest_tables(std::span<const ResultFile> results);

}  // namespace dlscale::report
