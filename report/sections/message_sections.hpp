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

/// Messages between ranks in training, from results of benchmark "profile". A table of all runs,
/// then one for each setting trained under several schedules, with these side by side by collective
/// and size. Tables without a row are left out. Throws ConfigError as read_profiles().
std::vector<Table> communication_summary(std::span<const ResultFile> results);

/// All known messages of each run, by collective and size.
std::vector<Table> communication_details(std::span<const ResultFile> results);

}  // namespace dlscale::report
