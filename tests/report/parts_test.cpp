#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "report/algorithm_tables.hpp"
#include "report/figures.hpp"
#include "report/processor_tables.hpp"
#include "report/report.hpp"
#include "report/summary.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The text in a row under a heading.
std::string cell(const Table& table, std::size_t row, const std::string& heading) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].heading == heading) return table.rows.at(row).at(i).text;
  }
  ADD_FAILURE() << "no column " << heading << " in " << table.title;
  return "";
}

bool has_column(const Table& table, const std::string& heading) {
  for (const Column& column : table.columns) {
    if (column.heading == heading) return true;
  }
  return false;
}

TEST(FastestTables, HaveAlgorithmsSideBySideAndTheLeadOfTheFastest) {
  const ReportInput input = samples::parts_input();
  const auto tables = fastest_tables(input.results, *input.kernels);
  ASSERT_EQ(tables.size(), 1);
  const Table& table = tables.front();
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_TRUE(contains(table.title, "batch=4"));
  EXPECT_EQ(cell(table, 0, "pass"), "forward");
  EXPECT_EQ(cell(table, 1, "pass"), "backward_data");
  EXPECT_EQ(cell(table, 0, "fastest"), "native winograd_f4");
  EXPECT_EQ(cell(table, 0, "second / fastest"), "2.00");
  EXPECT_EQ(cell(table, 0, "effective GFLOP/s"), "148.0");
  EXPECT_EQ(cell(table, 0, "executed GFLOP/s"), "50.00");
  EXPECT_EQ(cell(table, 0, "onednn direct ms"), "200.0");
  EXPECT_EQ(cell(table, 0, "native fft ms"), "–");
  EXPECT_FALSE(has_column(table, "onednn chosen ms"));
}

TEST(FastestSentence, CountsWhereAnAlgorithmIsFastest) {
  EXPECT_EQ(fastest_sentence(std::vector{samples::algorithms()}),
            "The fastest algorithm of 2 measured cases (layer, pass and batch): native winograd_f4 "
            "at 2.");
  EXPECT_TRUE(contains(fastest_sentence({}), "none ran"));
}

TEST(FastestTables, LetNoKeptFiltersWin) {
  ResultFile file = samples::algorithms();
  file.measurements.push_back(samples::algorithm({.algorithm = "winograd_f4_kept_filters",
                                                  .implementation = "kept filters+winograd",
                                                  .seconds = 1e-4}));
  const std::vector files{file};
  const Table table = fastest_tables(files, KernelStudy(files)).front();
  EXPECT_EQ(cell(table, 0, "fastest"), "native winograd_f4");
  EXPECT_EQ(cell(table, 0, "second / fastest"), "2.00");
  EXPECT_EQ(cell(table, 0, "native winograd_f4_kept_filters ms"), "0.1000");
  EXPECT_TRUE(contains(table.notes.back(), "training cannot"));
  EXPECT_EQ(fastest_sentence(files), fastest_sentence(std::vector{samples::algorithms()}));
}

TEST(FastestTables, SayWhereOnlyKeptFiltersRan) {
  const std::vector files{
      samples::file("conv", {samples::algorithm({.algorithm = "winograd_f4_kept_filters",
                                                 .implementation = "kept filters+winograd",
                                                 .seconds = 1e-4})})};
  EXPECT_EQ(cell(fastest_tables(files, KernelStudy(files)).front(), 0, "fastest"),
            "only with kept filters");
  EXPECT_TRUE(contains(fastest_sentence(files), "only with kept filters"));
}

TEST(KernelStudy, IsOfTheProcessorOnly) {
  ResultFile file = samples::algorithms();
  Measurement gpu = samples::algorithm({.implementation = "winograd F(4x4,3x3)", .seconds = 1e-7});
  gpu.axes["backend"] = "cuda";
  file.measurements.push_back(gpu);
  const std::vector files{file, samples::memory()};
  const KernelStudy study(files);
  ASSERT_TRUE(study.roofline().has_value());
  const std::vector without{samples::algorithms(), samples::memory()};
  EXPECT_EQ(study.roofline()->peak(), KernelStudy(without).roofline()->peak());
  EXPECT_FALSE(study.share(gpu).has_value());
  file.measurements = {gpu};
  const std::vector alone{file, samples::memory()};
  EXPECT_TRUE(contains(KernelStudy(alone).obstacle(), "on the processor"));
}

