// Cases of the memory of trainings.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/system/input_file.hpp"
#include "model/published/memory/memory_case.hpp"
#include "model/published/memory/predict.hpp"
#include "report/score/memory_score.hpp"
#include "tests/fuzz/row_counts.hpp"
#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {

namespace memory = model::memory;

/// One training of each set.
std::vector<std::string> memory_seeds() {
  std::ifstream file(DLSCALE_SOURCE_DIR "/tests/data/memory_misc.jsonl");
  std::vector<std::string> seeds;
  for (std::string line; std::getline(file, line);) {
    const bool is_new = seeds.empty() || line.find("torchtitan/405b") != std::string::npos;
    if (is_new && seeds.size() < 2) seeds.push_back(line + "\n");
  }
  return seeds;
}

void use_memory_cases(const std::filesystem::path& file) {
  const memory::MemoryCaseFile read = memory::read_memory_cases(file);
  expect_all_read("cases", rows_in(read_input(file, "")), read.cases.size());
  const auto predictions = memory::predict(read.cases);
  for (const memory::MemoryPrediction& each : predictions) {
    for (const double bytes : {each.peak.low, each.peak.bytes, each.peak.high, each.state_bytes}) {
      if (!std::isfinite(bytes) || bytes < 0) {
        throw std::logic_error(fmt::format("memory of {} bytes", bytes));
      }
    }
    if (each.peak.low > each.peak.bytes || each.peak.bytes > each.peak.high) {
      throw std::logic_error("a peak outside its interval");
    }
  }
  (void)memory::prediction_lines(predictions);
  const report::MemoryScoreReport said = report::memory_score_report(read, "set");
  // Writes refuse what is not finite.
  if (report::memory_score_document(said, {}).json().empty()) {
    throw std::logic_error("an empty score");
  }
}

}  // namespace dlscale::fuzz
