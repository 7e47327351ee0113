#include "report/kernels/roofline_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/kernels/kernel_tables.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

constexpr const char* one_kernel = "convolution c64 h28 w28 k64 r3 s3 stride1 pad1 groups1";

model::KernelCase case_by(convolution::Method method) {
  return model::make_case({.backend = "native", .method = method}, one_kernel, 4, 16);
}

model::JudgedSample judged(convolution::Method method, double measured, double predicted) {
  return {{case_by(method), Seconds(measured), {"net conv1"}},
          {{Seconds(predicted), Seconds(0.9 * predicted), Seconds(1.1 * predicted)},
           {"m"},
           Seconds(predicted / 4)}};
}

model::KernelJudgement judgement(double median, double chosen) {
  model::KernelJudgement result;
  result.samples = {judged(convolution::Method::im2col, 4e-3, 5e-3),
                    judged(convolution::Method::winograd_f4, 2e-3, 2.02e-3)};
  model::AlgorithmErrors im2col{
      .algorithm = "native im2col", .threads = 2, .kernels = 1, .samples = 1};
  im2col.median = median;
  im2col.p90 = 0.2;
  im2col.naive_median = 0.7;
  model::AlgorithmErrors all = im2col;
  all.algorithm = "all";
  all.threads = 0;
  result.algorithms = {im2col, all};
  result.choice.all.predicted = {1, 1, Seconds(chosen), Seconds(2e-3)};
  result.training_kernels = 12;
  return result;
}

TEST(RooflineDocument, PassesWhereEveryLimitIsKept) {
  EXPECT_EQ(exit_code(judgement(0.05, 2e-3), {}), ExitCode::ok);
  EXPECT_EQ(exit_code(judgement(0.11, 2e-3), {}), ExitCode::regression);
  EXPECT_EQ(exit_code(judgement(0.11, 2e-3), {.median = 0.12}), ExitCode::ok);
  EXPECT_EQ(exit_code(judgement(0.05, 2.2e-3), {}), ExitCode::regression);
}

TEST(RooflineDocument, IsInconclusiveWhereNotAllWasJudged) {
  model::KernelJudgement some = judgement(0.05, 2e-3);
  some.not_judged = 2;
  EXPECT_EQ(exit_code(some, {}), ExitCode::inconclusive);
  model::KernelJudgement untold = judgement(0.05, 2e-3);
  untold.not_told = {{"native im2col", 3}};  // of which other times are judged
  EXPECT_EQ(exit_code(untold, {}), ExitCode::ok);
  untold.not_told["onednn direct"] = 1;
  EXPECT_EQ(exit_code(untold, {}), ExitCode::inconclusive);
  model::KernelJudgement alone = judgement(0.05, 2e-3);
  alone.choice = {};
  EXPECT_EQ(exit_code(alone, {}), ExitCode::inconclusive);
}

TEST(RooflineDocument, SaysTheSameInWordsAndNumbers) {
  const Document document = roofline_document(judgement(0.05, 2.1e-3), {3, 2, 1}, {});
  expect_well_made(document);
  EXPECT_TRUE(contains(document.lead, "1 of 1 algorithms")) << document.lead;
  EXPECT_TRUE(says(document.tables.front(), "6 results left out"));
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("verdict"), "passed");
  EXPECT_NEAR(json.at("samples").at(0).at("error").get<double>(), 0.25, 1e-12);
  EXPECT_EQ(json.at("samples").at(0).at("predicted").at("beyond").at(0), "m");
}

TEST(RooflineDocument, NamesNumbersAlikeInEveryRun) {
  const Document document = roofline_document(judgement(0.05, 2.1e-3), {}, {});
  expect_declared(document);
  model::KernelJudgement after = judgement(0.2, 3e-3);
  after.samples[0] = judged(convolution::Method::im2col, 5e-3, 5.5e-3);
  after.samples[1].prediction.beyond = {"k"};
  expect_same_series(document, roofline_document(after, {}, {}));
}

TEST(RooflineDocument, CountsWhatTheFitDoesNotTellByName) {
  model::KernelJudgement found = judgement(0.05, 2e-3);
  found.not_told = {{"native im2col", 3}};
  const Document document = roofline_document(found, {}, {});
  EXPECT_TRUE(says(document.tables.front(), "3 times of native im2col left out"));
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("not_told").at("native im2col"), 3);
  EXPECT_EQ(document.tables.size(), 3);
  EXPECT_TRUE(json.at("algorithms_of_both_halves").empty());
}

