#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What bench comm measured, in short: how long the smallest message takes and how much the largest
/// moves, a row a collective, algorithm and setting; what messages and other work cost each other;
/// replays of trainings beside what was recorded. Tables without a row are left out.
std::vector<Table> message_summary(std::span<const ResultFile> results);

/// By collective, all that was measured of it by itself: a table an algorithm, a row a size, ranks
/// and setting, with its time, algbw, busbw and wirebw (core/results/bandwidths.hpp); and by "replay" the
/// messages of replays, a table a replay.
std::map<std::string, std::vector<Table>> message_details(std::span<const ResultFile> results);

/// Whether two sizes of an all-reduce as training sends it have times: enough for a curve.
bool has_all_reduce_curve(std::span<const ResultFile> results);

}  // namespace dlscale::report
