// Case and prediction files that were damaged at random: each is read or refused, and whatever is
// read can be predicted and scored in finite numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "model/published/baselines/baselines.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"
#include "report/score/score_report.hpp"
#include "tests/core/case_lines.hpp"
#include "tests/core/mutator.hpp"
#include "tests/core/support.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

using test::Mutator;
using test::TemporaryFolder;

void expect_finite(const Score& score) {
  for (const double number :
       {score.mean, score.median, score.bias, score.p90, score.max, score.coverage,
        score.width.value_or(0), score.rank_correlation.value_or(0)}) {
    EXPECT_TRUE(std::isfinite(number)) << number;
  }
}

std::vector<NamedPredictions> all_baselines(const cases::CaseFile& file) {
  std::vector<NamedPredictions> all;
  for (const auto& baseline : model::training_baselines()) {
    all.push_back({std::string(baseline.name), "", model::predict(baseline, file.trainings)});
  }
  for (const auto& baseline : model::curve_baselines()) {
    all.push_back({std::string(baseline.name), "", model::predict(baseline, file.curves)});
  }
  return all;
}

/// Whether there was anything to score.
bool predict_and_score(const cases::CaseFile& file) {
  const bool is_measured = std::ranges::any_of(
      file.outcomes, [](const auto& outcome) { return outcome.measured.has_value(); });
  if (!is_measured) return false;
  const std::vector<NamedPredictions> all = all_baselines(file);
  const ScoreReport report = score_report(file, all.front(), all, {.by = "id", .quality = ""});
  expect_finite(report.predictions.score.overall);
  for (const ScoredPredictions& baseline : report.baselines) {
    expect_finite(baseline.score.overall);
  }
  // Writes refuse what is not finite.
  EXPECT_FALSE(score_document(report, {}).json().empty());
  return true;
}

/// What became of the texts.
struct Tally {
  int read = 0;
  int refused = 0;
};

/// Reads so many damaged copies of a text by `read`; what it throws but ConfigError fails the test.
template <class Read>
Tally read_mutated(std::string_view text, int count, Read read) {
  const TemporaryFolder folder;
  Mutator mutated(20261122);
  Tally tally;
  for (int i = 0; i < count; ++i) {
    // Not written over: file systems make sure of that at once, which takes longer than all else.
    std::filesystem::remove(folder.path() / "mutated.jsonl");
    const auto path = folder.write("mutated.jsonl", mutated(std::string(text)));
    try {
      read(path);
      ++tally.read;
    } catch (const ConfigError& error) {
      ++tally.refused;
      const std::string message = error.what();
      EXPECT_TRUE(contains(message, "mutated.jsonl")) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
  EXPECT_GT(tally.read, count / 50);
  EXPECT_GT(tally.refused, count / 50);
  return tally;
}

TEST(MutatedCases, AreReadOrRefusedAndScoredInFiniteNumbers) {
  int scored = 0;
  for (const std::string_view line : {test::training_line, test::curve_line}) {
    const Tally tally = read_mutated(line, 4000, [&](const std::filesystem::path& path) {
      if (predict_and_score(cases::read_cases(path))) ++scored;
    });
    EXPECT_EQ(tally.read + tally.refused, 4000);
  }
  EXPECT_GT(scored, 100);
}

TEST(MutatedPredictions, AreReadOrRefusedAndWrittenAgainAsTheyWere) {
  const std::string text =
      R"({"id":"made/a-8gpu","samples_per_s":900.5,"low":800,"high":1000,"status":"ok",)"
      R"("terms":[{"name":"forward","time_s":0.1,"basis":"measured"}]})"
      "\n"
      R"({"id":"rings/a-r4","time_s":[0.00002,0.001],"low":[0.00001,0.0005],"high":[0.1,0.2]})"
      "\n"
      R"({"id":"made/b","status":"not_covered","reason":"fsdp"})"
      "\n";
  const TemporaryFolder folder;
  const cases::CaseFile file = cases::read_cases(folder.write("c.jsonl", test::training_line));
  read_mutated(text, 3000, [&](const std::filesystem::path& path) {
    const std::vector<cases::CasePrediction> read = cases::read_predictions(path);
    std::filesystem::remove(folder.path() / "again.jsonl");
    const auto again = folder.write("again.jsonl", cases::prediction_lines(read));
    EXPECT_EQ(cases::read_predictions(again), read);
    expect_finite(score_report(file, {"own", "", read}, {}, {}).predictions.score.overall);
  });
}

}  // namespace
}  // namespace dlscale::report