TEST(RooflineDocument, TellsErrorsOverBothHalves) {
  model::KernelJudgement found = judgement(0.05, 2e-3);
  found.algorithms_of_both_halves = found.algorithms;
  found.algorithms_of_both_halves.front().median = 0.0625;
  const Document document = roofline_document(found, {}, {});
  ASSERT_EQ(document.tables.size(), 4);
  const Table& table = document.tables.back();
  ASSERT_EQ(table.rows.size(), 2);
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(table.rows[0][5].text, "6.2 %");
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("algorithms_of_both_halves").at(0).at("median_abs"), 0.0625);
}

TEST(RooflineDocument, SetsWhatNoiseCostsBesideTheLossOfChoice) {
  model::KernelJudgement once = judgement(0.05, 2e-3);
  const Table alone = roofline_document(once, {}, {}).tables[1];
  ASSERT_EQ(alone.rows.size(), 1);
  EXPECT_TRUE(says(alone, "not known"));
  once.choice.all.repeated = {4, 3, Seconds(5.5e-3), Seconds(5e-3)};
  const Document document = roofline_document(once, {}, {});
  const Table& table = document.tables[1];
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(table.rows[1][6].text, "10.0 %");
  EXPECT_EQ(exit_code(once, {}), ExitCode::ok);  // noise is no fault of the model
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_NEAR(json.at("choice_by_repeats").at("loss").get<double>(), 0.1, 1e-12);
  EXPECT_EQ(json.at("algorithms").at(0).at("threads"), 2);
  EXPECT_TRUE(json.at("algorithms").at(1).at("threads").is_null());
}

TEST(RooflineDocument, TellsLossesByBatchAndByHowOftenKernelsRun) {
  model::KernelJudgement found = judgement(0.05, 2e-3);
  model::ChoicePart weighted;
  weighted.counting = model::Counting::by_steps;
  weighted.predicted = {2, 1, Seconds(12e-3), Seconds(10e-3), 0.1};
  model::ChoicePart batch;
  batch.layers_of = model::LayersOf::lists;
  batch.batch = 16;
  batch.predicted = {1, 0, Seconds(3e-3), Seconds(2e-3), 0.5};
  found.choice.parts = {weighted, batch};
  found.choice_of_both_halves.predicted = {5, 4, Seconds(21e-3), Seconds(20e-3), 0};
  found.choice.incomplete = 7;
  found.choice.unanswered = 1;
  found.choice.not_offered["onednn winograd_f4"] = 3;
  const Document document = roofline_document(found, {}, {});
  const Table& table = document.tables[1];
  ASSERT_EQ(table.rows.size(), 4);
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(table.rows[3][0].text, "layers of networks, both halves");
  EXPECT_EQ(table.rows[3][6].text, "5.0 %");
  EXPECT_EQ(table.rows[1][0].text, "layers of networks, as often as they run");
  EXPECT_EQ(table.rows[1][6].text, "20.0 %");
  EXPECT_EQ(table.rows[1][7].text, "10.0 %");
  EXPECT_EQ(table.rows[2][0].text, "shapes of lists, batch 16");
  EXPECT_TRUE(says(table, "7 questions left out where not every algorithm was measured"));
  EXPECT_TRUE(says(table, "1 question left out of which no way"));
  EXPECT_TRUE(says(table, "onednn winograd_f4 chosen 3 times where it is not offered"));
  EXPECT_EQ(exit_code(found, {}), ExitCode::ok);  // the limit is that of all layers of networks
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("choice_of"), "networks");
  const auto& parts = json.at("choice_parts");
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts.at(0).at("counted"), "by_steps");
  EXPECT_EQ(parts.at(0).at("by_prediction").at("median_loss"), 0.1);
  EXPECT_TRUE(parts.at(0).at("by_repeats").at("loss").is_null());
  EXPECT_EQ(parts.at(1).at("batch"), 16);
  EXPECT_EQ(json.at("choice_not_offered").at("onednn winograd_f4"), 3);
  EXPECT_EQ(json.at("choice_of_both_halves").at("by_prediction").at("choices"), 5);
}

