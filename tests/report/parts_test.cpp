#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "report/figure/figures.hpp"
#include "report/kernels/algorithm_tables.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/results/rates.hpp"
#include "report/sections/report.hpp"
#include "report/sections/summary.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

/// Of one set, those of times by algorithm or the others.
std::vector<Table> tables_of_one_set(std::span<const ResultFile> results, const KernelStudy& study,
                                     bool of_times) {
  const auto sets = tables_by_set(results, study);
  EXPECT_EQ(sets.size(), 1);
  std::vector<Table> tables = sets.begin()->second;
  std::erase_if(tables, [of_times](const Table& table) {
    return table.title.starts_with("Times by algorithm: ") != of_times;
  });
  return tables;
}

std::vector<Table> time_tables(std::span<const ResultFile> results, const KernelStudy& study) {
  return tables_of_one_set(results, study, true);
}

std::vector<Table> layer_tables(std::span<const ResultFile> results, const KernelStudy& study) {
  return tables_of_one_set(results, study, false);
}

TEST(TimeTables, HaveAlgorithmsSideBySideAndTheLeadOfTheFastest) {
  const ReportInput input = samples::parts_input();
  const auto tables = time_tables(input.results, *input.kernels);
  ASSERT_EQ(tables.size(), 1);
  const Table& table = tables.front();
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(table.title, "Times by algorithm: vgg16, batch 4, f32, 1 thread, cold caches");
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
            "native winograd_f4 is fastest in 2 of 2 measured cases (layer, pass and batch).");
  EXPECT_TRUE(contains(fastest_sentence({}), "none ran"));
}

TEST(FastestSentence, SaysWhereNotAllAlgorithmsWereMeasured) {
  ResultFile file = samples::algorithms();
  Measurement more = samples::algorithm({.algorithm = "fft_tiled", .implementation = "fft_tiled"});
  more.axes["layer"] = "L2";
  file.measurements.push_back(more);
  std::vector files{file};
  EXPECT_TRUE(fastest_sentence(files).ends_with(
      ". All cases lack algorithms that were measured in others, and that may be faster."))
      << fastest_sentence(files);
  const Table table = algorithms_table(files, KernelStudy(files));
  EXPECT_EQ(cell(table, 0, "algorithm"), "native fft");
  EXPECT_EQ(cell(table, 0, "not offered at"), "2");
  EXPECT_EQ(cell(table, 0, "not measured at"), "1");
  EXPECT_EQ(cell(table, 1, "algorithm"), "native fft_tiled");
  EXPECT_EQ(cell(table, 1, "ran at"), "1");
  EXPECT_EQ(cell(table, 1, "not measured at"), "2");
  // Measured with other caches only, the others are no rivals.
  files.front().measurements.back().axes["cache"] = "hot";
  EXPECT_TRUE(fastest_sentence(files).ends_with(", native fft_tiled in 1."))
      << fastest_sentence(files);
  EXPECT_EQ(cell(algorithms_table(files, KernelStudy(files)), 0, "not measured at"), "0");
}

/// One row an algorithm, each with six samples from `low` to `high`.
Measurement spread(const std::string& algorithm, double low, double high) {
  Measurement row = samples::algorithm({.algorithm = algorithm});
  const double step = (high - low) / 5;
  row.series["time"] =
      make_series("s", {{low, low + step, low + 2 * step, low + 3 * step, low + 4 * step, high}});
  return row;
}

TEST(Leaders, AreNotToldFromSamplesTooFewForAnInterval) {
  const Measurement a = samples::algorithm({.algorithm = "im2col", .seconds = 1});
  Measurement b = samples::algorithm({.algorithm = "fft", .seconds = 2});
  b.series["time"] = make_series("s", {std::vector<double>(5, 2.0)});
  EXPECT_EQ(leaders({&a, &b}).size(), 2);
  EXPECT_EQ(tie_text({&a, &b}), " (not known)");
  Measurement sole = a;
  sole.series["time"] = make_series("s", {{1.0}});
  const Measurement known = samples::algorithm({.algorithm = "fft", .seconds = 2});
  EXPECT_EQ(interval_text(sole.at("time").summary), "-");
  ResultFile file = samples::algorithms();
  file.measurements = {sole, known};
  EXPECT_TRUE(contains(fastest_sentence(std::vector{file}),
                       " 1 is not known, as fewer than 6 samples have no 95 % interval."));
}

