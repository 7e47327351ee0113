#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "regression/history/run.hpp"

namespace dlscale::regression::history::logs {

/// Reads a text as a file of another program's results.
ImportedRun read_log(std::string_view text, RunOptions options = {});
/// The error of reading it; empty if it is read.
std::string log_refusal(std::string_view text, const RunOptions& options = {});

/// The text with the first `old` replaced.
std::string replaced(std::string_view text, std::string_view old, std::string_view by);
/// Each line with a change.
std::string each_line(std::string_view text,
                      const std::function<std::string(std::string_view)>& change);

/// The first point of a metric that has these axes.
const KeyedPoint* point_of(const ImportedRun& run, std::string_view metric, const Facts& axes);
std::string all_notes(const ImportedRun& run);

/// Text of nccl-tests: two rows with 12 points, of which three have wrong results.
extern const std::string_view nccl;
/// The same, with right results.
std::string right_nccl();

}  // namespace dlscale::regression::history::logs
