#include "report/score/score_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/published/cases/case_file.hpp"
#include "tests/core/case_lines.hpp"
#include "tests/core/support.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

using cases::CasePrediction;
using cases::CaseUnit;
using cases::PredictedValue;
using test::config_error;
using test::expect_contains;
using test::replaced;
using test::TemporaryFolder;

JudgedCase one(const std::string& group, JudgedItem item) {
  JudgedCase judged;
  judged.id = group + "/x";
  judged.group = group;
  judged.items = {item};
  return judged;
}

/// Of 100 measured each, with errors in per cent.
std::vector<JudgedCase> with_errors(const std::string& group, const std::vector<double>& errors) {
  std::vector<JudgedCase> judged;
  judged.reserve(errors.size());
  for (const double error : errors) judged.push_back(one(group, {100, 100 + error, {}, {}, {}}));
  return judged;
}

TEST(Score, SummarisesErrors) {
  const auto judged = with_errors("a", {-10, 1, 2, 3, -4, 5, 6, 7, 8, 9});
  const Score found = score(judged).groups.at("a");
  EXPECT_EQ(found.items, 10U);
  EXPECT_EQ(found.missing, 0U);
  EXPECT_NEAR(found.mean, 0.055, 1e-12);
  EXPECT_NEAR(found.median, 0.055, 1e-12);  // the mean of 5 and 6 %
  EXPECT_NEAR(found.bias, 0.027, 1e-12);
  EXPECT_NEAR(found.p90, 0.09, 1e-12);
  EXPECT_NEAR(found.max, 0.10, 1e-12);
  EXPECT_EQ(found.coverage, 0);
  EXPECT_FALSE(found.width);
  EXPECT_FALSE(found.rank_correlation);  // all measured are equal
  EXPECT_NEAR(score(with_errors("a", {1, 30, -2})).groups.at("a").median, 0.02, 1e-12);
}

TEST(Score, AMissingPredictionIsOffByAllOfIt) {
  const std::vector<JudgedCase> judged{one("a", {100, {}, {}, {}, {}}),
                                       one("a", {100, 100, 90, 110, {}})};
  const Score found = score(judged).groups.at("a");
  EXPECT_EQ(found.missing, 1U);
  EXPECT_DOUBLE_EQ(found.mean, 0.5);
  EXPECT_DOUBLE_EQ(found.bias, -0.5);
  EXPECT_DOUBLE_EQ(found.coverage, 0.5);
  EXPECT_DOUBLE_EQ(found.width.value(), 0.2);  // of those that have one
}

TEST(Score, CoverageTakesTheEndsIn) {
  const std::vector<JudgedCase> judged{
      one("a", {100, 100, 100, 110, {}}), one("a", {100, 90, 80, 100, {}}),
      one("a", {100, 90, 80, 99, {}}), one("a", {100, 110, 101, 120, {}})};
  EXPECT_DOUBLE_EQ(score(judged).groups.at("a").coverage, 0.5);
}

TEST(Score, GroupsWeighTheSameOverall) {
  std::vector<JudgedCase> judged = with_errors("many", {10, 10, 10, 10, 10, 10, 10, 10});
  judged.push_back(one("one", {100, 150, {}, {}, {}}));
  const GroupedScore found = score(judged);
  EXPECT_NEAR(found.overall.mean, 0.3, 1e-12);
  EXPECT_NEAR(found.overall.bias, 0.3, 1e-12);
  EXPECT_NEAR(found.overall.median, 0.1, 1e-12);  // half of the weight is reached there
  EXPECT_NEAR(found.overall.p90, 0.5, 1e-12);
  EXPECT_EQ(found.overall.items, 9U);
}

TEST(Score, RankCorrelationSharesRanksOfEqualValues) {
  const auto correlation = [](const std::vector<double>& measured,
                              const std::vector<double>& predicted) {
    std::vector<JudgedCase> judged;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      judged.push_back(one("a", {measured[i], predicted[i], {}, {}, {}}));
    }
    return score(judged).groups.at("a").rank_correlation;
  };
  EXPECT_DOUBLE_EQ(correlation({1, 2, 3}, {10, 20, 3000}).value(), 1);
  EXPECT_DOUBLE_EQ(correlation({1, 2, 3}, {3, 2, 1}).value(), -1);
  // Ranks 1, 2, 3 and 1.5, 1.5, 3: 1.5 / sqrt(2 · 1.5).
  EXPECT_DOUBLE_EQ(correlation({1, 2, 3}, {5, 5, 7}).value(), 1.5 / std::sqrt(3.0));
  EXPECT_FALSE(correlation({1, 2}, {1, 2}));
  EXPECT_FALSE(correlation({1, 2, 3}, {4, 4, 4}));
}

