#pragma once
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What ranks sent each other in training, of results of benchmark "profile": a table of all runs,
/// then one for each setting that was trained under several schedules, which has them side by side
/// by collective and size. Tables without a row are left out. Throws ConfigError as
/// read_profiles().
std::vector<Table> communication_summary(std::span<const ResultFile> results);

/// Of each run all that is known of its messages, by collective and size.
std::vector<Table> communication_details(std::span<const ResultFile> results);

}  // namespace dlscale::report
