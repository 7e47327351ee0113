#pragma once
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Capabilities of a processor, from results of bench latency, peak and memory. Covers cache levels
/// with sizes, latencies and repeatability; measured and reported cache lines; and the reach of
/// pages. Also covers multiply-adds per second by instruction set and precision, arithmetic by
/// intensity, and bandwidth by array size. Tables without a row are left out.
std::vector<Table> processor_tables(std::span<const ResultFile> results);

}  // namespace dlscale::report
