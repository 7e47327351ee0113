#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "regression/check/check.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/history/listing.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"
#include "report/history/history_table.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/sections/gate_sections.hpp"
#include "report/sections/summary.hpp"
#include "tests/regression/history/histories.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using nlohmann::json;
using regression::GateMetric;
using regression::GateReport;
using regression::Verdict;

std::string bencher_text(const Document& document) {
  return format::find_format("bencher").write(document, {});
}

json metrics_of(const Document& document) {
  const std::string text = bencher_text(document);
  std::istringstream content(text);
  EXPECT_TRUE(format::is_bencher_metrics(content)) << text;
  return json::parse(text);
}

/// "benchmark: measure" of all.
std::set<std::string> names_of(const Document& document) {
  EXPECT_TRUE(metrics_of(document).is_object());
  return bencher_series_of(document);
}

std::string refusal(const Document& document) {
  try {
    (void)bencher_text(document);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

Document document_of(std::vector<Column> columns, std::vector<std::vector<Cell>> rows) {
  Document document;
  document.records = {"", std::move(columns), std::move(rows), {}};
  document.json = std::string(R"({"schema": "dlscale.names", "version": 1})");
  return document;
}

TEST(Bencher, HasTheNewVersionsTimesOfAGateInNanosecondsAndTheRatioWithItsInterval) {
  const json metrics = metrics_of(gate_document(samples::gate()));
  EXPECT_EQ(metrics.size(), 5U);
  const json& slower =
      metrics.at("conv batch=1 series=time direction=smaller_is_better statistic=minimum");
  ASSERT_EQ(slower.size(), 2U) << slower;
  EXPECT_DOUBLE_EQ(slower.at("latency").at("value").get<double>(), 1.06e6);
  EXPECT_DOUBLE_EQ(slower.at("ratio").at("value").get<double>(), 1.06);
  EXPECT_DOUBLE_EQ(slower.at("ratio").at("lower_value").get<double>(), 0.99 * 1.06);
  EXPECT_DOUBLE_EQ(slower.at("ratio").at("upper_value").get<double>(), 1.01 * 1.06);
  const json& undecided =
      metrics.at("conv batch=16 series=time direction=smaller_is_better statistic=minimum");
  EXPECT_FALSE(undecided.at("ratio").contains("upper_value")) << "there is none";
}

TEST(Bencher, NamesUnitsOtherThanThoseThatItKnows) {
  GateReport gate = samples::gate();
  gate.metrics.resize(4);
  const std::vector<std::pair<const char*, const char*>> units{
      {"B/s", "bytes-per-second"}, {"1/s", "throughput"}, {"items/s", "items-s"}, {"1", "value"}};
  for (std::size_t i = 0; i < units.size(); ++i) gate.metrics[i].unit = units[i].first;
  const json metrics = metrics_of(gate_document(gate));
  std::set<std::string> measures;
  for (const json& benchmark : metrics) {
    for (const auto& [measure, metric] : benchmark.items()) measures.insert(measure);
  }
  EXPECT_EQ(measures,
            (std::set<std::string>{"bytes-per-second", "throughput", "items-s", "value", "ratio"}));
}

TEST(Bencher, HasTheSameNamesInEveryRunWhateverWasMeasured) {
  const GateReport before = samples::gate();
  GateReport after = before;
  for (GateMetric& metric : after.metrics) {
    metric.changed *= 1.3;
    metric.verdict = Verdict::inconclusive;
    metric.rounds = 40;
    metric.note = "another";
  }
  after.machine = "Another CPU";  // a testbed of the project
  EXPECT_EQ(names_of(gate_document(before)), names_of(gate_document(after)));
}

TEST(Bencher, HasNoNumberOfWhatTheNewVersionDidNotMeasureOrGotWrong) {
  GateReport gate = samples::gate();
  gate.missing.push_back({"conv batch=64", "time", "s"});
  EXPECT_EQ(metrics_of(gate_document(gate)).size(), 5U);
  const Document rows = document_of({{"benchmark", Align::left, Meaning::key},
                                     {"status", Align::left, Meaning::state},
                                     {"time_s", Align::left, Meaning::value}},
                                    {{{"a"}, {"ok"}, {"0.5"}},
                                     {{"b"}, {"wrong"}, {"0.25"}},
                                     {{"c"}, {"unstable"}, {"1"}},
                                     {{"d"}, {"crashed"}, {"9"}},
                                     {{"e"}, {"ok"}, {""}}});
  EXPECT_EQ(names_of(rows), (std::set<std::string>{"a: latency", "c: latency"}));
}

TEST(Bencher, HasTheSecondSideOfAComparison) {
  ResultFile a = samples::file("conv", {samples::timed("conv", {{"layer", "1"}}, {1.0, 1.0})});
  ResultFile b = samples::file("conv", {samples::timed("conv", {{"layer", "1"}}, {2.0, 2.0})});
  const std::vector<ResultFile> first{a};
  const std::vector<ResultFile> second{b};
  const json metrics = metrics_of(comparison_document(compare(first, second, 0.02)));
  ASSERT_EQ(metrics.size(), 1U) << metrics;
  const json& measures = *metrics.begin();
  EXPECT_TRUE(metrics.begin().key().starts_with("conv ")) << metrics;
  EXPECT_EQ(measures.at("latency").at("value"), 2e9);
  EXPECT_EQ(measures.at("ratio").at("value"), 2);
  EXPECT_TRUE(measures.at("ratio").contains("lower_value"));
  EXPECT_EQ(measures.size(), 2U) << measures;
}

TEST(Bencher, HasTimesAndRatesOfResultsWithTheirIntervals) {
  const json metrics = metrics_of(parts_document(samples::report_input()));
  ASSERT_FALSE(metrics.empty());
  bool any = false;
  for (const auto& [benchmark, measures] : metrics.items()) {
    EXPECT_TRUE(benchmark.starts_with("e2e ")) << benchmark;
    EXPECT_FALSE(contains(benchmark, "machine=")) << benchmark;
    any = any || measures.contains("t-iter-seconds");
    for (const auto& [measure, metric] : measures.items()) {
      EXPECT_FALSE(contains(measure, "-low-") || contains(measure, "-high-")) << measure;
      if (measure != "t-iter-seconds") continue;
      EXPECT_TRUE(metric.contains("lower_value") && metric.contains("upper_value")) << metric;
    }
  }
  EXPECT_TRUE(any) << metrics;
}

TEST(Bencher, TellsMachinesApartWhereThereAreSeveral) {
  ReportInput input = samples::report_input();
  const std::set<std::string> one = names_of(parts_document(input));
  input.results.push_back(input.results.front());
  input.results.back().header.environment.cpu = "Another CPU";
  bool all = true;
  for (const std::string& name : names_of(parts_document(input))) {
    all = all && contains(name, " machine=");
  }
  EXPECT_TRUE(all);
  EXPECT_GT(names_of(parts_document(input)).size(), one.size());
}

TEST(Bencher, HasIterationsOfPredictionsWithTheirIntervals) {
  const std::vector<model::Prediction> curve = samples::curve("alexnet");
  const json metrics = metrics_of(prediction_document(curve));
  EXPECT_EQ(metrics.size(), curve.size());
  for (const json& measures : metrics) {
    const json& iteration = measures.at("t-iter-seconds");
    EXPECT_LT(iteration.at("lower_value"), iteration.at("value"));
    EXPECT_GT(iteration.at("upper_value"), iteration.at("value"));
    EXPECT_TRUE(measures.contains("images-per-second"));
    EXPECT_TRUE(measures.contains("speedup"));
    EXPECT_FALSE(measures.contains("t-iter-low-seconds"));
  }
}

/// A history of one kernel.
class BencherHistory : public testing::Test {
 protected:
  BencherHistory() : store_(history::samples::folder_store(folder_.path())) {
    std::vector<history::ImportedRun> runs;
    for (int commit = 1; commit <= 12; ++commit) {
      runs.push_back(history::samples::run_of({history::samples::kernel()}, commit, 1e-3 * commit));
    }
    store_.add(runs);
  }
  Document listed(std::size_t last) {
    return history_list_document(history::list(store_, {every(), {}, last}));
  }
  static std::function<bool(const history::SeriesKey&)> every() {
    return [](const history::SeriesKey&) { return true; };
  }
  history::samples::TemporaryFolder folder_;
  history::Store store_;
};

TEST_F(BencherHistory, HasTheNewestCommitOfEverySeriesInQuietNightsToo) {
  const json checked = metrics_of(history_check_document(history::check(store_, every())));
  ASSERT_EQ(checked.size(), 1U) << checked;
  EXPECT_DOUBLE_EQ(checked.begin()->at("latency").at("value").get<double>(), 12e6);
  const json metrics = metrics_of(listed(1));
  ASSERT_EQ(metrics.size(), 1U) << metrics;
  EXPECT_DOUBLE_EQ(metrics.begin()->at("latency").at("value").get<double>(), 12e6);
  EXPECT_EQ(metrics.begin()->size(), 1U) << metrics;
}

TEST_F(BencherHistory, IsNotWrittenOfSeveralCommits) {
  EXPECT_TRUE(contains(refusal(listed(2)), "covers several commits")) << refusal(listed(2));
}

TEST(Bencher, TellsRowsOfOneQuestionApartByTheirNumber) {
  const Document rows = document_of(
      {{"benchmark", Align::left, Meaning::key}, {"time_s", Align::left, Meaning::value}},
      {{{"a"}, {"1"}}, {{"a"}, {"2"}}});
  EXPECT_EQ(names_of(rows), (std::set<std::string>{"a: latency", "a row=2: latency"}));
}

TEST(Bencher, TakesEndsOfIntervalsThatStandAloneForThoseOfThePrediction) {
  const Document rows = document_of({{"layer", Align::left, Meaning::key},
                                     {"measured_s", Align::left, Meaning::value},
                                     {"predicted_s", Align::left, Meaning::value},
                                     {"low_s", Align::left, Meaning::value},
                                     {"high_s", Align::left, Meaning::value},
                                     {"other_low_s", Align::left, Meaning::value}},
                                    {{{"conv1"}, {"1"}, {"2"}, {"1.5"}, {"3"}, {"4"}}});
  EXPECT_EQ(metrics_of(rows), json::parse(R"({"layer=conv1": {
    "measured-seconds": {"value": 1.0}, "other-low-seconds": {"value": 4.0},
    "predicted-seconds": {"value": 2.0, "lower_value": 1.5, "upper_value": 3.0}}})"));
}

TEST(Bencher, RefusesWhatItCannotTake) {
  const Document words = document_of({{"name", Align::left, Meaning::key}}, {{{"a"}}});
  EXPECT_EQ(
      refusal(words),
      "a dlscale.names has no numbers that Bencher could follow. Use the format json or csv.");
  const std::vector<Column> columns{{"name", Align::left, Meaning::key},
                                    {"time_s", Align::left, Meaning::value}};
  EXPECT_EQ(refusal(document_of(columns, {{{std::string(1024, 'x')}, {"1"}}})), "");
  const std::string problem = refusal(document_of(columns, {{{std::string(1025, 'x')}, {"1"}}}));
  EXPECT_TRUE(contains(problem, "a name of 1025 bytes, and Bencher takes 1024")) << problem;
  const Document odd =
      document_of({{std::string(70, 'm'), Align::left, Meaning::value}}, {{{"1"}}});
  EXPECT_TRUE(contains(refusal(odd), "a name of 70 bytes, and Bencher takes 64")) << refusal(odd);
  // Of a document that could have numbers and has none the file says that.
  EXPECT_EQ(bencher_text(document_of(columns, {{{"a"}, {""}}})), "{}\n");
}

TEST(Bencher, StaysJsonWhateverNamesHold) {
  const Document rows =
      document_of({{"name", Align::left, Meaning::key}, {"time_s", Align::left, Meaning::value}},
                  {{{"<b>\"q\"\\ | \n\x01 \xff 漢"}, {"1"}}, {{""}, {"2"}}});
  EXPECT_EQ(metrics_of(rows).size(), 2U);
  EXPECT_TRUE(metrics_of(rows).contains("all"));
}

bool has_shape(const std::string& text) {
  std::istringstream content(text);
  return format::is_bencher_metrics(content);
}

TEST(BencherShape, IsThatOfBenchmarksWithMeasuresAndNothingElse) {
  for (const char* text :
       {"{}", R"({"a": {"latency": {"value": 1}}})",
        R"( {"a": {"m": {"value": 1e3, "lower_value": -1}, "n": {"upper_value": 2, "value": 0}},
             "b": {"m": {"value": 1}}} )"}) {
    EXPECT_TRUE(has_shape(text)) << text;
  }
  for (const char* text : {"",
                           "{",
                           "[]",
                           "1",
                           "null",
                           "{\"a\": 1}",
                           "{\"a\": {}}",
                           R"({"a": {"m": {}}})",
                           R"({"a": {"m": 1}})",
                           R"({"a": {"m": {"value": "1"}}})",
                           R"({"a": {"m": {"value": null}}})",
                           R"({"a": {"m": {"lower_value": 1}}})",
                           R"({"a": {"m": {"value": 1, "unit": "s"}}})",
                           R"({"a": {"m": {"value": 1, "upper_value": {}}}})",
                           R"({"a": {"m": [{"value": 1}]}})",
                           R"({"a": {"m": {"value": 1}}, "b": {}})",
                           R"({"a": {"m": {"value": 1}}, "b": 2})",
                           R"({"a": {"m": {"value": 1}}} x)",
                           R"({"": {"m": {"value": 1}}})",
                           R"({"schema": "dlscale.gate", "version": 1})"}) {
    EXPECT_FALSE(has_shape(text)) << text;
  }
}

TEST(BencherShape, IsReplacedByItsOwnFormatAlone) {
  const Document gate = gate_document(samples::gate());
  const auto may_replace = [&](const std::string& there, const char* format) {
    std::istringstream content(there);
    return format::may_replace(content, gate, format::find_format(format));
  };
  const std::string own = format::file_text(format::find_format("bencher"), gate);
  EXPECT_TRUE(may_replace(own, "bencher"));
  EXPECT_FALSE(may_replace(own, "json"));
  EXPECT_FALSE(may_replace(R"({"mine": 1})", "bencher"));
  EXPECT_TRUE(may_replace(gate.json(), "bencher"));
  EXPECT_TRUE(may_replace(gate.json(), "csv"));
}

}  // namespace
}  // namespace dlscale::report
