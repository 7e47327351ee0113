#include "report/roofline_table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/quantity_text.hpp"

namespace dlscale::report {
namespace {

constexpr const char* kernel = "convolution c64 h28 w28 k64 r3 s3 stride1 pad1 groups1";

model::KernelCase case_by(lowering::Method method) {
  return model::make_case({.backend = "native", .method = method}, kernel, 4, 16);
}

model::JudgedSample judged(lowering::Method method, double measured, double predicted) {
  return {{case_by(method), Seconds(measured), {"net conv1"}},
          {{Seconds(predicted), Seconds(0.9 * predicted), Seconds(1.1 * predicted)},
           {"m"},
           Seconds(predicted / 4)}};
}

model::KernelJudgement judgement(double median, double chosen) {
  model::KernelJudgement result;
  result.samples = {judged(lowering::Method::im2col, 4e-3, 5e-3),
                    judged(lowering::Method::winograd_f4, 2e-3, 2.02e-3)};
  model::AlgorithmErrors im2col{
      .algorithm = "native im2col", .threads = 2, .kernels = 1, .samples = 1};
  im2col.median = median;
  im2col.p90 = 0.2;
  im2col.naive_median = 0.7;
  model::AlgorithmErrors all = im2col;
  all.algorithm = "all";
  all.threads = 0;
  result.algorithms = {im2col, all};
  result.choice = {1, 1, Seconds(chosen), Seconds(2e-3)};
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
  model::KernelJudgement alone = judgement(0.05, 2e-3);
  alone.choice = {};
  EXPECT_EQ(exit_code(alone, {}), ExitCode::inconclusive);
}

TEST(RooflineDocument, SaysTheSameInWordsAndNumbers) {
  const Document document = roofline_document(judgement(0.05, 2.1e-3), {3, 2, 1}, {});
  EXPECT_NE(document.lead.find("1 of 1 algorithms"), std::string::npos) << document.lead;
  const auto json = nlohmann::json::parse(document.json);
  EXPECT_EQ(json.at("schema"), "dlscale.roofline_validation");
  EXPECT_EQ(json.at("verdict"), "passed");
  EXPECT_EQ(json.at("algorithms").at(0).at("median_abs"), 0.05);
  EXPECT_NEAR(json.at("choice").at("loss").get<double>(), 0.05, 1e-12);
  EXPECT_NEAR(json.at("samples").at(0).at("error").get<double>(), 0.25, 1e-12);
  EXPECT_EQ(json.at("samples").at(0).at("predicted").at("beyond").at(0), "m");
  ASSERT_EQ(document.records.rows.size(), 2);
  EXPECT_EQ(document.records.rows.front().size(), document.records.columns.size());
  for (const Table& table : document.tables) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
  }
  bool counted = false;
  for (const std::string& note : document.tables.front().notes) {
    counted |= note.find("6 results left out") != std::string::npos;
  }
  EXPECT_TRUE(counted);
}

TEST(RooflineDocument, SetsWhatNoiseCostsBesideTheLossOfChoice) {
  model::KernelJudgement once = judgement(0.05, 2e-3);
  const Table alone = roofline_document(once, {}, {}).tables[1];
  ASSERT_EQ(alone.rows.size(), 1);
  EXPECT_NE(alone.notes.front().find("not known"), std::string::npos);
  once.repeated_choice = {4, 3, Seconds(5.5e-3), Seconds(5e-3)};
  const Document document = roofline_document(once, {}, {});
  const Table& table = document.tables[1];
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(table.rows[1][5].text, "10.0 %");
  EXPECT_EQ(exit_code(once, {}), ExitCode::ok);  // noise is no fault of the model
  const auto json = nlohmann::json::parse(document.json);
  EXPECT_NEAR(json.at("choice_by_repeats").at("loss").get<double>(), 0.1, 1e-12);
  EXPECT_EQ(json.at("algorithms").at(0).at("threads"), 2);
  EXPECT_TRUE(json.at("algorithms").at(1).at("threads").is_null());
}

TEST(ChoiceDocument, SaysHowAWorkspaceIsKnown) {
  const auto cell_by = [](model::WorkspaceBasis basis) {
    const model::Way way{.backend = "onednn", .method = lowering::Method::direct};
    const model::Candidate candidate{
        way, {{Seconds(1), Seconds(1), Seconds(1)}, {}, Seconds(1)}, {Bytes(1024), basis}, true};
    const std::vector<LayerChoice> choices{{"conv1", kernel, Pass::forward, {candidate}}};
    const Document document = choice_document("net", 4, {}, choices);
    const auto json = nlohmann::json::parse(document.json);
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

model::Candidate candidate(lowering::Method method, double time, double workspace, bool fits) {
  const model::Way way{.backend = "native", .method = method};
  return {way,
          {{Seconds(time), Seconds(0.9 * time), Seconds(1.2 * time)}, {}, Seconds(time / 2)},
          {Bytes(workspace), model::WorkspaceBasis::declared},
          fits};
}

TEST(ChoiceDocument, NamesTheBestThatFitsAndTheLayersThatHaveNone) {
  const std::vector<LayerChoice> choices{
      {"conv1",
       kernel,
       Pass::forward,
       {candidate(lowering::Method::im2col, 4e-3, 1e6, true),
        candidate(lowering::Method::winograd_f4, 2e-3, 9e6, false)}},
      {"conv2", kernel, Pass::forward, {}},
      {"conv3", kernel, Pass::forward, {candidate(lowering::Method::fft, 1e-3, 9e9, false)}}};
  const Document document = choice_document("net", 4, Bytes(2e6), choices);
  EXPECT_NE(document.lead.find("4.000 ms"), std::string::npos) << document.lead;
  EXPECT_NE(document.lead.find("for 1 of the 3 distinct"), std::string::npos) << document.lead;
  EXPECT_NE(document.lead.find("For 2 of them"), std::string::npos) << document.lead;
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
  const auto json = nlohmann::json::parse(document.json);
  EXPECT_EQ(json.at("layers").at(0).at("candidates").at(1).at("fits"), false);
  EXPECT_EQ(json.at("workspace_limit_bytes"), 2e6);
}

TEST(NothingFits, NamesWhatNeedsLeastAndWhatIsEnoughForAll) {
  std::vector<LayerChoice> choices{
      {"conv1",
       kernel,
       Pass::forward,
       {candidate(lowering::Method::winograd_f4, 2e-3, 9e6, false),
        candidate(lowering::Method::im2col, 4e-3, 5e6, false)}},
      {"conv2", kernel, Pass::backward_data, {candidate(lowering::Method::fft, 1e-3, 3e6, false)}}};
  const std::string all = nothing_fits("net", 4, Bytes(2e6), choices);
  EXPECT_NE(all.find("native fft at conv2, backward_data, needs least, " + to_text(Bytes(3e6)) +
                     ", and with " + to_text(Bytes(5e6)) + " every pass has one"),
            std::string::npos)
      << all;
  choices.push_back({"conv3", kernel, Pass::forward, {}});  // of which nobody knows what it takes
  const std::string some = nothing_fits("net", 4, Bytes(2e6), choices);
  EXPECT_NE(some.find("needs least, " + to_text(Bytes(3e6)) + ". Give more"), std::string::npos)
      << some;
}

TEST(NothingFits, SaysNothingWhereOnlyFormulasTellWhatIsTaken) {
  model::Candidate unknown = candidate(lowering::Method::im2col, 1e-3, 1e3, false);
  unknown.workspace.basis = model::WorkspaceBasis::formula;
  const std::vector<LayerChoice> choices{{"conv1", kernel, Pass::forward, {unknown}}};
  EXPECT_EQ(nothing_fits("net", 4, Bytes(2e6), choices), "");
  EXPECT_EQ(exit_code(choices), ExitCode::inconclusive);
  const Document document = choice_document("net", 4, Bytes(2e6), choices);
  EXPECT_EQ(document.lead.find("fastest algorithms"), std::string::npos) << document.lead;
  EXPECT_NE(document.lead.find("Of none of the 1 distinct"), std::string::npos) << document.lead;
  EXPECT_EQ(document.tables.front().rows.front()[2].text, "none is known to fit");
}

}  // namespace
}  // namespace dlscale::report