TEST(Leaders, AreThoseWhoseIntervalsOverlapTheFastest) {
  const Measurement a = spread("im2col", 1.0, 1.2);
  const Measurement b = spread("fft", 1.5, 1.7);
  const Measurement c = spread("winograd_f4", 1.1, 2.9);  // wide: slowest by its median
  EXPECT_EQ(leaders({&a, &b}), Rows{&a});
  EXPECT_EQ(leaders({&b, &c, &a}), (Rows{&a, &c}));
  EXPECT_EQ(leaders({}), Rows{});
  const Measurement again = spread("fft", 1.15, 1.3);  // a repeat of b that took less
  EXPECT_EQ(leaders({&a, &b, &again}).size(), 2);
}

TEST(FastestSentence, CountsTiesApart) {
  const auto at = [](Measurement row, const std::string& layer) {
    row.axes["layer"] = layer;
    return row;
  };
  const std::vector files{samples::file(
      "conv", {at(spread("im2col", 1.0, 1.2), "a"), at(spread("fft", 1.1, 1.3), "a"),
               at(spread("im2col", 1.0, 1.2), "b"), at(spread("fft", 1.5, 1.7), "b")})};
  EXPECT_EQ(
      fastest_sentence(files),
      "native im2col is fastest in 1 of 2 measured cases (layer, pass and batch). 1 is a tie, as "
      "95 % intervals overlap.");
  const Table table = algorithms_table(files, KernelStudy(files));
  EXPECT_EQ(cell(table, 0, "algorithm"), "native fft");
  EXPECT_EQ(cell(table, 0, "fastest at"), "0");
  EXPECT_EQ(cell(table, 0, "tied at"), "1");
  EXPECT_EQ(cell(table, 1, "fastest at"), "1");
  EXPECT_EQ(cell(table, 1, "tied at"), "1");
  EXPECT_EQ(cell(time_tables(files, KernelStudy(files)).front(), 0, "second / fastest"),
            "1.09 (tie)");
}

TEST(TimeTables, LetNoKeptFiltersWin) {
  ResultFile file = samples::algorithms();
  file.measurements.push_back(samples::algorithm({.algorithm = "winograd_f4_kept_filters",
                                                  .implementation = "kept filters+winograd",
                                                  .seconds = 1e-4}));
  const std::vector files{file};
  const Table table = time_tables(files, KernelStudy(files)).front();
  EXPECT_EQ(cell(table, 0, "fastest"), "native winograd_f4");
  EXPECT_EQ(cell(table, 0, "second / fastest"), "2.00");
  EXPECT_EQ(cell(table, 0, "native winograd_f4_kept_filters ms"), "0.1000");
  EXPECT_TRUE(contains(table.notes.back(), "training cannot"));
  EXPECT_EQ(fastest_sentence(files), fastest_sentence(std::vector{samples::algorithms()}));
  const Table counts = algorithms_table(files, KernelStudy(files));
  EXPECT_EQ(cell(counts, 3, "algorithm"), "native winograd_f4_kept_filters");
  EXPECT_EQ(cell(counts, 3, "not measured at"), "–");
}

TEST(TimeTables, SayWhereOnlyKeptFiltersRan) {
  const std::vector files{
      samples::file("conv", {samples::algorithm({.algorithm = "winograd_f4_kept_filters",
                                                 .implementation = "kept filters+winograd",
                                                 .seconds = 1e-4})})};
  EXPECT_EQ(cell(time_tables(files, KernelStudy(files)).front(), 0, "fastest"),
            "only with kept filters");
  EXPECT_TRUE(contains(fastest_sentence(files), "only with kept filters"));
}

TEST(AlgorithmsTable, CountsWhereEachRanWonAndWasRefused) {
  const ReportInput input = samples::parts_input();
  const Table table = algorithms_table(input.results, *input.kernels);
  ASSERT_EQ(table.rows.size(), 4);  // fft, im2col, winograd_f4, direct; not what training chooses
  EXPECT_EQ(cell(table, 0, "algorithm"), "native fft");
  EXPECT_EQ(cell(table, 0, "not offered at"), "2");
  EXPECT_EQ(cell(table, 0, "time / fastest, median"), "");
  EXPECT_EQ(cell(table, 1, "time / fastest, median"), "3.00");
  EXPECT_EQ(cell(table, 2, "fastest at"), "2");
  EXPECT_EQ(cell(table, 2, "effective GFLOP/s, median"), "148.0");
  EXPECT_EQ(cell(table, 3, "fastest at"), "0");
}

TEST(AnswersTable, HasTheLargestErrorAndTheMedianOfMeans) {
  std::vector<Measurement> rows;
  for (const double error : {1e-6, 5e-6, 2e-6}) {
    rows.push_back(samples::algorithm({}));
    rows.back().axes["layer"] = "conv" + std::to_string(rows.size());
    rows.back().max_relative_error = 10 * error;
    rows.back().mean_relative_error = error;
  }
  const Table table = answers_table(std::vector{samples::file("conv", rows)});
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, 0, "forward largest"), "5.0e-05");
  EXPECT_EQ(cell(table, 0, "forward mean"), "2.0e-06");
}

