#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/layer_table.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/results/rates.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/summary.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using ParsedJson = nlohmann::json;

std::size_t column(const Table& table, const std::string& heading) {
  const auto found = std::ranges::find(table.columns, heading, &Column::heading);
  EXPECT_NE(found, table.columns.end()) << heading;
  return static_cast<std::size_t>(found - table.columns.begin());
}

TEST(Grouped, PutsACommaBetweenThousands) {
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(140'000), "140,000");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
}

TEST(Numbers, KeepSoManySignificantDigits) {
  EXPECT_EQ(significant(1234.5, 4), "1234");
  EXPECT_EQ(significant(12.345, 4), "12.35");
  EXPECT_EQ(significant(0.00123456, 3), "0.00123");
  EXPECT_EQ(significant(0, 4), "0");
  EXPECT_EQ(signed_percent(-0.0321), "-3.2 %");
  EXPECT_EQ(counted(1, "rank") + counted(2, "rank"), "1 rank2 ranks");
}

/// A layer for each kind of time that `network` has layers, after its input.
model::LayerTimes two_ranks(const Network& network) {
  model::LayerTimes times;
  times.run.network = network.name();
  times.run.ranks = 2;
  for (const Layer& layer : network.layers()) {
    model::LayerTime& time = times.layers.emplace_back();
    time.layer = layer.id;
    if (layer.id.index() == 0) continue;
    time.forward = Seconds(0.001);
    time.forward_source = model::TimeSource::measured;
  }
  model::LayerTime& connected = times.layers.at(1);
  connected.backward = Seconds(0.002);
  connected.backward_source = model::TimeSource::efficiency;
  connected.communication = Seconds(0.5);
  connected.communication_source = model::TimeSource::fitted;
  connected.gradient = Bytes(1234);
  times.notes = {model::remark("a note")};
  return times;
}

TEST(LayerDocument, TellsTimesAndWhereTheyComeFrom) {
  const Network network(
      "net", {3, 8, 8},
      {{"fc", FullyConnected{5}, {"input"}}, {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const std::vector runs{two_ranks(network)};
  const Document document = layer_document(network, runs);
  expect_well_made(document);
  const Table& table = document.tables.at(0);
  ASSERT_EQ(table.rows.size(), 3U);  // without the input, with the sum
  std::vector<std::string> cells;
  for (const Cell& cell : table.rows[0]) cells.push_back(cell.text);
  EXPECT_EQ(cells, (std::vector<std::string>{"fc", "fully_connected", "1.000", "measured", "2.000",
                                             "efficiency", "1234", "500.0", "fitted"}));
  EXPECT_EQ(cell(table, 1, "backward ms"), "–");
  EXPECT_EQ(cell(table, 2, "forward ms"), "2.000");
  EXPECT_EQ(cell(table, 2, "gradient bytes"), "1234");
  EXPECT_EQ(table.notes.size(), 5U);  // three sources, one of the run, one of the table
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json.at("schema"), "dlscale.layers");
  const ParsedJson& layers = json.at("runs").at(0).at("layers");
  EXPECT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers.at(1).at("t_b_from"), "efficiency");
  EXPECT_EQ(layers.at(1).at("t_comm_s"), 0.5);
  EXPECT_TRUE(layers.at(2).at("t_b_from").is_null());
  EXPECT_EQ(document.records.rows.size(), 3U);
}

TEST(WorkerTable, HasAColumnForEachNumberOfRanksOnANode) {
  const Table table = worker_table(samples::machine());
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
  const std::size_t alone = column(table, "alone");
  const std::size_t pair = column(table, "2 at once, each");
  const auto row = [&](const std::string& part) {
    const auto found = std::ranges::find_if(
        table.rows, [&](const auto& cells) { return cells.front().text.starts_with(part); });
    EXPECT_NE(found, table.rows.end()) << part;
    return *found;
  };
  EXPECT_EQ(row("pictures")[pair].text, "385 a second");  // 0.1 + 2 + 0.5 ms
  EXPECT_EQ(row("pictures")[alone].text, "–");
  EXPECT_EQ(row("copy of a batch")[pair].text, to_text(BytesPerSecond(1e10)));
  EXPECT_EQ(row("fastest convolution, forward")[alone].text, to_text(FlopsPerSecond(2e9)));
  EXPECT_TRUE(worker_table(model::Machine{}).rows.empty());
}

TEST(WorkerTable, MixesNoConditions) {
  const model::Machine machine = samples::machine();
  model::Machine mixed = machine;
  for (const auto& [dtype, threads] : {std::pair{DType::bf16, 1}, std::pair{DType::f32, 2}}) {
    model::KernelTime faster = machine.kernels.front();
    faster.dtype = dtype;
    faster.threads = threads;
    faster.time.value = Seconds(1e-6);
    mixed.kernels.insert(mixed.kernels.begin(), faster);
    model::AffineFit slower = machine.h2d.front();
    slower.dtype = dtype;
    slower.threads = threads;
    slower.cost = machine.collectives.front().cost;
    mixed.h2d.insert(mixed.h2d.begin(), slower);
  }
  model::LoaderFit small = machine.loaders.front();
  small.height = small.width = 32;
  small.augment.value = Seconds(0);
  mixed.loaders.insert(mixed.loaders.begin(), small);
  for (const auto& [waiting, ranks] : {std::pair{"sleep", 2}, std::pair{"spin", 4}}) {
    model::CollectiveFit other = machine.collectives.front();
    other.waiting = waiting;
    other.ranks = ranks;
    other.cost = machine.h2d.front().cost;
    mixed.collectives.insert(mixed.collectives.begin(), other);
  }
  const Table expected = worker_table(machine);
  const Table table = worker_table(mixed);
  EXPECT_EQ(table.title, "What a worker of this machine reaches, in f32 with 1 compute thread");
  ASSERT_EQ(table.rows.size(), expected.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      EXPECT_EQ(table.rows[i][j].text, expected.rows[i][j].text);
    }
  }
}

TEST(SpeedupsTable, HasAColumnForEachNumberOfRanks) {
  const ReportInput input = samples::report_input();
  const Table table = speedups_table(input);
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "64"), "57.6");
  EXPECT_EQ(cell(table, 1, "bound at 64 by"), "communication");
}

