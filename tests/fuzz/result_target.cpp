#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/results/measurement.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/machine/machine.hpp"
#include "report/comparison/compare.hpp"
#include "report/results/result_table.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

void expect_ratio(const report::Comparison& row) {
  const bool ordered = row.ratio_low <= row.ratio && row.ratio <= row.ratio_high;
  if (row.a > 0 && row.b > 0 && ordered) return;
  throw std::logic_error(fmt::format("{}: {} s against {} s is {} ({} to {})", row.key, row.a,
                                     row.b, row.ratio, row.ratio_low, row.ratio_high));
}

/// With itself: nothing has changed. No time at all is an Error of its own.
void expect_comparable(std::span<const ResultFile> results) {
  try {
    const report::ComparisonReport said = report::compare(results, results, 0.02);
    for (const report::Comparison& row : said.rows) expect_ratio(row);
    if (said.verdict == regression::Verdict::regressed) {
      throw std::logic_error("results are slower than themselves");
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::nothing_measured) throw;
  }
}

/// Whether machines are fitted to them: others are only shown and compared, or judge predictions.
bool is_fitted(const ResultFile& file) {
  constexpr std::array<std::string_view, 5> fitted{"conv", "update", "memory", "io", "comm"};
  return std::ranges::find(fitted, file.header.benchmark) != fitted.end();
}

}  // namespace

void use_results(const fs::path& file) {
  static const Cluster cluster = load_cluster("p40x16");
  const std::array results{read_results(file)};
  for (const Measurement& measurement : results.front().measurements) (void)measurement.key();
  (void)report::results_json(results)();
  (void)report::result_records(results);
  expect_comparable(results);
  if (is_fitted(results.front())) (void)model::machine_json(model::calibrate(cluster, results));
}

}  // namespace dlscale::fuzz