TEST(RooflineDocument, SaysWhichStageBounds) {
  model::KernelJudgement found = judgement(0.05, 2e-3);
  model::KernelPrediction& prediction = found.samples.front().prediction;
  prediction.always = Seconds(1e-3);
  prediction.correction = 1.25;
  prediction.stages = {{"patches", Seconds(0), Seconds(1e-3)},
                       {"product", Seconds(3e-3), Seconds(2e-3)}};
  const auto json = nlohmann::json::parse(roofline_document(found, {}, {}).json());
  const auto& predicted = json.at("samples").at(0).at("predicted");
  EXPECT_EQ(predicted.at("correction"), 1.25);
  EXPECT_EQ(predicted.at("start_and_tensors_s"), 1e-3);
  const auto& stages = predicted.at("stages");
  ASSERT_EQ(stages.size(), 2);
  EXPECT_EQ(stages.at(0).at("bound_by"), "memory");
  EXPECT_EQ(stages.at(0).at("time_s"), 1e-3);
  EXPECT_EQ(stages.at(1).at("name"), "product");
  EXPECT_EQ(stages.at(1).at("bound_by"), "compute");
  EXPECT_EQ(stages.at(1).at("memory_s"), 2e-3);
}

TEST(ChoiceDocument, SaysHowAWorkspaceIsKnown) {
  const auto cell_by = [](model::WorkspaceBasis basis) {
    const model::Way way{.backend = "onednn", .method = convolution::Method::direct};
    const model::Candidate candidate{
        way, {{Seconds(1), Seconds(1), Seconds(1)}, {}, Seconds(1)}, {Bytes(1024), basis}, true};
    const std::vector<LayerChoice> choices{{"conv1", one_kernel, Pass::forward, {candidate}}};
    const Document document = choice_document("net", 4, {}, choices);
    const auto json = nlohmann::json::parse(document.json());
    EXPECT_EQ(json.at("layers").at(0).at("candidates").at(0).at("workspace_basis"),
              model::workspace_basis_name(basis));
    return document.tables.front().rows.front()[5].text;
  };
  const std::string plain = to_text(Bytes(1024));
  EXPECT_EQ(cell_by(model::WorkspaceBasis::declared), plain);
  EXPECT_EQ(cell_by(model::WorkspaceBasis::measured), plain);
  EXPECT_EQ(cell_by(model::WorkspaceBasis::bounded), "≤ " + plain);
  EXPECT_EQ(cell_by(model::WorkspaceBasis::formula), plain + " by the formula");
}

model::Candidate candidate(convolution::Method method, double time, double workspace, bool fits) {
  const model::Way way{.backend = "native", .method = method};
  return {way,
          {{Seconds(time), Seconds(0.9 * time), Seconds(1.2 * time)}, {}, Seconds(time / 2)},
          {Bytes(workspace), model::WorkspaceBasis::declared},
          fits};
}

TEST(ChoiceDocument, NamesNumbersAlikeWhicheverIsFirst) {
  const auto document = [](const model::Candidate& first, const model::Candidate& second) {
    return choice_document(
        "net", 4, {},
        std::vector<LayerChoice>{{"conv1", one_kernel, Pass::forward, {first, second}}});
  };
  const Document before = document(candidate(convolution::Method::im2col, 2e-3, 1e6, true),
                                   candidate(convolution::Method::fft, 4e-3, 1e6, true));
  expect_declared(before);
  expect_same_series(before, document(candidate(convolution::Method::fft, 1e-3, 2e6, false),
                                      candidate(convolution::Method::im2col, 3e-3, 1e6, true)));
}

TEST(ChoiceDocument, NamesTheBestThatFitsAndTheLayersThatHaveNone) {
  const std::vector<LayerChoice> choices{
      {"conv1",
       one_kernel,
       Pass::forward,
       {candidate(convolution::Method::im2col, 4e-3, 1e6, true),
        candidate(convolution::Method::winograd_f4, 2e-3, 9e6, false)}},
      {"conv2", one_kernel, Pass::forward, {}},
      {"conv3",
       one_kernel,
       Pass::forward,
       {candidate(convolution::Method::fft, 1e-3, 9e9, false)}}};
  const Document document = choice_document("net", 4, Bytes(2e6), choices);
  EXPECT_TRUE(contains(document.lead, "4.000 ms")) << document.lead;
  EXPECT_TRUE(contains(document.lead, "for 1 of the 3 distinct")) << document.lead;
  EXPECT_TRUE(contains(document.lead, "For 2 of them no algorithm is known that fits."))
      << document.lead;
  const Document free = choice_document("net", 4, {}, choices);
  EXPECT_TRUE(contains(free.lead, "For 2 of them no model tells a time.")) << free.lead;
  EXPECT_EQ(nothing_fits("net", 4, Bytes(2e6), choices), "");
  EXPECT_EQ(exit_code(choices), ExitCode::ok);
  const Table& table = document.tables.front();
  ASSERT_EQ(table.rows.size(), 3);
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(table.rows[0][2].text, "native im2col");
  EXPECT_EQ(table.rows[1][2].text, "no model offers it");
  EXPECT_EQ(table.rows[2][2].text, "none fits; native fft needs least");
  EXPECT_EQ(table.rows[2][5].text, to_text(Bytes(9e9)));
  EXPECT_EQ(document.records.rows.size(), 3);
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("layers").at(0).at("candidates").at(1).at("fits"), false);
  EXPECT_EQ(json.at("workspace_limit_bytes"), 2e6);
}

