#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/results/measurement.hpp"
#include "core/system/input_file.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/machine/machine.hpp"
#include "report/comparison/compare.hpp"
#include "report/results/result_table.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

/// The header of a result file, its first measurements and a line that counts them.
std::string beginning_of(const fs::path& path, std::size_t measurements) {
  std::istringstream stream(read_input(path, "Get it again from the repository."));
  std::string text;
  std::string line;
  for (std::size_t i = 0; i <= measurements; ++i) {
    if (!std::getline(stream, line)) {
      throw std::logic_error(
          fmt::format("{} is not a result file of so many lines", path.string()));
    }
    text += line + '\n';
  }
  return text + fmt::format("{{\"end\":{{\"measurements\":{}}}}}\n", measurements);
}

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

std::vector<std::string> result_seeds() {
  const fs::path results = fs::path(DLSCALE_SOURCE_DIR) / "results/epyc-2vcpu";
  constexpr std::array<std::pair<std::string_view, std::size_t>, 6> beginnings{
      {{"2026-11-20-9b75409/overhead/alexnet.jsonl.gz", 1},
       {"2026-11-20-6538966/validation/e2e/alexnet-1-wait_free-1.jsonl.gz", 1},
       {"2026-11-22-conv/peak.jsonl.gz", 2},
       {"2026-11-22-conv/memory.jsonl.gz", 2},
       {"2026-11-20-6538966/validation/parts/update-1.jsonl.gz", 4},
       {"2026-11-22-hosts-train/10g/parts/comm-beside-64.jsonl.gz", 2}}};
  std::vector<std::string> texts;
  for (const auto& [path, measurements] : beginnings) {
    texts.push_back(beginning_of(results / path, measurements));
  }
  return texts;
}

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
