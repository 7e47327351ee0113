#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "model/goodput/training_cost.hpp"
#include "report/answers/training_page.hpp"
#include "report/goodput/training_cost_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

using model::goodput::CostQuestion;
using model::goodput::TrainingCost;

CostQuestion cost_question() {
  CostQuestion question;
  question.title = "tensor=8,data=64";
  question.iteration = question.iteration_low = question.iteration_high = Seconds(5);
  question.samples_per_iteration = 4e6;
  question.samples = 2e12;
  question.devices = 512;
  question.devices_per_node = 8;
  question.state = Bytes(1e12);
  question.storage.read = BytesPerSecond(50e9);
  question.power.board_w = 700;
  question.price_per_device_hour = 2;
  return question;
}

TEST(TrainingCosts, HaveARowATraining) {
  CostQuestion other = cost_question();
  other.devices = 1024;
  const std::vector<TrainingCost> both{training_cost(cost_question()), training_cost(other)};
  const Document document = training_cost_document(both);
  expect_well_made(document);
  ASSERT_EQ(document.tables.size(), 1U);
  EXPECT_EQ(document.tables.front().rows.size(), 2U);
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("schema"), "dlscale.training_cost");
  const std::string verdict = training_opening(document.json.summary()()).verdict;
  EXPECT_EQ(verdict.find("Quickest of 2 trainings: 2T tokens take "), 0U) << verdict;
  const auto& first = json.at("trainings").at(0);
  EXPECT_EQ(first.at("tokens"), 2e12);
  EXPECT_EQ(first.at("iterations"), 5e5);
  EXPECT_FALSE(first.contains("samples"));
  EXPECT_NEAR(first.at("without_failures_s").get<double>(), 2.5e6, 1e-3);
  EXPECT_GT(first.at("with_failures_s").get<double>(), 2.5e6);
  EXPECT_LT(first.at("goodput").get<double>(), 1);
  EXPECT_GT(first.at("energy_high_kwh").get<double>(), first.at("energy_kwh").get<double>());
  EXPECT_NEAR(first.at("price").get<double>(), 2 * first.at("device_hours").get<double>(), 1e-6);
}

/// The page of two plans, of which the quicker may not fit.
Page page_of_two(const std::string& options, double low) {
  CostQuestion quick = cost_question();
  quick.title = "gpt on dgx by data=64";
  quick.fits = false;
  CostQuestion slow = cost_question();
  slow.iteration = slow.iteration_high = Seconds(6);
  slow.iteration_low = Seconds(low);
  const std::vector<TrainingCost> both{training_cost(quick), training_cost(slow)};
  auto answer = nlohmann::json::parse(training_cost_document(both).json());
  answer["options"] = nlohmann::json::parse(options);
  return training_page(answer.dump(), "training.json").page;
}

TEST(TrainingCosts, SayWhichPlansFit) {
  const Page page = page_of_two("{}", 6);
  EXPECT_EQ(page.verdict.find("Only 1 of 2 trainings fits, tensor=8, data=64: 2T tokens take "), 0U)
      << page.verdict;
  const Table& table = std::get<Table>(page.sections.front().blocks.front());
  EXPECT_EQ(cell(table, 0, "fits"), "maybe not");
  EXPECT_EQ(cell(table, 1, "fits"), "probably");
}

TEST(TrainingCosts, RateTheirDataByTheirOptionsAndInterval) {
  const Badge asked = *page_of_two("{}", 6).data;
  EXPECT_EQ(asked.reasons,
            "data sheets and published trainings, and failures of published clusters.");
  EXPECT_EQ(page_of_two(R"({"mtbf": ["gpu=50000h"], "measured": ["8=1/s"]})", 6).data->reasons,
            "data sheets and published trainings, moved by your measured points, and failures at "
            "the rates that you stated.");
  EXPECT_EQ(page_of_two("{}", 1).data->word, "Doubtful");
}

TEST(TrainingCosts, LeaveOutWhatIsNotKnown) {
  CostQuestion question = cost_question();
  question.price_per_device_hour.reset();
  question.power.board_w.reset();
  question.mtbf.all_h = std::numeric_limits<double>::infinity();
  const Document document = training_cost_document(training_cost(question));
  expect_well_made(document);
  for (const Column& column : document.tables.front().columns) {
    EXPECT_NE(column.heading, "price");
    EXPECT_NE(column.heading, "MWh");
  }
  const auto json = nlohmann::json::parse(document.json());
  const auto& only = json.at("trainings").at(0);
  EXPECT_TRUE(only.at("price").is_null());
  EXPECT_TRUE(only.at("energy_kwh").is_null());
  EXPECT_TRUE(only.at("mtbf_s").is_null());
  EXPECT_TRUE(only.at("checkpoint_every_s").is_null());
}

TEST(TrainingCosts, NameNumbersAlikeInEveryRun) {
  CostQuestion slower = cost_question();
  slower.iteration = slower.iteration_high = Seconds(6);
  expect_same_series(training_cost_document(training_cost(cost_question())),
                     training_cost_document(training_cost(slower)));
}

}  // namespace
}  // namespace dlscale::report