TEST(Score, TheOverallRankCorrelationIsTheMeanOfTheGroups) {
  std::vector<JudgedCase> judged;
  for (const double value : {1.0, 2.0, 3.0}) {
    judged.push_back(one("up", {value, value, {}, {}, {}}));
    judged.push_back(one("down", {value, 4 - value, {}, {}, {}}));
  }
  judged.push_back(one("few", {1, 1, {}, {}, {}}));
  EXPECT_NEAR(score(judged).overall.rank_correlation.value(), 0, 1e-12);
}

cases::CaseFile file_of(std::string_view text) {
  const TemporaryFolder folder;
  return cases::read_cases(folder.write("cases.jsonl", text));
}

CasePrediction predicted(const std::string& id, CaseUnit unit, const PredictedValue& value) {
  CasePrediction prediction;
  prediction.id = id;
  prediction.unit = unit;
  prediction.values = {value};
  return prediction;
}

TEST(JudgedItems, AreInTheUnitOfWhatWasMeasured) {
  const cases::CaseFile file = file_of(test::training_line);
  const cases::Measured& measured = *file.outcomes.at(0).measured;
  const auto item = [&](CaseUnit unit, const PredictedValue& value) {
    const CasePrediction prediction = predicted("made/a-8gpu", unit, value);
    return judged_items(file.trainings[0], measured, &prediction).at(0);
  };
  const JudgedItem same = item(CaseUnit::samples_per_s, {1000, 900, 1100});
  EXPECT_EQ(same.predicted, 1000);
  EXPECT_EQ(same.low, 900);
  EXPECT_NEAR(same.error(), -0.5 / 1000.5, 1e-12);
  const JudgedItem other = item(CaseUnit::iteration_s, {0.256, 0.2, 0.32});
  EXPECT_DOUBLE_EQ(other.predicted.value(), 1000);
  EXPECT_DOUBLE_EQ(other.low.value(), 800);
  EXPECT_DOUBLE_EQ(other.high.value(), 1280);
  EXPECT_FALSE(item(CaseUnit::iteration_s, {0.256, 0.0, 0.32}).has_interval());
  EXPECT_TRUE(item(CaseUnit::samples_per_s, {1000, 0.0, 1100}).is_covered());
  EXPECT_FALSE(item(CaseUnit::time_s, {1000, {}, {}}).predicted);
  EXPECT_EQ(judged_items(file.trainings[0], measured, nullptr).at(0).error(), -1);
}

TEST(JudgedItems, OfACurveAreOneForEachSize) {
  const cases::CaseFile file = file_of(test::curve_line);
  const cases::Measured& measured = *file.outcomes.at(0).measured;
  CasePrediction prediction = predicted("rings/a-r4", CaseUnit::time_s, {2e-5, {}, {}});
  EXPECT_FALSE(judged_items(file.curves[0], measured, &prediction).at(0).predicted);  // one of two
  prediction.values.emplace_back();
  const auto items = judged_items(file.curves[0], measured, &prediction);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].bytes, Bytes(10000));
  EXPECT_DOUBLE_EQ(items[0].error(), 0);
  EXPECT_FALSE(items[1].predicted);
}

class ScoreReportOfTwo : public testing::Test {
 protected:
  [[nodiscard]] ScoreReport report(const CaseChoice& choice) const {
    const NamedPredictions own{
        "own",
        "made up",
        {predicted("made/a-8gpu", CaseUnit::samples_per_s, {1000, 900, 1100}),
         predicted("made/z", CaseUnit::samples_per_s, {1, {}, {}})}};
    const NamedPredictions naive{"naive",
                                 "made up",
                                 {predicted("made/a-8gpu", CaseUnit::samples_per_s, {2001, {}, {}}),
                                  predicted("made/b-8gpu", CaseUnit::samples_per_s, {1, {}, {}})}};
    const NamedPredictions silent{"silent", "", {cases::not_covered("made/a-8gpu", "why not")}};
    return score_report(file_, own, std::vector{naive, silent}, choice);
  }

