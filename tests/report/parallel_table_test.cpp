#include "report/parallel/parallel_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/memory/transformer_shape.hpp"
#include "report/parallel/parallel_memory.hpp"
#include "tests/report/expect_well_made.hpp"

namespace dlscale::report {
namespace {

namespace plans_of = model::parallel_time;

/// Llama 2 7B on 8 H100, by as many plans as asked for.
plans_of::ComparedPlans answered(const std::vector<std::string>& plans) {
  plans_of::ComparedPlans all;
  all.network = "llama2_7b";
  all.cluster = "dgx_h100";
  all.dtype = "bf16";
  all.file = &plans_of::parallel_times();
  all.question.shape = model::memory::transformer_shape(load_network("llama2_7b"));
  all.question.global_batch = 64;
  all.question.framework = "nanotron";
  const plans_of::ParallelHardware hardware =
      plans_of::parallel_hardware(load_cluster("dgx_h100"), 8);
  const plans_of::Setting setting = plans_of::setting_of(*all.file, all.question, hardware);
  for (const std::string& text : plans) {
    const parallel::ParallelPlan plan = parallel::parse_plan(text);
    all.rows.push_back({plan, hardware, setting,
                        plans_of::predict_plan(*all.file, all.question, hardware, setting, plan)});
  }
  return all;
}

std::string notes_of(const Table& table) {
  std::string all;
  for (const std::string& note : table.notes) all += note + "\n";
  return all;
}

TEST(ParallelTables, NamePlansThatStandSideBySide) {
  const auto plans = answered({"data=8,micro_batch=1,zero=3", "data=2,tensor=4,micro_batch=2"});
  const Document document = parallel_document(plans, {.rests_on = "data sheets"});
  expect_well_made(document);
  ASSERT_EQ(document.tables.size(), 2U);
  EXPECT_EQ(document.tables.front().columns.front().heading, "plan");
  EXPECT_EQ(document.tables.front().rows.at(1).front().text, "B");
  EXPECT_NE(notes_of(document.tables.back()).find("B: data=2,tensor=4"), std::string::npos);
  const Document alone = parallel_document(answered({"data=8,micro_batch=1,zero=3"}), {});
  expect_well_made(alone);
  EXPECT_EQ(alone.tables.front().columns.front().heading, "GPUs");
  EXPECT_NE(alone.tables.front().title.find("data=8,micro_batch=1,zero=3"), std::string::npos);
}

TEST(ParallelTables, ShowWhatAGpuLacksBehindItsEnd) {
  const auto plans = answered({"data=8,micro_batch=8"});
  const auto found = plans_of::remedies(*plans.file, plans.question, plans.rows.front().hardware,
                                        plans.rows.front().setting, plans.rows.front().asked);
  const Document memory = parallel_memory_document(plans, {found}, false);
  expect_well_made(memory);
  EXPECT_NE(notes_of(memory.tables.front()).find('|'), std::string::npos);
  EXPECT_NE(notes_of(memory.tables.front()).find("Does not fit"), std::string::npos);
  const Document fit = parallel_fit_document(plans, {found});
  expect_well_made(fit);
  EXPECT_NE(notes_of(fit.tables.front()).find("It would fit with " + found.front().change),
            std::string::npos);
}

TEST(ParallelTables, ShowAllOfACardThatIsNotFull) {
  const auto plans = answered({"data=8,micro_batch=1,zero=3,recompute=full"});
  const Document memory = parallel_memory_document(plans, {{}}, true);
  expect_well_made(memory);
  EXPECT_EQ(memory.tables.front().rows.size(), 3U);  // moments of the only stage
  EXPECT_EQ(memory.records.rows.size(), 3U);
  const std::string notes = notes_of(memory.tables.front());
  EXPECT_EQ(notes.find('|'), std::string::npos);
  EXPECT_NE(notes.find("[W"), std::string::npos);
  EXPECT_NE(notes.find("Fits surely"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::report