TEST(SpeedupsTable, SaysWhatLinksBetweenNodesAreTakenToBe) {
  ReportInput input = samples::report_input();
  Cluster& cluster = input.machine.cluster;
  cluster.devices_per_node = 2;
  cluster.inter_node.bandwidth = BytesPerSecond(1.25e9);
  cluster.inter_node.latency = Seconds(50e-6);
  input.machine.collectives.resize(1);
  model::CollectiveFit& fit = input.machine.collectives.front();
  fit.ranks = fit.ranks_on_node = 2;
  const auto note = [&] { return speedups_table(input).notes.back(); };
  EXPECT_EQ(note(),
            "2 workers a node; nodes joined by 1.25 GB/s with 50.00 us start-up: assumed, not "
            "measured");
  cluster.inter_node = {};
  EXPECT_EQ(note(), "2 workers a node; links between nodes assumed as fast as within one");
  cluster.devices_per_node = 1;
  fit.ranks_on_node = 1;
  EXPECT_EQ(note(),
            "1 worker a node; all-reduce was measured between nodes, and is extrapolated to more");
}

TEST(PredictionTable, HasNoIntervalWhereThereIsNone) {
  auto curve = samples::curve("alexnet");
  EXPECT_NE(predicted_interval_text(curve.front()), "–");
  for (auto& prediction : curve) prediction.low = prediction.high = std::nullopt;
  const Document document = prediction_document(curve);
  expect_well_made(document);
  const Table& table = document.tables.front();
  EXPECT_EQ(cell(table, 0, "90 % interval"), "–");
  EXPECT_EQ(cell(document.records, 0, "t_iter_low_s"), "");
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_TRUE(json.at("predictions").at(0).at("t_iter_high_s").is_null());
  EXPECT_TRUE(json.at("predictions").at(0).at("interval").is_null());
}

TEST(PredictionTable, TellsWhereTheTimesOfEachPhaseComeFrom) {
  auto curve = samples::curve("alexnet");
  for (auto& prediction : curve) prediction.sources = {};
  curve.back().sources.forward = model::TimeSource::measured;
  curve.back().sources.communication = model::TimeSource::data_sheet;
  const Document document = prediction_document(curve);
  const Table& table = document.tables.front();
  EXPECT_EQ(std::ranges::count(table.notes,
                               "times from (ranks 64): forward measured, messages data sheet"),
            1);
  const ParsedJson last = ParsedJson::parse(document.json()).at("predictions").back();
  EXPECT_EQ(last.at("interval"), 0.9);
  EXPECT_EQ(last.at("basis").at("forward"), "measured");
  EXPECT_EQ(last.at("basis").at("communication"), "data sheet");
  EXPECT_TRUE(last.at("basis").at("load").is_null());
  const auto& row = document.records.rows.back();
  EXPECT_EQ(row[column(document.records, "t_comm_from")].text, "data sheet");
}

TEST(PredictionTable, TellsEachNoteOnceAndMarksTheRowsItIsAbout) {
  const Document document = prediction_document(samples::curve("alexnet"));
  const Table& table = document.tables.front();
  EXPECT_EQ(std::ranges::count(table.notes,
                               "1: ranks 4 to 64: all-reduce extrapolated from 2 ranks"),
            1);
  EXPECT_EQ(cell(table, 0, "notes"), "");
  EXPECT_EQ(cell(table, 2, "notes"), "1");
}

