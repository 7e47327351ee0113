#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/config/csv_table.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/parallel/predictor.hpp"
#include "model/published/parallel/training.hpp"

/// Terms and iterations against values that another program made (tests/data/parallel_*.csv).
namespace dlscale::model::parallel_time {
namespace {

constexpr double tolerance = 1e-6;  ///< relative
constexpr double most = 1e18;

std::string data(std::string_view name) {
  return DLSCALE_SOURCE_DIR "/tests/data/" + std::string(name);
}

const DeviceCatalogue& devices() {
  static const DeviceCatalogue all = DeviceCatalogue::load();
  return all;
}

const std::map<std::string, cases::ScalingCase>& trainings() {
  static const auto all = [] {
    std::map<std::string, cases::ScalingCase> found;
    for (const auto& one : cases::read_cases(data("parallel_times.jsonl")).trainings) {
      found.emplace(one.id, one);
    }
    return found;
  }();
  return all;
}

/// The constants that the check values were made by.
const ParallelTimeFile& checked() {
  static const ParallelTimeFile file = load_parallel_times(data("parallel_checks.yaml"));
  return file;
}

ParallelTraining training(const std::string& id) {
  return parallel_training(trainings().at(id), devices(), checked());
}

void expect_near(double is, double expected, const std::string& what) {
  EXPECT_NEAR(is, expected, tolerance * expected + 1e-15) << what;
}

TEST(ParallelTimeChecks, Products) {
  constexpr std::array<CsvColumn, 7> columns{
      {{"device"}, {"precision"}, {"m"}, {"n"}, {"k"}, {"count"}, {"seconds"}}};
  const CsvTable table(data("parallel_terms.csv"), "times of products", columns);
  ASSERT_EQ(table.size(), 21U);
  const TimeConstants& constants = checked().constants;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const DeviceRates rates =
        device_rates(device_facts(devices().at(table.text(row, "device")), constants),
                     parse_precision(table.text(row, "precision")), constants);
    const auto size = [&](std::string_view column) { return table.number(row, column, most); };
    expect_near(product_time(rates, rates.layer, size("m"), size("n"), size("k"), size("count")),
                size("seconds"), table.place(row));
  }
}

/// Data sheets state 9 and 10 PFLOP/s in 4 bits for Blackwell, and 15 for its Ultra.
TEST(ParallelTimeChecks, PeaksOfFourBits) {
  const TimeConstants& constants = parallel_times().constants;
  const auto peak = [&](const char* device) {
    return device_facts(devices().at(device), constants).four_bit_peak;
  };
  EXPECT_DOUBLE_EQ(peak("H200"), 0);
  EXPECT_DOUBLE_EQ(peak("B200"), 9e15);
  EXPECT_DOUBLE_EQ(peak("GB200"), 10e15);
  EXPECT_DOUBLE_EQ(peak("B300"), 13.125e15);
  EXPECT_DOUBLE_EQ(peak("GB300"), 15e15);
}

TEST(ParallelTimeChecks, Collectives) {
  constexpr std::array<CsvColumn, 6> columns{
      {{"case"}, {"kind"}, {"ranks"}, {"stride"}, {"bytes"}, {"seconds"}}};
  const CsvTable table(data("parallel_collectives.csv"), "times of collectives", columns);
  ASSERT_EQ(table.size(), 28U);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const Collectives& send = training(table.text(row, "case")).setting.collectives;
    const Group group{table.number(row, "ranks", most), table.number(row, "stride", most)};
    const double bytes = table.number(row, "bytes", most);
    expect_near(table.text(row, "kind") == "ar" ? send.all_reduce(group, bytes)
                                                : send.all_gather(group, bytes),
                table.number(row, "seconds", most), table.place(row));
  }
}

