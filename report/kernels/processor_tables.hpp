#pragma once
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What a processor can do, of results of bench latency, peak and memory: levels of its caches with
/// their sizes and latencies, and how well these repeat; their lines beside what the system says of
/// them; how far pages reach; multiply-adds a second by instruction set and precision, and
/// arithmetic by its intensity; bandwidth by the size of arrays. Tables without a row are left out.
std::vector<Table> processor_tables(std::span<const ResultFile> results);

/// Of levels that were measured more than once how far the runs are from each other, and their
/// sizes from what the system says.
Table repeated_levels(std::span<const ResultFile> results);

/// Whether those tables or the figure of latencies tell of a measurement of that kind.
bool is_of_processor(const Measurement& measurement);

}  // namespace dlscale::report
