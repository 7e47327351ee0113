#include "model/published/cases/prediction.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/core/support.hpp"

namespace dlscale::cases {
namespace {

using test::config_error;
using test::expect_contains;
using test::TemporaryFolder;

std::vector<CasePrediction> prediction_file_read_text(std::string_view text) {
  const TemporaryFolder folder;
  return read_predictions(folder.write("p.jsonl", text));
}

std::string prediction_file_refusal_of(std::string_view text) {
  return config_error([&] { (void)prediction_file_read_text(text); });
}

TEST(PredictionFile, ReadsEveryUnit) {
  const auto read = prediction_file_read_text(
      R"({"id": "a/1", "samples_per_s": 1234.5, "low": 1180.0, "high": 1290.0})"
      "\n"
      R"({"id": "a/2", "iteration_s": 0.207})"
      "\n"
      R"({"id": "a/3", "time_s": [1e-4, null], "low": [9e-5, null], "high": [1.1e-4, null]})"
      "\n");
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].unit, CaseUnit::samples_per_s);
  EXPECT_EQ(read[0].values.at(0), (PredictedValue{1234.5, 1180.0, 1290.0}));
  EXPECT_EQ(read[1].unit, CaseUnit::iteration_s);
  EXPECT_EQ(read[1].values.at(0), (PredictedValue{0.207, {}, {}}));
  EXPECT_EQ(read[2].unit, CaseUnit::time_s);
  EXPECT_EQ(read[2].values.at(0), (PredictedValue{1e-4, 9e-5, 1.1e-4}));
  EXPECT_FALSE(read[2].values.at(1));
}

TEST(PredictionFile, ALineWithoutAValueIsOfACaseThatWasNotCovered) {
  const auto read = prediction_file_read_text(
      R"({"id": "a/1", "samples_per_s": null})"
      "\n"
      R"({"id": "a/2", "status": "not_covered", "reason": "tensor parallel"})"
      "\n");
  EXPECT_EQ(read.at(0).status, PredictionStatus::not_covered);
  EXPECT_TRUE(read.at(0).values.empty());
  EXPECT_EQ(read.at(1).reason, "tensor parallel");
}

TEST(PredictionFile, ReadsWhatItWrites) {
  CasePrediction training;
  training.id = "a/1";
  training.status = PredictionStatus::outside_domain;
  training.reason = "more GPUs than ever measured";
  training.unit = CaseUnit::iteration_s;
  training.values = {PredictedValue{0.1 + 0.2, 1.0 / 3.0, 2.0 / 3.0}};
  training.terms = {{"forward", Seconds(0.1), "data sheet"}, {"backward", Seconds(0), ""}};
  CasePrediction curve;
  curve.id = "a/2 \"ä\"";
  curve.unit = CaseUnit::time_s;
  curve.values = {PredictedValue{1e-7, {}, {}}, std::nullopt, PredictedValue{2e-7, 1e-7, 3e-7}};
  const std::vector<CasePrediction> all{training, curve, not_covered("a/3", "fsdp")};
  EXPECT_EQ(prediction_file_read_text(prediction_lines(all)), all);
}

/// The given point was measured, so that its ends are those of the prediction, divided by it.
TEST(PredictionFile, GivesTheSpeedUpOverTheGivenPointWithItsInterval) {
  CasePrediction training;
  training.id = "a/1";
  training.values = {PredictedValue{6000, 5600, 6400}};
  training.from = ScaledFrom{4, 1600, 16};
  const std::string line = prediction_lines(std::vector{training});
  expect_contains(line, R"("speedup_over_gpus":4,"speedup":3.75,"speedup_low":3.5,)");
  expect_contains(line, R"("speedup_high":4.0,"efficiency":0.9375,"efficiency_low":0.875,)");
  expect_contains(line, R"("efficiency_high":1.0)");
  EXPECT_EQ(prediction_file_read_text(line).front().values, training.values);
}

TEST(PredictionFile, RefusesInOneSentenceThatNamesLineFieldAndWhy) {
  const std::vector<std::pair<const char*, const char*>> refused{
      {R"({"samples_per_s": 1})", "id is missing"},
      {R"({"id": "a", "samples_per_s": 0})", "samples_per_s is 0"},
      {R"({"id": "a", "samples_per_s": -2})", "samples_per_s is -2"},
      {R"({"id": "a", "samples_per_s": "2"})", "samples_per_s is \"2\""},
      {R"({"id": "a", "samples_per_s": NaN})", "is not JSON"},
      {R"({"id": "a", "samples_per_s": 1e300})", "samples_per_s is 1e+300"},
      {R"({"id": "a", "samples_per_s": 1, "iteration_s": 1})", "one of both is enough"},
      {R"({"id": "a", "iteration_s": 1, "low": 1})", "the other end of the interval is missing"},
      {R"({"id": "a", "iteration_s": 1, "low": 2, "high": 1})", "which is not above low"},
      {R"({"id": "a", "iteration_s": 1, "low": 0, "high": 0})", "which is not above low"},
      {R"({"id": "a", "time_s": 1})", "where a list is needed"},
      {R"({"id": "a", "time_s": []})", "which holds nothing"},
      {R"({"id": "a", "time_s": [1], "low": [1, 1], "high": [1, 1]})", "there are 1 values"},
      {R"({"id": "a", "status": "ok"})", "but the value is missing"},
      {R"({"id": "a", "status": "not_covered", "iteration_s": 1})", "but a value is given"},
      {R"({"id": "a", "status": "good", "iteration_s": 1})", "\"good\" is not a status"},
      {R"({"id": "a", "iteration": 1})", "Did you mean iteration_s?"},
      {R"({"id": "a", "iteration_s": 1, "terms": [{"name": "x", "time_s": -1}]})",
       "terms[0].time_s is -1"},
      {R"({"id": "a", "measured": {"time_s": [1]}})", "nor a status is given"},
      {"[1]", "this is not a JSON object"},
  };
  for (const auto& [line, part] : refused) {
    const std::string message = prediction_file_refusal_of(std::string("\n") + line + "\n");
    expect_contains(message, "p.jsonl:2: ");
    expect_contains(message, part);
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  expect_contains(prediction_file_refusal_of(
                      "{\"id\": \"a\", \"iteration_s\": 1}\n{\"id\": \"a\", \"iteration_s\": 2}\n"),
                  "p.jsonl:2: id is \"a\", as in ");
  expect_contains(prediction_file_refusal_of("{\"id\": \"a\", \"itera"),
                  "the last line is cut short");
  expect_contains(prediction_file_refusal_of(""), "p.jsonl holds no predictions");
}

}  // namespace
}  // namespace dlscale::cases