  cases::CaseFile file_ = file_of(
      std::string(test::training_line) + "\n" +
      replaced(replaced(test::training_line, "/a-", "/b-"), R"("quality":"A")",
               R"("quality":"C")") +
      "\n" +
      replaced(replaced(test::training_line, "/a-", "/c-"), R"("measured")", R"("not yet")"));
};

TEST_F(ScoreReportOfTwo, TellsWhatIsMissingUnknownAndNotMeasured) {
  const ScoreReport found = report({});
  EXPECT_EQ(found.predictions.score.overall.items, 2U);
  EXPECT_EQ(found.predictions.score.overall.missing, 1U);
  EXPECT_EQ(found.missing(), std::vector<std::string>{"made/b-8gpu"});
  EXPECT_EQ(found.unknown, std::vector<std::string>{"made/z"});
  EXPECT_EQ(found.not_measured, 1U);
  ASSERT_EQ(found.baselines.size(), 1U);  // what covers no case is left out
  EXPECT_EQ(found.baselines[0].name, "naive");
}

TEST_F(ScoreReportOfTwo, KeepsTheQualitiesChosen) {
  EXPECT_EQ(report({"set", "AB"}).predictions.score.overall.items, 1U);
  EXPECT_EQ(report({"quality", ""}).predictions.score.groups.size(), 2U);
  expect_contains(config_error([&] { (void)report({"set", "B"}); }), "is of quality B");
}

TEST_F(ScoreReportOfTwo, KeepsCasesOfOneNodeOrOfSeveral) {
  const auto count = [&](NodeChoice nodes) {
    return report({"set", "", nodes}).predictions.score.overall.items;
  };
  EXPECT_EQ(count(NodeChoice::any), 2U);
  EXPECT_EQ(count(NodeChoice::several), 2U);
  expect_contains(config_error([&] { (void)count(NodeChoice::one); }), "is of one node");
  expect_contains(config_error([&] {
                    (void)report({"set", "B", NodeChoice::several});
                  }),
                  "of quality B is of several nodes");
  const ScoreReport found = report({"set", "", NodeChoice::several});
  EXPECT_EQ(nlohmann::json::parse(score_document(found, {}).json()).at("nodes"), "several");
  EXPECT_TRUE(nlohmann::json::parse(score_document(report({}), {}).json()).at("nodes").is_null());
}

TEST_F(ScoreReportOfTwo, TellsOneNodeFromSeveralWhateverTheGroups) {
  EXPECT_TRUE(report({}).by_nodes.empty());  // all are of two
  const std::string several(test::training_line);
  const std::string one = replaced(
      replaced(several, R"("gpus_per_node":4,"nodes":2)", R"("gpus_per_node":8,"nodes":1)"), "/a-",
      "/one-");
  const std::string other =
      replaced(replaced(one, "made/one-", "more/two-"), R"("set":"made")", R"("set":"more")");
  file_ = file_of(several + "\n" + one + "\n" + replaced(one, "/one-", "/more-") + "\n" + other);
  const auto of = [](const char* id, double value) {
    return predicted(id, CaseUnit::samples_per_s, {value, {}, {}});
  };
  const NamedPredictions own{"own",
                             "made up",
                             {of("made/a-8gpu", 1.01 * 1000.5), of("made/one-8gpu", 1.1 * 1000.5),
                              of("made/more-8gpu", 1.2 * 1000.5), of("more/two-8gpu", 1000.5)}};
  for (const char* by : {"set", "nodes", "run.overlap"}) {
    const ScoreReport found = score_report(file_, own, {}, {by, ""});
    ASSERT_EQ(found.by_nodes.size(), 2U) << by;
    EXPECT_EQ(found.by_nodes[0].nodes, NodeChoice::one);
    EXPECT_EQ(found.by_nodes[0].score.items, 3U);
    // Halves of the weight for the two sets: (0.1 + 0.2) / 4, and 0.
    EXPECT_NEAR(found.by_nodes[0].score.mean, 0.075, 1e-12) << by;
    EXPECT_NEAR(found.by_nodes[1].score.median, 0.01, 1e-12) << by;
    EXPECT_NEAR(found.by_nodes[1].score.mean, 0.01, 1e-12) << by;
    const Document document = score_document(found, {});
    ASSERT_EQ(document.tables.size(), 5U);
    EXPECT_EQ(cell(document.tables[1], 0, "nodes"), "one");
    EXPECT_EQ(cell(document.tables[1], 0, "mean"), "7.5 %");
    EXPECT_EQ(cell(document.tables[1], 1, "median"), "1.0 %");
    const auto json = nlohmann::json::parse(document.json()).at("by_nodes");
    EXPECT_NEAR(json.at("one").at("mean_abs").get<double>(), 0.075, 1e-12);
    EXPECT_NEAR(json.at("several").at("median_abs").get<double>(), 0.01, 1e-12);
  }
  EXPECT_TRUE(score_report(file_, own, {}, {"set", "", NodeChoice::one}).by_nodes.empty());
}

