#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Summary of bench comm. The first table has the time of the smallest message and the bandwidth of
/// the largest, one row for each collective, algorithm and setting. Others have the mutual slowdown
/// of messages and other work. Tables without a row are left out.
std::vector<Table> message_summary(std::span<const ResultFile> results);

/// All measurements of messages by collective: one table for each algorithm, one row for each size,
/// ranks and setting. Columns: time, algbw, busbw and wirebw (core/results/bandwidths.hpp).
std::map<std::string, std::vector<Table>> message_details(std::span<const ResultFile> results);

/// Whether an all-reduce as training sends it has times at two sizes: enough for a curve.
bool has_all_reduce_curve(std::span<const ResultFile> results);

}  // namespace dlscale::report
