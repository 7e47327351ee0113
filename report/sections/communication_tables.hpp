#pragma once
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Messages between ranks in training, from results of benchmark "profile". A table of all runs,
/// then one for each setting trained under several schedules, with these side by side by collective
/// and size. Tables without a row are left out. Throws ConfigError as read_profiles().
std::vector<Table> communication_summary(std::span<const ResultFile> results);

/// All known messages of each run, by collective and size.
std::vector<Table> communication_details(std::span<const ResultFile> results);

}  // namespace dlscale::report