TEST(FastestTables, TakeTheMiddleOfRepeats) {
  std::vector<Measurement> rows;
  for (const double seconds : {0.5, 0.1, 0.3}) {
    rows.push_back(samples::algorithm({"native", "im2col", "im2col+gemm", "forward", seconds}));
    rows.back().axes["repeat"] = std::to_string(rows.size());
  }
  const std::vector<ResultFile> results{samples::file("conv", rows)};
  const auto tables = fastest_tables(results, KernelStudy(results));
  ASSERT_EQ(tables.size(), 1);
  EXPECT_EQ(cell(tables.front(), 0, "native im2col ms"), "300.0");
  EXPECT_EQ(cell(tables.front(), 0, "second / fastest"), "alone");
}

TEST(FastestTables, SayWhereNothingRanOrAnAnswerWasWrong) {
  Measurement wrong = samples::algorithm({});
  wrong.status = Status::wrong;
  wrong.series.clear();
  const std::vector<ResultFile> results{samples::file("conv", {wrong})};
  const auto tables = fastest_tables(results, KernelStudy(results));
  EXPECT_EQ(cell(tables.front(), 0, "fastest"), "none ran");
  EXPECT_EQ(cell(tables.front(), 0, "native im2col ms"), "wrong");
}

TEST(LayerTables, HaveSpeedWorkspaceErrorsAndReasons) {
  const ReportInput input = samples::parts_input();
  const auto tables = layer_tables(input.results, *input.kernels);
  ASSERT_EQ(tables.size(), 1);
  const Table& table = tables.front();
  EXPECT_TRUE(contains(table.title, "vgg16 conv1_2: convolution c64"));
  ASSERT_EQ(table.rows.size(), 8);
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(cell(table, 0, "algorithm"), "native winograd_f4");
  EXPECT_EQ(cell(table, 0, "workspace"), "3.00 MiB");
  EXPECT_EQ(cell(table, 0, "max error"), "2.0e-05");
  EXPECT_EQ(cell(table, 0, "mean error"), "3.0e-07");
  EXPECT_EQ(cell(table, 0, "creation ms"), "1.500");
  EXPECT_EQ(cell(table, 0, "executed FLOP/B"), "10.0");
  EXPECT_EQ(cell(table, 3, "ran"), "unsupported: images need 256 points each way");
  EXPECT_EQ(cell(table, 4, "pass"), "backward_data");
}

TEST(LayerTables, NameWhatRanWhereTheTimeIsUnstable) {
  Measurement row = samples::algorithm({});
  row.status = Status::unstable;
  row.reason = "still wide";
  const std::vector<ResultFile> results{samples::file("conv", {row})};
  const auto tables = layer_tables(results, KernelStudy(results));
  EXPECT_EQ(cell(tables.front(), 0, "ran"), "im2col+gemm; unstable: still wide");
}

