#include "app/report/next_steps.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "app/report/answer_kinds.hpp"
#include "app/report/measured_steps.hpp"
#include "regression/gate/gate_report.hpp"

namespace dlscale::app {
namespace {

using regression::GateCanary;
using regression::GateReport;
using regression::Verdict;
using report::NextStep;
using testing::ElementsAre;
using testing::HasSubstr;

/// A gate of two commands after 10 rounds.
GateReport gate(Verdict verdict, GateCanary canary) {
  GateReport report;
  report.margin = 0.01;
  report.looks = {{10, 0.05}};
  report.rounds = 10;
  report.base.command = {"/bin/sh", "-c", "sleep 0.1"};
  report.changed.command = {"./new", "run it"};
  report.canary = canary;
  report.metrics.emplace_back();
  report.metrics[0].verdict = report.verdict = verdict;
  return report;
}

std::vector<std::string> commands_of(const std::vector<NextStep>& steps) {
  std::vector<std::string> commands;
  for (const NextStep& step : steps) commands.push_back(step.command);
  return commands;
}

std::vector<std::string> commands_of(const GateReport& gate, const std::string& file = "") {
  return commands_of(steps_of_gate(gate, file));
}

constexpr const char* again =
    "dlscale gate --base 'sleep 0.1' --new './new '\\''run it'\\''' --rounds 10 --canary";

TEST(StepsOfGate, MakeTheTestOfTheBaseAgainstItselfWhereARegressionLacksIt) {
  EXPECT_THAT(commands_of(gate(Verdict::regressed, GateCanary::not_run)), ElementsAre(again));
}

TEST(StepsOfGate, CompareThePhasesOfTrainingsAlone) {
  GateReport regressed = gate(Verdict::regressed, GateCanary::quiet);
  EXPECT_THAT(commands_of(regressed, "gate.json"),
              ElementsAre("dlscale report gate.json --format comment -o page"));
  regressed.metrics[0].key = "e2e network=tiny";
  EXPECT_THAT(commands_of(regressed), ElementsAre("dlscale compare BASE NEW"));
}

TEST(StepsOfGate, KeepResultsWhereThereAreSome) {
  GateReport same = gate(Verdict::not_regressed, GateCanary::quiet);
  EXPECT_THAT(commands_of(same), ElementsAre("dlscale history add RESULTS --store perf-history"));
  same.metrics[0].key = "command";
  same.metrics[0].series = "wall";
  EXPECT_THAT(commands_of(same), ElementsAre());
}

TEST(StepsOfGate, FindWhatIsNoisyBeforeAnythingIsRepeated) {
  EXPECT_THAT(commands_of(gate(Verdict::inconclusive, GateCanary::alarmed), "gate.json"),
              ElementsAre("dlscale doctor", again, "dlscale noise --minutes 10 -o noise"));
}

TEST(StepsOfGate, RunAsManyRoundsAsMayDecideIfTheyAreFew) {
  GateReport open = gate(Verdict::inconclusive, GateCanary::quiet);
  open.metrics[0].rounds = 10;
  open.metrics[0].ratio = 1.03;
  open.metrics[0].ratio_low = 1.005;
  open.metrics[0].ratio_high = 1.055;
  open.margin = 0.015;
  EXPECT_THAT(commands_of(open), ElementsAre(HasSubstr("--rounds 29 --margin 0.015 --canary")));
  open.metrics[0].ratio_low = 0.9;
  EXPECT_THAT(commands_of(open), ElementsAre("dlscale doctor", HasSubstr("--rounds 40 "),
                                             "dlscale noise --minutes 10 -o noise"));
}

TEST(StepsOfUnstable, ReplaceAnOptionThatLacksItsValue) {
  const std::vector<std::string> line{"./dlscale", "bench", "gemm", "--max-time"};
  EXPECT_THAT(commands_of(steps_of_unstable(1, 1, line, {{"max_time", "0.5"}})),
              ElementsAre("dlscale doctor", "dlscale bench gemm --max-time 1"));
}

TEST(StepsOfComparison, GateTheBenchmarkThatChanged) {
  const auto answer = report::Json::parse(
      R"({"verdict": "regressed", "place_differences": [], "attributions": [], "rows": [
          {"key": "e2e network=tiny", "verdict": "unchanged"},
          {"key": "conv batch=1", "verdict": "regressed"}]})");
  EXPECT_THAT(commands_of(steps_of_comparison(answer)).front(), testing::EndsWith("-- bench conv"));
}

TEST(StepsOfUnstable, MeasureAgainForTwiceTheTimeAndDoNotGoOn) {
  const std::vector<std::string> line{"./dlscale",  "bench", "gemm", "--resume",
                                      "--max-time", "0.5",   "-o",   "a b.jsonl"};
  const auto steps = steps_of_unstable(3, 10, line, {{"ranks", "1"}, {"max_time", "0.5"}});
  EXPECT_THAT(commands_of(steps),
              ElementsAre("dlscale doctor", "dlscale bench gemm -o 'a b.jsonl' --max-time 1"));
  EXPECT_TRUE(steps.front().reason.starts_with("3 of 10 measurements are unstable:"));
  const std::vector<std::string> usual{"dlscale", "bench", "e2e", "--iterations=5"};
  EXPECT_THAT(commands_of(steps_of_unstable(1, 1, usual, {{"iterations", "5"}})),
              ElementsAre("dlscale doctor", "dlscale bench e2e --iterations 10"));
  EXPECT_THAT(commands_of(steps_of_unstable(1, 1, line, {{"ranks", "2"}, {"max_time", "0.5"}})),
              ElementsAre("dlscale doctor"));
}

TEST(StepsOfMachine, MeasureWhatAnIterationNeedsAndTheMachineLacks) {
  model::Machine made;
  made.h2d.emplace_back();
  made.update.emplace_back();
  made.collectives.emplace_back();
  EXPECT_THAT(commands_of(steps_of_machine("machine.json", made, {}, {})),
              ElementsAre(HasSubstr("dlscale bench conv "), HasSubstr("dlscale bench io ")));
  made.kernels.emplace_back();
  made.loaders.emplace_back();
  made.collectives.clear();
  const auto steps = steps_of_machine("machine.json", made, {}, {"e2e"});
  EXPECT_THAT(commands_of(steps), ElementsAre("dlscale bench comm --ranks 2 -o comm.jsonl",
                                              HasSubstr("dlscale validate e2e ")));
  EXPECT_TRUE(steps.front().reason.starts_with("It lacks communication:"));
}

TEST(OpenLikePage, LeavesAnswersAloneThatHaveNoSummary) {
  report::Document of_text;
  of_text.lead = "as it was";
  of_text.json = report::JsonText("dlscale.gate", [] { return std::string("{}"); });
  open_like_page(of_text);
  EXPECT_EQ(of_text.lead, "as it was");
  EXPECT_TRUE(of_text.next.empty());
}

}  // namespace
}  // namespace dlscale::app