TEST(BlamedTerm, IsTheLargestThatWasNotMeasuredItself) {
  JudgedCase judged;
  EXPECT_EQ(blamed_term(judged), nullptr);
  judged.terms = {{"compute", Seconds(5), "measured"}};
  EXPECT_EQ(blamed_term(judged)->name, "compute");
  judged.terms.push_back({"waiting", Seconds(1), "fitted"});
  judged.terms.push_back({"transfer", Seconds(2), "data sheet"});
  EXPECT_EQ(blamed_term(judged)->name, "transfer");
  EXPECT_EQ(largest_term(judged)->name, "compute");
  judged.terms.front().basis = "extrapolated";
  EXPECT_EQ(blamed_term(judged)->name, "compute");
}

TEST_F(ScoreReportOfTwo, RefusesAFieldThatNoCaseHas) {
  expect_contains(config_error([&] {
                    (void)report({"run.overlp", ""});
                  }),
                  "Did you mean \"run.overlap\"?");
}

TEST_F(ScoreReportOfTwo, HoldsTheOverallScoreToLimits) {
  const ScoreReport found = report({"set", "A"});
  EXPECT_EQ(exit_code(found, {}), ExitCode::ok);
  EXPECT_EQ(exit_code(found, {.median = 0.001, .mean = 0.001, .bias = 0.001}), ExitCode::ok);
  EXPECT_EQ(exit_code(found, {.median = 0.0001}), ExitCode::regression);
  EXPECT_EQ(exit_code(found, {.mean = 0.0001}), ExitCode::regression);
  EXPECT_EQ(exit_code(found, {.bias = 0.0001}), ExitCode::regression);
  EXPECT_EQ(exit_code(found, {.coverage = {{0.85, 0.95}}}), ExitCode::regression);  // covers all
  EXPECT_EQ(exit_code(found, {.coverage = {{0.85, 1}}}), ExitCode::ok);
}

TEST_F(ScoreReportOfTwo, TablesNameTheBetterPredictor) {
  const Document document = score_document(report({"set", "A"}), {.median = 0.0001});
  expect_well_made(document);
  expect_contains(document.lead, "limit 0.0 %: missed");
  expect_contains(document.lead, "The best baseline, naive, has 100.0 %");
  ASSERT_EQ(document.tables.size(), 4U);
  EXPECT_EQ(cell(document.tables[0], 0, "n"), "1");
  EXPECT_EQ(cell(document.tables[1], 0, "least median"), "own");
  EXPECT_EQ(cell(document.tables[2], 1, "predictor"), "naive");
  EXPECT_EQ(cell(document.tables[3], 0, "case"), "made/a-8gpu");
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("verdict"), "failed");
  EXPECT_EQ(json.at("limits").at(0).at("limit"), "median");
}

TEST(ScoreReport, ThereIsNothingToScoreWithoutMeasuredValues) {
  const cases::CaseFile file = file_of(replaced(test::training_line, R"("measured")", R"("told")"));
  const std::string message = config_error([&] {
    (void)score_report(file, {"own", "", {cases::not_covered("made/a-8gpu", "no")}}, {}, {});
  });
  expect_contains(message, "there is nothing to score");
}

}  // namespace
}  // namespace dlscale::report