struct Term {
  std::string_view column;
  double (*of)(const IterationTime&);
};
constexpr std::array terms{
    Term{"qkv_forward_s", [](const IterationTime& t) { return t.layer.qkv.forward; }},
    Term{"qkv_backward_s", [](const IterationTime& t) { return t.layer.qkv.backward; }},
    Term{"projection_forward_s", [](const IterationTime& t) { return t.layer.projection.forward; }},
    Term{"projection_backward_s",
         [](const IterationTime& t) { return t.layer.projection.backward; }},
    Term{"mlp_forward_s", [](const IterationTime& t) { return t.layer.feed_forward.forward; }},
    Term{"mlp_backward_s", [](const IterationTime& t) { return t.layer.feed_forward.backward; }},
    Term{"attention_forward_s", [](const IterationTime& t) { return t.layer.attention.forward; }},
    Term{"attention_backward_s", [](const IterationTime& t) { return t.layer.attention.backward; }},
    Term{"elementwise_forward_s",
         [](const IterationTime& t) { return t.layer.elementwise.forward; }},
    Term{"elementwise_backward_s",
         [](const IterationTime& t) { return t.layer.elementwise.backward; }},
    Term{"host_forward_s", [](const IterationTime& t) { return t.layer.host.forward; }},
    Term{"host_backward_s", [](const IterationTime& t) { return t.layer.host.backward; }},
    Term{"messages_forward_s", [](const IterationTime& t) { return t.layer.messages.forward; }},
    Term{"messages_backward_s", [](const IterationTime& t) { return t.layer.messages.backward; }},
    Term{"layer_forward_s", [](const IterationTime& t) { return t.layer.layer.forward; }},
    Term{"layer_backward_s", [](const IterationTime& t) { return t.layer.layer.backward; }},
    Term{"gather_s", [](const IterationTime& t) { return t.layer.gather; }},
    Term{"scatter_s", [](const IterationTime& t) { return t.layer.scatter; }},
    Term{"embedding_s", [](const IterationTime& t) { return t.embedding; }},
    Term{"head_s", [](const IterationTime& t) { return t.head; }},
    Term{"stage_message_s", [](const IterationTime& t) { return t.stage_message; }},
    Term{"pipeline_s", [](const IterationTime& t) { return t.pipeline; }},
    Term{"data_parallel_exposed_s", [](const IterationTime& t) { return t.exposed_gradients; }},
    Term{"update_s", [](const IterationTime& t) { return t.update; }},
    Term{"iteration_s", [](const IterationTime& t) { return t.total; }},
};

TEST(ParallelTimeChecks, Iterations) {
  std::vector<CsvColumn> columns{{"id"}, {"micro_batches"}, {"family"}};
  for (const Term& term : terms) columns.push_back({term.column});
  const CsvTable table(data("parallel_times.csv"), "times of iterations", columns);
  ASSERT_GE(table.size(), 30U);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string id = table.text(row, "id");
    const ParallelTraining read = training(id);
    EXPECT_EQ(read.setting.family->name, table.text(row, "family")) << id;
    EXPECT_EQ(read.plan.micro_batches, table.number(row, "micro_batches", most)) << id;
    const IterationTime time = iteration_time(read.setting, read.plan);
    for (const Term& term : terms) {
      expect_near(term.of(time), table.number(row, term.column, most),
                  id + " " + std::string(term.column));
    }
  }
}

TEST(ParallelTimeChecks, EveryTrainingIsAnsweredOrRefusedInASentence) {
  std::vector<cases::ScalingCase> all;
  for (const auto& [id, one] : trainings()) all.push_back(one);
  for (const auto& prediction : predict(parallel_times(), devices(), all)) {
    ASSERT_EQ(prediction.status, cases::PredictionStatus::ok) << prediction.id;
    const auto& value = *prediction.values.front();
    EXPECT_LT(0, *value.low) << prediction.id;
    EXPECT_LT(*value.low, value.value) << prediction.id;
    EXPECT_GT(*value.high, value.value) << prediction.id;
  }
  const auto reason = [&](auto change) {
    std::vector<cases::ScalingCase> one{all.front()};
    change(one.front());
    return predict(parallel_times(), devices(), one).front().reason;
  };
  EXPECT_NE(reason([](auto& of) { of.network.ffn.reset(); }).find("network.ffn is not stated"),
            std::string::npos);
  EXPECT_NE(reason([](auto& of) { of.precision = "int8"; }).find("precision int8"),
            std::string::npos);
  EXPECT_NE(reason([](auto& of) { of.run.parallel.recompute = "some"; }).find("recompute is some"),
            std::string::npos);
  EXPECT_NE(reason([](auto& of) { of.run.parallel.stage_layers = {1}; }).find("stage_layers"),
            std::string::npos);
  EXPECT_NE(reason([](auto& of) { of.cluster.gpu = "abacus"; }).find("abacus"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::model::parallel_time