TEST(ChoiceDocument, NamesTheWaysOfWhichNoModelTells) {
  const model::Way untold{.backend = "onednn", .method = convolution::Method::direct};
  const std::vector<LayerChoice> choices{{"conv1",
                                          one_kernel,
                                          Pass::forward,
                                          {candidate(convolution::Method::im2col, 4e-3, 1e6, true)},
                                          {untold}},
                                         {"conv2", one_kernel, Pass::backward_data, {}, {untold}}};
  const Document document = choice_document("net", 4, {}, choices);
  const Table& table = document.tables.front();
  EXPECT_EQ(table.rows[0][2].text, "native im2col");
  EXPECT_EQ(table.rows[1][2].text, "nothing like it was measured");
  EXPECT_TRUE(contains(table.notes.back(), "onednn direct at 2.")) << table.notes.back();
  const auto json = nlohmann::json::parse(document.json());
  EXPECT_EQ(json.at("layers").at(0).at("untold").at(0).at("algorithm"), "direct");
}

TEST(CeilingTables, SayWhereTheLastLevelMayBeNoMemory) {
  const model::KernelSample sample{case_by(convolution::Method::im2col), Seconds(1), {"net conv1"}};
  const auto says_so = [&](const char* last) {
    const model::HierarchicalRoofline roofline(
        FlopsPerSecond(1e11),
        {{"level 1", Bytes(1e6), BytesPerSecond(1e11)}, {last, Bytes(1e9), BytesPerSecond(1e10)}});
    const std::vector placed{model::place(roofline, sample)};
    const Table table = ceiling_tables(roofline, placed).front();
    EXPECT_EQ(table.rows.back().front().text, last);
    return std::ranges::any_of(table.notes, [](const std::string& note) {
      return note.find("4 times the last-level cache") != std::string::npos;
    });
  };
  EXPECT_FALSE(says_so(model::memory_name));
  EXPECT_TRUE(says_so(model::farthest_name));
}

TEST(NothingFits, NamesWhatNeedsLeastAndWhatIsEnoughForAll) {
  std::vector<LayerChoice> choices{{"conv1",
                                    one_kernel,
                                    Pass::forward,
                                    {candidate(convolution::Method::winograd_f4, 2e-3, 9e6, false),
                                     candidate(convolution::Method::im2col, 4e-3, 5e6, false)}},
                                   {"conv2",
                                    one_kernel,
                                    Pass::backward_data,
                                    {candidate(convolution::Method::fft, 1e-3, 3e6, false)}}};
  const std::string all = nothing_fits("net", 4, Bytes(2e6), choices);
  EXPECT_NE(all.find("native fft at conv2, backward_data, needs least, 2930 KiB, and with 4883 KiB "
                     "every pass has one"),
            std::string::npos)
      << all;
  choices.push_back({"conv3", one_kernel, Pass::forward, {}});  // an unknown size
  const std::string some = nothing_fits("net", 4, Bytes(2e6), choices);
  EXPECT_TRUE(contains(some, "needs least, 2930 KiB. Allow more")) << some;
}

TEST(NothingFits, SaysNothingWhereOnlyFormulasTellWhatIsTaken) {
  model::Candidate unknown = candidate(convolution::Method::im2col, 1e-3, 1e3, false);
  unknown.workspace.basis = model::WorkspaceBasis::formula;
  const std::vector<LayerChoice> choices{{"conv1", one_kernel, Pass::forward, {unknown}}};
  EXPECT_EQ(nothing_fits("net", 4, Bytes(2e6), choices), "");
  EXPECT_EQ(exit_code(choices), ExitCode::inconclusive);
  const Document document = choice_document("net", 4, Bytes(2e6), choices);
  EXPECT_FALSE(contains(document.lead, "fastest algorithms")) << document.lead;
  EXPECT_TRUE(contains(document.lead, "Of none of the 1 distinct")) << document.lead;
  EXPECT_EQ(document.tables.front().rows.front()[2].text, "none is known to fit");
}

}  // namespace
}  // namespace dlscale::report