TEST(KernelStudy, GivesTheShareOfTheMeasuredRoofline) {
  const ReportInput input = samples::parts_input();
  ASSERT_TRUE(input.kernels->roofline()) << input.kernels->obstacle();
  const Measurement& direct = input.results.front().measurements.front();
  const auto share = input.kernels->share(direct);
  ASSERT_TRUE(share);
  bool found = false;
  for (const model::PlacedKernel& placed : input.kernels->placed()) {
    const model::Way& way = placed.sample->what.way;
    if (way.method != lowering::Method::direct || way.pass != Pass::forward) continue;
    found = true;
    EXPECT_NEAR(*share, placed.bound.si() / 0.2, 1e-9);
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(input.kernels->share(samples::algorithm({.implementation = "somebody's own"})));
}

TEST(KernelStudy, SaysWhyThereIsNoRoofline) {
  const std::vector<ResultFile> alone{samples::algorithms()};
  EXPECT_TRUE(contains(KernelStudy(alone).obstacle(), "dlscale bench memory"));
  std::vector<ResultFile> two_hosts{samples::algorithms(), samples::memory()};
  two_hosts.back().header.environment.host_hash = "another";
  const KernelStudy study(two_hosts);
  EXPECT_TRUE(contains(study.obstacle(), "different hosts"));
  EXPECT_TRUE(study.placed().empty());
  EXPECT_THROW(static_cast<void>(processor_of(two_hosts)), ConfigError);
}

TEST(ProcessorTables, HaveLevelsArithmeticAndBandwidth) {
  const ReportInput input = samples::parts_input();
  const auto tables = processor_tables(input.results);
  ASSERT_EQ(tables.size(), 3);
  EXPECT_EQ(cell(tables[0], 0, "capacity"), "46.0 KiB (44.0 KiB – 48.0 KiB)");
  EXPECT_EQ(cell(tables[0], 0, "latency ns"), "1.25");
  EXPECT_EQ(cell(tables[0], 1, "capacity"), "beyond 256 KiB");
  EXPECT_TRUE(contains(tables[0].notes.at(0), "hwloc: L1 48.0 KiB measured 46.0 KiB"));
  EXPECT_EQ(cell(tables[1], 1, "instruction set"), "avx512");
  EXPECT_EQ(cell(tables[1], 1, "GFLOP/s"), "180.0");
  EXPECT_EQ(cell(tables[2], 0, "loop"), "as compiled");
  EXPECT_EQ(cell(tables[2], 0, "32.0 KiB"), "98.30");
  EXPECT_TRUE(processor_tables({}).empty());
}

TEST(ProcessorTables, TakeTheMiddleOfRepeatedBandwidths) {
  ResultFile once = samples::memory();
  ResultFile twice = once;
  for (const double factor : {4.0, 2.0}) {
    Measurement again = once.measurements.front();
    again.work->bytes = factor * again.work->bytes;
    twice.measurements.push_back(again);
  }
  const Table alone = processor_tables(std::vector{once}).front();
  const Table both = processor_tables(std::vector{twice}).front();
  const std::string heading = alone.columns.at(5).heading;
  EXPECT_NEAR(std::stod(cell(both, 0, heading)), 2 * std::stod(cell(alone, 0, heading)), 0.1);
}

TEST(PartsReport, HasWhatTheResultsHoldAndNothingOfTraining) {
  const ReportInput input = samples::parts_input();
  const std::string page = html(input, {});
  EXPECT_TRUE(contains(page, "<title>dlscale: measured on Sample CPU</title>"));
  for (const char* id : {"convolutions", "processor", "environment", "warnings"}) {
    EXPECT_TRUE(contains(page, "<section id=\"" + std::string(id) + "\"")) << id;
  }
  for (const char* id : {"verdict", "validation", "speedup", "machine"}) {
    EXPECT_FALSE(contains(page, "<section id=\"" + std::string(id) + "\"")) << id;
  }
  EXPECT_TRUE(contains(page, "<details>\n<summary>vgg16 conv1_2: convolution"));
  EXPECT_TRUE(contains(markdown(input, {}), "<details>\n<summary>vgg16 conv1_2: convolution"));
}

TEST(PartsReport, SaysWhatARooflineNeeds) {
  ReportInput input = samples::parts_input();
  input.results = {samples::algorithms()};
  input.kernels = std::make_shared<KernelStudy>(input.results);
  EXPECT_TRUE(contains(html(input, {}), "No roofline: "));
}

TEST(PartsReport, IsForAlgorithmsLatenciesAndPeaks) {
  EXPECT_TRUE(tells_of_parts(std::vector{samples::algorithms()}));
  EXPECT_TRUE(tells_of_parts(std::vector{samples::latency()}));
  EXPECT_FALSE(tells_of_parts(std::vector{samples::memory()}));
  ResultFile chosen = samples::algorithms();
  for (Measurement& row : chosen.measurements) row.axes["algorithm"] = "chosen";
  EXPECT_FALSE(tells_of_parts(std::vector{chosen}));
}

TEST(PartsReport, TellsTheSameOnTheScreen) {
  const Document document = parts_document(samples::parts_input());
  EXPECT_EQ(document.tables.size(), 4);
  EXPECT_TRUE(contains(document.json, "dlscale.result_summary"));
}

}  // namespace
}  // namespace dlscale::report