TEST(PredictionTable, TellsOnceWhatIsTrueOfSeveralRanksWhateverTheExamples) {
  auto curve = samples::curve("alexnet");
  for (auto& prediction : curve) {
    prediction.notes.clear();
    prediction.notes.push_back(model::remark("of all"));
    const int ranks = prediction.run.ranks;
    if (ranks == 8 || ranks == 16) {
      model::Note some = model::remark("of some");
      some.examples = {{ranks}};
      prediction.notes.push_back(some);
    }
  }
  const Document document = prediction_document(curve);
  const Table& table = document.tables.front();
  EXPECT_EQ(std::ranges::count(table.notes, "1: of all"), 1);
  EXPECT_EQ(std::ranges::count(table.notes, "2: ranks 8, 16: of some (8; 16)"), 1);
  EXPECT_EQ(cell(table, 0, "notes"), "1");
  EXPECT_EQ(cell(table, 4, "notes"), "1,2");
  // By itself a prediction says only what is true of it.
  EXPECT_EQ(cell(document.records, 4, "notes"), "of all; of some (16)");
  const ParsedJson json = ParsedJson::parse(document.json());
  const ParsedJson expected{{{"kind", "remark"}, {"text", "of all"}},
                            {{"kind", "remark"}, {"text", "of some (16)"}}};
  EXPECT_EQ(json.at("predictions").at(4).at("notes"), expected);
}

TEST(PredictionTable, TellsHowFarTheClosedFormIsOffOrWhyThereIsNone) {
  auto curve = samples::curve("alexnet");
  curve[0].closed_form->total = 1.001 * curve[0].time.total;
  curve[3].closed_form.reset();
  curve[3].closed_form_absent = "input is the bottleneck";
  const Table table = prediction_document(curve).tables.front();
  EXPECT_TRUE(says(table, "1.0e-03"));
  EXPECT_TRUE(says(table, "(ranks 8): input is the bottleneck"));
}

TEST(PredictionTable, GivesEveryRunATableOfItsOwn) {
  auto both = samples::curve("alexnet");
  for (const auto& each : samples::curve("resnet50")) both.push_back(each);
  EXPECT_EQ(prediction_document(both).tables.size(), 2U);
}

TEST(Rates, FollowFromDeclaredWork) {
  Measurement measurement = samples::timed("conv", {}, {0.5, 0.5, 0.5});
  measurement.work = Work{Flops(2e9), Bytes(1e8)};
  EXPECT_DOUBLE_EQ(rates(measurement).flops->si(), 4e9);
  EXPECT_DOUBLE_EQ(rates(measurement).bytes->si(), 2e8);
  EXPECT_FALSE(rates(measurement).algbw.has_value());
}

// A damaged file may declare any number.
TEST(Rates, AreAbsentWhereWorkMakesNoFiniteNumber) {
  Measurement measurement = samples::timed("conv", {}, {1e-4, 1e-4, 1e-4});
  measurement.work = Work{Flops(1e308), Bytes(1e308)};
  measurement.algorithmic_work = Work{Flops(1e308), Bytes(1e3)};
  EXPECT_FALSE(rates(measurement).flops.has_value());
  EXPECT_FALSE(rates(measurement).bytes.has_value());
  EXPECT_FALSE(rates(measurement).algorithmic.has_value());
}

TEST(Rates, OfAnAllReduceAreThoseOfNcclTests) {
  const Measurement measurement = samples::timed(
      "comm", {{"collective", "all_reduce"}, {"bytes", "1000000"}, {"ranks", "4"}}, {1e-3});
  EXPECT_DOUBLE_EQ(rates(measurement).algbw->si(), 1e9);
  EXPECT_DOUBLE_EQ(rates(measurement).busbw->si(), 1.5e9);
}

TEST(Rates, AreAbsentWithoutATime) {
  Measurement wrong;
  wrong.benchmark = "conv";
  wrong.work = Work{Flops(1), Bytes(1)};
  wrong.status = Status::wrong;
  EXPECT_FALSE(rates(wrong).flops.has_value());
}

TEST(Remarks, AreCountedAndTheRareOnesLeftToTheFile) {
  std::vector<Measurement> measurements(3, samples::timed("conv", {}, {1.0}));
  for (auto& measurement : measurements) measurement.warnings = {"often"};
  measurements[0].warnings.emplace_back("a rare one");
  measurements[1].warnings.emplace_back("another rare one");
  EXPECT_EQ(remarks(measurements, 1),
            (std::vector<std::string>{"warning: often (3 cells)",
                                      "and 2 remarks more, which the results have"}));
  EXPECT_EQ(remarks(measurements, 9).size(), 3U);
}

TEST(ResultRecords, HaveUnitsInTheirKeys) {
  const std::vector files{samples::file("e2e", {samples::e2e({}, samples::PhaseTimes{})})};
  const Table records = result_records(files);
  for (const char* key : {"t_iter_s", "t_iter_low_s", "loss", "network"}) {
    EXPECT_LT(column(records, key), records.columns.size());
  }
  const ParsedJson json = ParsedJson::parse(results_json(files)());
  EXPECT_EQ(json.at("schema"), "dlscale.result_summary");
  EXPECT_DOUBLE_EQ(json.at("measurements").at(0).at("series").at("t_f").at("median_s"), 0.2);
}

}  // namespace
}  // namespace dlscale::report
