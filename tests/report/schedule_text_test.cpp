// How gradients travel, in tables and in documents for programs.
#include "report/table/run_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/prediction_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

TrainingRun run_under(Schedule schedule) {
  TrainingRun run;
  run.network = "alexnet";
  run.ranks = run.ranks_per_node = 4;
  run.schedule = schedule;
  return run;
}

TrainingRun served(int servers) {
  TrainingRun run = run_under(Schedule::bucketed);
  run.synchronisation = Synchronisation::parameter_server;
  run.settings.servers = servers;
  return run;
}

TrainingRun sharded(Sharding sharding) {
  TrainingRun run = served(2);
  run.schedule = Schedule::wait_free;
  run.settings.sharding = sharding;
  return run;
}

TEST(ScheduleText, IsTheNameWhereAllIsAsUsual) {
  for (const Schedule schedule : all_schedules) {
    EXPECT_EQ(schedule_text(run_under(schedule)), schedule_name(schedule));
  }
}

TEST(ScheduleText, NamesTheServerAndUnusualSettingsThatHaveAnEffect) {
  EXPECT_EQ(schedule_text(served(0)), "bucketed by parameter server");
  EXPECT_EQ(schedule_text(served(1)), "bucketed by parameter server (1 server)");
  EXPECT_EQ(schedule_text(served(4)), "bucketed by parameter server (4 servers)");
  EXPECT_EQ(schedule_text(sharded(Sharding::mxnet)),
            "wait_free by parameter server (2 servers, sharding mxnet)");
  for (const Schedule schedule : all_schedules) {
    TrainingRun run = run_under(schedule);
    run.settings.cycle = Seconds(5e-3);
    run.settings.fusion_threshold = Bytes(65536);
    run.settings.partition = Bytes(1024);
    run.settings.credit = 1;
    run.settings.servers = 2;
    run.settings.sharding = Sharding::tensorflow;
    std::string expected(schedule_name(schedule));
    if (schedule == Schedule::horovod) {
      expected += " (cycle 5.000 ms, fusion threshold 64.0 KiB)";
    }
    if (schedule == Schedule::priority) expected += " (partition 1.00 KiB, credit 1)";
    EXPECT_EQ(schedule_text(run), expected);
  }
}

TEST(PredictionTable, SaysInItsTitleThatAServerAddsGradients) {
  EXPECT_TRUE(contains(run_title(served(0), "images"), ", bucketed by parameter server"));
  EXPECT_EQ(run_title(run_under(Schedule::bucketed), "images").find("server"), std::string::npos);
}

/// A field of the first prediction in JSON, and in CSV.
struct Told {
  nlohmann::json json;
  std::string csv;
};

Told told(const TrainingRun& run, const std::string& key) {
  const std::vector predictions{samples::prediction(run, {})};
  const Document document = prediction_document(predictions);
  const auto answer = nlohmann::json::parse(document.json());
  const Table& records = document.records;
  EXPECT_EQ(records.rows.front().size(), records.columns.size());
  const auto found = std::ranges::find(records.columns, key, &Column::heading);
  EXPECT_NE(found, records.columns.end()) << key;
  const auto column = static_cast<std::size_t>(found - records.columns.begin());
  return {answer.at("predictions").at(0).at("run").at(key), records.rows.front().at(column).text};
}

TEST(PredictionDocument, HasTheSettingsThatHaveAnEffect) {
  TrainingRun horovod = run_under(Schedule::horovod);
  horovod.settings.cycle = Seconds(2.5e-3);
  EXPECT_EQ(told(horovod, "cycle_s").json, 2.5e-3);
  EXPECT_EQ(told(horovod, "cycle_s").csv, "0.0025");
  EXPECT_EQ(told(horovod, "fusion_threshold_bytes").json, 134217728);
  EXPECT_EQ(told(horovod, "fusion_threshold_bytes").csv, "134217728");
  const TrainingRun priority = run_under(Schedule::priority);
  EXPECT_EQ(told(priority, "partition_bytes").json, 4096000);
  EXPECT_EQ(told(priority, "credit").json, 4);
  EXPECT_EQ(told(priority, "credit").csv, "4");
  EXPECT_EQ(told(served(0), "servers").json, 4);  // all ranks
  EXPECT_EQ(told(served(1), "servers").csv, "1");
  EXPECT_EQ(told(served(1), "sharding").json, "largest_first");
  EXPECT_EQ(told(sharded(Sharding::tensorflow_greedy), "sharding").json, "tensorflow_greedy");
  EXPECT_EQ(told(sharded(Sharding::mxnet), "sharding").csv, "mxnet");
  EXPECT_EQ(told(served(1), "synchronisation").json, "parameter_server");
  EXPECT_EQ(told(priority, "synchronisation").csv, "all_reduce");
  for (const Schedule schedule : {Schedule::bucketed, Schedule::reduce_scatter_overlap}) {
    EXPECT_EQ(told(run_under(schedule), "first_bucket_bytes").json, 1048576);
    EXPECT_EQ(told(run_under(schedule), "bucket_bytes").csv, "26214400");
  }
}

TEST(PredictionDocument, HasNothingForSettingsWithoutEffect) {
  const TrainingRun plain = run_under(Schedule::wait_free);
  for (const Field<TrainingRun>& field : schedule_fields()) {
    const Told value = told(plain, field.key);
    EXPECT_TRUE(value.json.is_null()) << field.key;
    EXPECT_EQ(value.csv, "") << field.key;
  }
}

TEST(RanksAmong, AreRangesWhereTheyFollowEachOther) {
  EXPECT_EQ(ranks_among({2, 3, 4}, {1, 2, 3, 4}), "2 to 4");
  EXPECT_EQ(ranks_among({1, 4, 8, 16}, {1, 2, 4, 8, 16}), "1, 4 to 16");
  EXPECT_EQ(ranks_among({1, 2, 8}, {1, 2, 4, 8}), "1, 2, 8");
  EXPECT_EQ(ranks_among({}, {1}), "");
}

}  // namespace
}  // namespace dlscale::report