TEST(TablesBySet, PutAKernelOfSeveralNetworksWithTheFirst) {
  Measurement elsewhere = samples::algorithm({});
  elsewhere.axes["network"] = "alexnet";
  ResultFile file = samples::algorithms();
  file.measurements.push_back(elsewhere);
  const std::vector files{file};
  const auto sets = tables_by_set(files, KernelStudy(files));
  ASSERT_EQ(sets.size(), 2);
  EXPECT_EQ(sets.at("vgg16").size(), 1);  // times alone
  ASSERT_EQ(sets.at("alexnet").size(), 2);
  EXPECT_TRUE(contains(sets.at("alexnet").back().title, "alexnet conv1_2 and 1 layer more"));
}

TEST(TimeTables, TakeTheMiddleOfRepeats) {
  std::vector<Measurement> rows;
  for (const double seconds : {0.5, 0.1, 0.3}) {
    rows.push_back(samples::algorithm({"native", "im2col", "im2col+gemm", "forward", seconds}));
    rows.back().axes["repeat"] = std::to_string(rows.size());
  }
  const std::vector<ResultFile> results{samples::file("conv", rows)};
  const auto tables = time_tables(results, KernelStudy(results));
  ASSERT_EQ(tables.size(), 1);
  EXPECT_EQ(cell(tables.front(), 0, "native im2col ms"), "300.0");
  EXPECT_EQ(cell(tables.front(), 0, "second / fastest"), "alone");
}

TEST(TimeTables, KeepLayoutsApart) {
  std::vector<Measurement> rows{
      samples::algorithm({"onednn", "direct", "jit:avx512_core", "forward", 0.2}),
      samples::algorithm({"onednn", "direct", "jit:avx512_core", "forward", 0.1})};
  rows.back().axes["layout"] = "nhwc";
  const std::vector<ResultFile> results{samples::file("conv", rows)};
  const auto tables = time_tables(results, KernelStudy(results));
  ASSERT_EQ(tables.size(), 2);
  EXPECT_TRUE(contains(tables.front().title, "layout nhwc")) << tables.front().title;
  EXPECT_EQ(cell(tables.front(), 0, "onednn direct ms"), "100.0");
  EXPECT_FALSE(contains(tables.back().title, "layout")) << tables.back().title;
  EXPECT_EQ(cell(tables.back(), 0, "onednn direct ms"), "200.0");
}

TEST(TimeTables, SayWhereNothingRanOrAnAnswerWasWrong) {
  Measurement wrong = samples::algorithm({});
  wrong.status = Status::wrong;
  wrong.series.clear();
  const std::vector<ResultFile> results{samples::file("conv", {wrong})};
  const auto tables = time_tables(results, KernelStudy(results));
  EXPECT_EQ(cell(tables.front(), 0, "fastest"), "none ran");
  EXPECT_EQ(cell(tables.front(), 0, "native im2col ms"), "wrong");
  const Table counts = algorithms_table(results, KernelStudy(results));
  EXPECT_EQ(cell(counts, 0, "failed at"), "1");
  EXPECT_EQ(cell(counts, 0, "ran at"), "0");
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
    if (way.method != convolution::Method::direct || way.pass != Pass::forward) continue;
    found = true;
    EXPECT_NEAR(*share, placed.bound.si() / 0.2, 1e-9);
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(input.kernels->share(samples::algorithm({.implementation = "somebody's own"})));
}

TEST(KernelStudy, SaysWhyThereIsNoRoofline) {
  const std::vector<ResultFile> alone{samples::algorithms()};
  EXPECT_TRUE(contains(KernelStudy(alone).obstacle(), "Measure the memory"));
  std::vector<ResultFile> two_hosts{samples::algorithms(), samples::memory()};
  two_hosts.back().header.environment.host_hash = "another";
  const KernelStudy study(two_hosts);
  EXPECT_TRUE(contains(study.obstacle(), "different hosts"));
  EXPECT_TRUE(study.placed().empty());
  EXPECT_THROW(static_cast<void>(processor_of(two_hosts)), ConfigError);
}

