#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/sections/sections.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

TEST(SideBySide, TakesPredictionsAsAColumn) {
  const std::vector<model::Prediction> curve = samples::curve("alexnet");
  ResultSource predicted{
      "predicted", {}, predictions_of(prediction_document(curve).json(), "p.json")};
  ASSERT_EQ(predicted.predicted.size(), curve.size());
  ResultSource measured{"A", {samples::file("e2e", {samples::e2e({}, {})})}, {}};
  measured.results.front().measurements.front().axes["batch"] =
      predicted.predicted.front().axes.at("batch");
  const SideBySide all = side_by_side({measured, predicted});
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.rows[0].times[1].value().time, curve.front().time.total);
  EXPECT_TRUE(all.rows[0].times[1].value().low);
  EXPECT_EQ(all.timings.back().device, curve.front().run.cluster);
  EXPECT_EQ(all.timings.back().basis, "predicted");
  EXPECT_EQ(all.alone, curve.size() - 1);
}

TEST(SideBySide, TakesSweepsAsPredictions) {
  nlohmann::json sweep = nlohmann::json::parse(prediction_document(samples::curve("vgg16")).json());
  sweep["rows"] = sweep["predictions"];
  sweep.erase("predictions");
  sweep["options"]["framework"] = {"horovod"};
  const auto predicted = predictions_of(sweep.dump(), "sweep.json");
  ASSERT_FALSE(predicted.empty());
  EXPECT_EQ(predicted.front().framework, "horovod");
}

/// A sweep of predictions in JSON that differ in their links.
nlohmann::json sweep_of_links(const std::vector<double>& bandwidths) {
  const nlohmann::json curve =
      nlohmann::json::parse(prediction_document(samples::curve("vgg16")).json());
  nlohmann::json sweep{{"rows", nlohmann::json::array()}};
  for (const double bandwidth : bandwidths) {
    nlohmann::json row = curve.at("predictions").back();
    row["inter_node"] = {{"bandwidth_bytes_per_s", bandwidth}, {"latency_s", 1e-6}};
    sweep["rows"].push_back(row);
  }
  return sweep;
}

TEST(SideBySide, GivesEachPredictionOfASweepAColumn) {
  const ResultSource swept{
      "p", {}, predictions_of(sweep_of_links({1e9, 2e9, 4e9}).dump(), "p.json")};
  const SideBySide all = side_by_side({swept});
  EXPECT_EQ(all.columns,
            (std::vector<std::string>{"p · inter_node=1.00 GB/s", "p · inter_node=2.00 GB/s",
                                      "p · inter_node=4.00 GB/s"}));
}

TEST(SideBySide, HasNoDataToJudgeOfPredictionsAlone) {
  ReportInput input;
  input.side_by_side =
      side_by_side({{"p", {}, predictions_of(sweep_of_links({1e9, 2e9}).dump(), "p.json")}});
  EXPECT_FALSE(side_by_side_page(input).data);
  input.results = {samples::file("e2e", {samples::e2e({}, {})})};
  EXPECT_TRUE(side_by_side_page(input).data);
}

/// The sentence that refuses these predictions.
std::string refusal_of(const nlohmann::json& predictions) {
  try {
    static_cast<void>(predictions_of(predictions.dump(), "p.json"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(SideBySide, RefusesEqualPredictions) {
  const std::string error = refusal_of(sweep_of_links({1e9, 1e9}));
  EXPECT_TRUE(contains(error, "p.json holds two predictions of one run (batch=")) << error;
}

TEST(SideBySide, RefusesPredictedTimesOutsideTheirInterval) {
  const auto error_with = [](const char* key, const nlohmann::json& value) {
    nlohmann::json sweep = sweep_of_links({1e9});
    sweep["rows"][0][key] = value;
    return refusal_of(sweep);
  };
  const double time =
      sweep_of_links({1e9}).at("rows").at(0).at("time").at("t_iter_s").get<double>();
  EXPECT_TRUE(contains(error_with("t_iter_low_s", -1), "p.json has a predicted time of"));
  EXPECT_TRUE(contains(error_with("t_iter_low_s", 2 * time), "which cannot be"));
  EXPECT_TRUE(contains(error_with("t_iter_high_s", time / 2), "which cannot be"));
  EXPECT_TRUE(contains(error_with("t_iter_high_s", nullptr), "to nothing s"));
  EXPECT_EQ(error_with("t_iter_low_s", time / 2), "");
}

TEST(SideBySide, RefusesPredictionsThatAreNone) {
  for (const char* text : {"", "{}", "[]", R"({"predictions": [{"run": {}}]})",
                           R"({"predictions": [{"run": {"network": 3}}]})"}) {
    try {
      static_cast<void>(predictions_of(text, "file.json"));
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_TRUE(contains(error.what(), "file.json")) << error.what();
    }
  }
}

}  // namespace
}  // namespace dlscale::report
