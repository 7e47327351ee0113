// Answers whose values cannot be: a sentence refuses them, or the page leaves them out.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "report/answers/comparison_page.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/figure/speedup_lines.hpp"
#include "report/prediction/prediction_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using Make = std::function<AnswerPage(const std::string&, const std::string&)>;

/// The sentence that refuses an answer; empty if it has a page.
std::string refusal(const Make& page, const nlohmann::json& answer) {
  try {
    static_cast<void>(page(answer.dump(), "answer.json"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(DamagedAnswer, OfMemoryWithoutAVerdictIsRefused) {
  const nlohmann::json training{{"network", "alexnet"},  {"cluster", "p40x16"},
                                {"batch", 32},           {"states_bytes", 1e9},
                                {"total_bytes", 1e9},    {"memory_bytes", 2e9},
                                {"parameters_bytes", 0}, {"fits", ""}};
  nlohmann::json plan{{"network", "gpt"},
                      {"cluster", "dgx"},
                      {"plan", "zero=1"},
                      {"memory_bytes", 1e9},
                      {"device_memory_bytes", 2e9},
                      {"fits", ""}};
  EXPECT_TRUE(contains(refusal(memory_page, {{"trainings", {training}}}), "its \"fits\" is empty"));
  EXPECT_TRUE(contains(refusal(memory_page, {{"plans", {plan}}}), "its \"fits\" is empty"));
  plan["stages"] = nlohmann::json::array();
  EXPECT_TRUE(contains(refusal(memory_page, {{"plans", {plan}}}), "its list \"stages\" is empty"));
}

TEST(DamagedAnswer, OfAComparisonWithoutAKeyIsRefused) {
  const ResultFile file = samples::file("conv", {samples::timed("conv", {}, {1.0, 1.1})});
  const ComparisonReport report = compare(std::span(&file, 1), std::span(&file, 1), 0.02);
  auto answer = nlohmann::json::parse(comparison_document(report).json());
  EXPECT_EQ(refusal(comparison_page, answer), "");
  for (const char* key : {"", " "}) {
    answer["rows"][0]["key"] = key;
    EXPECT_TRUE(contains(refusal(comparison_page, answer), "the \"key\" of a row is empty"));
  }
}

TEST(DamagedAnswer, WithATimeARateOrRanksOfZeroIsRefused) {
  const auto answer = nlohmann::json::parse(prediction_document(samples::curve("alexnet")).json());
  EXPECT_EQ(refusal(prediction_page, answer), "");
  for (const char* key : {"/speedup", "/speedup_high", "/images_per_s", "/run/ranks",
                          "/time/t_iter_s"}) {
    for (const int value : {0, -1}) {
      nlohmann::json damaged = answer;
      damaged["predictions"][0][nlohmann::json::json_pointer(key)] = value;
      const std::string sentence = refusal(prediction_page, damaged);
      EXPECT_TRUE(contains(sentence, value == 0 ? "\" is 0, not above 0" : "\" is -1, not above 0"))
          << key << ": " << sentence;
    }
  }
}

TEST(DamagedAnswer, ThatNamesNoSourceOfItsTimesIsNotGood) {
  auto answer = nlohmann::json::parse(prediction_document(samples::curve("alexnet")).json());
  for (nlohmann::json& row : answer["predictions"]) row["basis"] = nlohmann::json::object();
  EXPECT_NE(prediction_page(answer.dump(), "answer.json").page.data->word, "Good");
}

TEST(SpeedupLines, LeaveOutWhatLogarithmicAxesCannotShow) {
  const std::vector<figure::SpeedupLine> lines{
      {"", {{0, 1.0}, {1, 1.0}, {2, 1.9, -1.0, -0.5}, {4, 0}, {8, 6.0, 0, 7.0}}, {{16, -1.0}}}};
  const auto drawn = figure::speedup_lines(lines);
  ASSERT_TRUE(drawn);
  EXPECT_FALSE(contains(drawn->svg, "nan"));
  EXPECT_FALSE(contains(drawn->svg, "inf"));
  EXPECT_EQ(drawn->data.rows.size(), 5U + 1U) << "the table has all";
  const std::vector<figure::SpeedupLine> none{{"", {{1, 0}, {2, -1.0}}}};
  EXPECT_FALSE(figure::speedup_lines(none));
}

}  // namespace
}  // namespace dlscale::report