TEST(PartsReport, HasWhatTheResultsHoldAndNothingOfTraining) {
  const ReportInput input = samples::parts_input();
  const std::string page = html(report_page(input));
  EXPECT_TRUE(contains(
      page, "<title>dlscale measurement: Which convolution is the fastest on Sample CPU?</title>"));
  for (const char* id : {"convolutions", "processor", "environment", "warnings"}) {
    EXPECT_TRUE(contains(page, "<div id=\"" + std::string(id) + "\"")) << id;
  }
  for (const char* id : {"errors", "validation", "speedup", "machine"}) {
    EXPECT_FALSE(contains(page, "<div id=\"" + std::string(id) + "\"")) << id;
  }
  EXPECT_TRUE(contains(page, "<details>\n<summary>vgg16 conv1_2: convolution"));
}

TEST(PartsReport, HasTablesByLayerOnPagesOfTheirOwn) {
  const std::vector<TextFile> pages = markdown(report_page(samples::parts_input()));
  ASSERT_EQ(pages.size(), 2);
  EXPECT_EQ(pages[0].file, "README.md");
  EXPECT_TRUE(contains(pages[0].text, "* vgg16: [tables](<layers/vgg16.md>)"));
  EXPECT_FALSE(contains(pages[0].text, "creation ms"));
  EXPECT_EQ(pages[1].file, "layers/vgg16.md");
  EXPECT_TRUE(is_page_text(pages[1].text));
  EXPECT_TRUE(contains(pages[1].text, "# Tables by layer of vgg16\n"));
  EXPECT_TRUE(contains(pages[1].text, "**vgg16 conv1_2: convolution c64"));
  EXPECT_TRUE(contains(pages[1].text, "creation ms"));
}

TEST(PartsReport, HasNoPageThatACodeHostDoesNotShow) {
  ReportInput input = samples::parts_input();
  std::vector<Measurement> rows;
  for (int i = 0; i < 2000; ++i) {
    rows.push_back(samples::algorithm({}));
    rows.back().axes["layer"] = "conv" + std::to_string(i);
    rows.back().axes["kernel"] =
        "convolution c" + std::to_string(i + 1) + " h9 w9 k8 r3 s3 stride1 pad1 groups1";
    rows.back().implementation = "somebody's own";  // on no roofline, in no model
  }
  input.results = {samples::file("conv", rows)};
  input.kernels = std::make_shared<KernelStudy>(input.results);
  const std::vector<TextFile> pages = markdown(report_page(input));
  ASSERT_GT(pages.size(), 4);
  std::string text;
  for (std::size_t i = 1; i < pages.size(); ++i) {
    EXPECT_LT(pages[i].text.size(), 151'000) << pages[i].file;
    EXPECT_TRUE(contains(pages[0].text, "(<" + pages[i].file.generic_string() + ">)"));
    text += pages[i].text;
  }
  for (const char* layer : {"vgg16 conv0: ", "vgg16 conv1000: ", "vgg16 conv1999: "}) {
    EXPECT_TRUE(contains(text, layer)) << layer;
  }
}

TEST(PartsReport, NamesPagesByLettersThatNeedNoQuoting) {
  ReportInput input = samples::parts_input();
  Measurement row = samples::algorithm({});
  row.axes["network"] = "my/net <x>";
  input.results = {samples::file("conv", {row})};
  EXPECT_EQ(markdown(report_page(input)).at(1).file, "layers/my-net--x-.md");
}

TEST(PartsReport, SaysWhatARooflineNeeds) {
  ReportInput input = samples::parts_input();
  input.results = {samples::algorithms()};
  input.kernels = std::make_shared<KernelStudy>(input.results);
  EXPECT_TRUE(contains(html(report_page(input)), "No roofline: "));
}

TEST(PartsReport, IsForAlgorithmsLatenciesAndPeaks) {
  EXPECT_TRUE(tells_of_parts(std::vector{samples::algorithms()}));
  EXPECT_TRUE(tells_of_parts(std::vector{samples::latency()}));
  EXPECT_FALSE(tells_of_parts(std::vector{samples::memory()}));
  ResultFile chosen = samples::algorithms();
  for (Measurement& row : chosen.measurements) row.axes["algorithm"] = "chosen";
  EXPECT_FALSE(tells_of_parts(std::vector{chosen}));
}

TEST(PartsReport, SaysTiesOnTheFirstScreen) {
  ReportInput input = samples::parts_input();
  const auto verdict_on = [&](std::vector<Measurement> rows) {
    input.results = {samples::file("conv", std::move(rows))};
    return report_page(input).verdict;
  };
  EXPECT_TRUE(verdict_on({spread("im2col", 1.0, 1.2), spread("fft", 1.1, 1.3)})
                  .starts_with("No convolution is alone the fastest in 1 case (layer, pass and "
                               "batch): 1 is a tie within the 95 % intervals"));
  EXPECT_EQ(verdict_on({spread("im2col", 1.0, 1.2), spread("fft", 1.5, 1.7)}),
            "native im2col is the fastest in 1 of 1 case (layer, pass and batch).");
}

TEST(PartsReport, HasArithmeticInTheDataTypeOfTheConvolutions) {
  ReportInput input = samples::parts_input();
  ResultFile peaks = samples::peaks();
  Measurement faster = peaks.measurements.front();
  faster.axes["dtype"] = "bf16";
  faster.series["time"] = make_series("s", {std::vector<double>(8, 1e-9)});
  for (ResultFile& file : input.results) {
    if (file.header.benchmark == "peak") file.measurements.push_back(faster);
  }
  const std::vector<Tile> tiles = report_page(input).tiles;
  EXPECT_NE(std::ranges::find(tiles, "Arithmetic in f32", &Tile::name), tiles.end());
}

TEST(PartsReport, TakesTheMiddleOfLaunchesAndSaysOfHowManyItIsTheBest) {
  ReportInput input;
  input.trained = false;
  const auto product = [](const char* kernel, double seconds) {
    Measurement row = samples::timed("gemm", {{"kernel", kernel}, {"dtype", "f32"}},
                                     std::vector<double>(8, seconds));
    row.work = Work{Flops(2e6), Bytes(1e5)};
    return samples::file("gemm", {row});
  };
  for (const double seconds : {1e-3, 2e-3, 4e-3}) {
    input.results.push_back(product("gemm m100 n100 k100 ta0 tb0", seconds));
    input.results.back().measurements.front().axes["repeat"] =
        std::to_string(input.results.size());
  }
  input.results.push_back(product("gemm m10 n10 k10 ta0 tb0", 9e-3));
  const Tile tile = report_page(input).tiles.front();
  EXPECT_EQ(tile.value, "1.00 GFLOP/s") << "2 MFLOP in 2 ms, not the lucky 1 ms";
  EXPECT_TRUE(contains(tile.detail, "best of 2, 3 launches: -50.0 % to +100.0 %")) << tile.detail;
}

TEST(PartsReport, HasTheLatencyOfTheLastLevelWithItsInterval) {
  ReportInput input;
  input.trained = false;
  ResultFile sweep = samples::latency();
  Measurement& levels = sweep.measurements.front();
  levels.series["core_clock"] = make_series("Hz", {std::vector<double>(8, 3e9)});
  levels.series["level_latency_low"] = make_series("s", {{1.2e-9, 8e-9}});
  levels.series["level_latency_high"] = make_series("s", {{1.3e-9, 11e-9}});
  input.results = {sweep};
  const Tile tile = report_page(input).tiles.front();
  EXPECT_EQ(tile.value, "9.000 ns");
  EXPECT_EQ(tile.detail, "with usual pages, 95 % interval 8.000 ns to 11.00 ns");
}

TEST(PartsReport, AnswersForMatrixProductsAndForNoiseAlone) {
  ReportInput input;
  input.trained = false;
  Measurement product =
      samples::timed("gemm", {{"kernel", "gemm m100 n100 k100 ta0 tb0"}, {"dtype", "f32"}},
                     std::vector<double>(8, 1e-3));
  product.work = Work{Flops(2e6), Bytes(1e5)};
  input.results = {samples::file("gemm", {product})};
  EXPECT_TRUE(tells_of_parts(input.results));
  EXPECT_EQ(parts_document(input).lead, "Matrix products in f32 reach 2.00 GFLOP/s ±0.0 %.");
  input.results.clear();
  input.noise = {{"noise.json", "a machine", "2026-01-01", "3.0 % or more"}};
  EXPECT_EQ(parts_document(input).lead, "Smallest detectable change: 3.0 % or more.");
  input.noise.front().sees = "3.0 %";
  input.noise.front().spreads = {{"conv", 0.01}, {"gemm", 0.02}};
  const Page page = report_page(input);
  EXPECT_EQ(page.question, "How small a change does a gate see on a machine?");
  EXPECT_EQ(page.tiles.front().value, "3.0 %");
  EXPECT_EQ(page.tiles.back().value, "gemm");
  ASSERT_EQ(page.picture, "noise");
  EXPECT_TRUE(contains(page.figures.front().svg, "gemm"));
}

TEST(PartsReport, TellsTheSameOnTheScreen) {
  const Document document = parts_document(samples::parts_input());
  EXPECT_EQ(document.tables.size(), 5);  // algorithms, answers, and of the processor
  EXPECT_TRUE(contains(document.json(), "dlscale.result_summary"));
}

}  // namespace
}  // namespace dlscale::report
