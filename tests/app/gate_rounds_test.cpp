// What a gate makes of its rounds, of what runs wrote, and of the disks that keep it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "app/gate/gate_session.hpp"
#include "app/gate/gate_verdict.hpp"
#include "app/gate/interleaved.hpp"
#include "app/gate/noise_study.hpp"
#include "app/gate/round_lines.hpp"
#include "app/gate/run_values.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"
#include "report/sections/gate_sections.hpp"

namespace {

/// What the next calls of these end with, as on file systems that cannot: 0 as usual.
int flock_error = 0;
int fsync_error = 0;
/// Of every disk, from now on; below 0: as it is.
long long bytes_free = -1;

}  // namespace

// In place of the library's, in this program alone.
extern "C" int flock(int /*file*/, int /*operation*/) noexcept {
  errno = flock_error;
  return flock_error == 0 ? 0 : -1;
}
extern "C" int fsync(int /*file*/) {
  errno = fsync_error;
  return fsync_error == 0 ? 0 : -1;
}
extern "C" int statvfs(const char* /*path*/, struct statvfs* held) noexcept {
  *held = {};
  held->f_frsize = 1;
  held->f_bavail = static_cast<fsblkcnt_t>(bytes_free);
  return bytes_free < 0 ? -1 : 0;
}

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using regression::GateReport;
using regression::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

RunOutcome run_of(double seconds) {
  RunOutcome run;
  run.values = {{.key = "gemm",
                 .series = "time",
                 .unit = "s",
                 .direction = regression::Direction::smaller_is_better,
                 .statistic = regression::RunStatistic::minimum,
                 .value = seconds,
                 .samples = 10,
                 .spread = 0}};
  run.machine = {{"host", "here"}, {"ranks", "2"}};
  return run;
}

Round round_of(int number, double base, double changed) {
  Round round;
  round.number = number;
  round.order = {base_arm, changed_arm};
  round.runs = {{base_arm, run_of(base)}, {changed_arm, run_of(changed)}};
  round.seconds = 1;
  round.date = "2026-11-23T05:00:00Z";
  return round;
}

std::vector<Round> rounds_of(int count, double base, double changed) {
  std::vector<Round> rounds;
  for (int i = 1; i <= count; ++i) rounds.push_back(round_of(i, base, changed));
  return rounds;
}

std::string written(const char* format, const GateReport& report) {
  return report::format::file_text(report::format::find_format(format),
                                   report::gate_document(report));
}

TEST(GateCanary, AnAlarmLeavesNoMetricAVerdictInAnyForm) {
  std::vector<Round> rounds = rounds_of(10, 1, 1.1);
  for (Round& round : rounds) {
    round.order.emplace_back(canary_arm);
    round.runs[canary_arm] = run_of(1.2);
  }
  const GateReport report = judge_rounds(rounds, {}, 0);
  EXPECT_EQ(report.canary, regression::GateCanary::alarmed);
  EXPECT_EQ(report.metrics.at(0).verdict, Verdict::inconclusive);
  EXPECT_THAT(report.metrics.at(0).note, HasSubstr("the canary alarmed"));
  EXPECT_NEAR(report.metrics.at(0).ratio, 1.1, 1e-9);
  EXPECT_THAT(regression::gate_headline(report), HasSubstr("1 inconclusive of 1"));
  EXPECT_THAT(written("junit", report), HasSubstr("failures=\"0\""));
  EXPECT_THAT(written("openmetrics", report), HasSubstr("dlscale_gate_verdict=\"regressed\"} 0"));
  EXPECT_THAT(written("comment", report), testing::Not(HasSubstr("What changed")));
  EXPECT_TRUE(is_decided(report)) << "no further round can make it trusted";
  EXPECT_EQ(exit_code(report, {}), ExitCode::inconclusive);
}

TEST(GateSession, OfAnotherNumberOfRanksEndsAtOnceWithTheCodeOfABrokenRun) {
  const GateReport report = judge_rounds(rounds_of(1, 1, 1), {}, 4);
  EXPECT_TRUE(report.invalid);
  EXPECT_TRUE(is_decided(report));
  EXPECT_EQ(exit_code(report, {}), ExitCode::wrong_result);
  EXPECT_EQ(exit_code(report, {.inconclusive = GateExit::Inconclusive::passes}),
            ExitCode::wrong_result);
  EXPECT_THAT(report.notes.at(0), HasSubstr("base ran on 2 ranks, not 4"));
  EXPECT_FALSE(judge_rounds(rounds_of(1, 1, 1), {}, 2).invalid);
}

TEST(GateSession, OfTwoPlacesOrProgramsEndsAtOnce) {
  std::vector<Round> rounds = rounds_of(2, 1, 1);
  EXPECT_FALSE(is_decided(judge_rounds(rounds, {}, 0)));
  rounds[1].runs[changed_arm].machine["host"] = "there";
  EXPECT_TRUE(is_decided(judge_rounds(rounds, {}, 0)));
  EXPECT_THAT(judge_rounds(rounds, {}, 0).notes.at(0), HasSubstr("host: \"here\" and \"there\""));
  rounds = rounds_of(2, 1, 1);
  rounds[1].runs[base_arm].program["build"] = "another";
  EXPECT_TRUE(judge_rounds(rounds, {}, 0).invalid);
}

TEST(GateReport, IsInvalidInItsFileToo) {
  const GateReport report = judge_rounds(rounds_of(1, 1, 1), {}, 4);
  EXPECT_TRUE(regression::gate_report_of(regression::to_json(report), "x").invalid);
}

TEST(GateMetrics, ShowBaseAndNewOfTheRoundsThatDecided) {
  // The first ten say 10 % faster, and decide; what comes after is of no account for that metric.
  std::vector<Round> rounds = rounds_of(10, 1, 0.9);
  for (int i = 11; i <= 40; ++i) rounds.push_back(round_of(i, 1, 3));
  const GateReport report = judge_rounds(rounds, {}, 0);
  EXPECT_EQ(report.metrics.at(0).rounds, 10);
  EXPECT_EQ(report.metrics.at(0).verdict, Verdict::improved);
  EXPECT_DOUBLE_EQ(report.metrics.at(0).changed, 0.9);
  EXPECT_EQ(report.metrics.at(0).pairs.size(), 40U);
}

/// Of a suite's files: one step on one rank, one on several.
RunOutcome run_of_files(const std::string& ranks, const std::string& affinity) {
  RunOutcome run = run_of(1);
  run.machine = {{"host", "here"}, {"ranks", ranks}};
  run.files = {{"a.jsonl", {{{"host", "here"}, {"ranks", "1"}, {"affinity", "0"}}, "b"}},
               {"z.jsonl", {{{"host", "here"}, {"ranks", ranks}, {"affinity", affinity}}, "b"}}};
  return run;
}

TEST(GateFiles, AreComparedOneByOne) {
  std::vector<Round> rounds = rounds_of(1, 1, 1);
  rounds[0].runs = {{base_arm, run_of_files("2", "0-1")}, {changed_arm, run_of_files("2", "0-1")}};
  EXPECT_FALSE(judge_rounds(rounds, {}, 2).invalid) << "the first file is of one rank";
  EXPECT_TRUE(judge_rounds(rounds, {}, 1).invalid);
  rounds[0].runs[changed_arm] = run_of_files("2", "0");
  EXPECT_THAT(judge_rounds(rounds, {}, 0).notes.at(0),
              HasSubstr("z.jsonl, affinity: \"0-1\" and \"0\""));
  // A step that one version lacks is missing, and no other place.
  rounds[0].runs[changed_arm] = run_of_files("2", "0-1");
  rounds[0].runs[changed_arm].files.erase("a.jsonl");
  EXPECT_FALSE(judge_rounds(rounds, {}, 0).invalid);
  rounds[0].runs[changed_arm] = run_of_files("2", "0-1");
  rounds[0].runs[changed_arm].files["z.jsonl"].build = "c";
  EXPECT_THAT(judge_rounds(rounds, {}, 0).notes.at(0), HasSubstr("was built anew"));
}

ResultHeader header_of(const std::string& ranks) {
  ResultHeader header;
  header.benchmark = "gemm";
  header.command = {"dlscale", "bench", "gemm"};
  header.run = {{"ranks", ranks}, {"build", "b"}};
  header.environment = capture_environment();
  return header;
}

Measurement row_of(const std::string& kernel) {
  Measurement row;
  row.benchmark = "gemm";
  row.axes = {{"kernel", kernel}};
  row.series["time"] = make_series("s", {std::vector<double>(10, 1e-3)});
  return row;
}

void write(const fs::path& path, const std::string& ranks, const Measurement& row) {
  ResultWriter writer(path, header_of(ranks));
  writer.write(row);
  writer.finish();
}

class RunFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gate-rounds-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    flock_error = fsync_error = 0;
    bytes_free = -1;
    fs::remove_all(folder_);
  }
  fs::path folder_;
};

TEST_F(RunFiles, TellTheMostRanksOfAnyAndTheFactsOfEach) {
  write(folder_ / "a.jsonl", "1", row_of("a"));
  write(folder_ / "b" / "c.jsonl", "12", row_of("c"));
  write(folder_ / "d.jsonl", "2", row_of("d"));
  const RunOutcome run = read_run(folder_, Measure::results, Seconds(1));
  EXPECT_EQ(run.values.size(), 3U);
  EXPECT_EQ(run.machine.at("ranks"), "12");
  EXPECT_TRUE(run.machine.contains("host"));
  EXPECT_EQ(run.files.at("b/c.jsonl").machine.at("ranks"), "12");
  EXPECT_EQ(run.files.at("a.jsonl").machine.at("ranks"), "1");
  EXPECT_EQ(run.files.at("a.jsonl").build, "b");
}

TEST_F(RunFiles, TellHowAGpuWasAndWhatDidNotSettle) {
  Measurement row = row_of("a");
  row.status = Status::unstable;
  row.reason = "the interval stayed wide";
  row.series["throttle_reasons"] = make_series("1", {{0, 0x40 | 0x04, 0x04, 0x01}});
  row.series["processor_clock"] = make_series("Hz", {{1e9, 2e9, 3e9, 4e9}});
  write(folder_ / "a.jsonl", "1", row);
  const RunConditions found = read_run(folder_, Measure::results, Seconds(1)).conditions;
  EXPECT_THAT(found.unsettled, ElementsAre("gemm kernel=a values=normal"));
  const GpuConditions& gpu = found.gpus.at("gemm kernel=a values=normal");
  EXPECT_THAT(gpu.slowed_by, ElementsAre("temperature limit of the hardware"));
  EXPECT_DOUBLE_EQ(gpu.power_limited, 0.5);
  EXPECT_DOUBLE_EQ(gpu.clock_hz, 2.5e9);
}

RunConditions conditions_of(const GpuConditions& gpu) {
  RunConditions conditions;
  conditions.gpus["gemm"] = gpu;
  return conditions;
}

TEST(Disturbance, IsHeatABrakeOrWhatHoldsOneRunBackAndNotTheOther) {
  const GpuConditions fine{.slowed_by = {}, .power_limited = 0.1, .clock_hz = 2e9};
  const auto found = [&fine](const GpuConditions& changed) {
    return disturbance({{"base", conditions_of(fine)}, {"new", conditions_of(changed)}});
  };
  EXPECT_EQ(found(fine), "");
  EXPECT_EQ(found({{"power brake"}, 0, 2e9}),
            "the GPU was slowed in the run of new (gemm; power brake)");
  EXPECT_EQ(found({{}, 0.1, 1.6e9}), "");
  EXPECT_EQ(found({{}, 0.1, 1.4e9}),
            "the clock of the GPU was 1400 MHz in the run of new and 2000 MHz in base (gemm)");
  EXPECT_EQ(found({{}, 0.5, 2e9}), "");
  EXPECT_THAT(found({{}, 0.9, 2e9}), HasSubstr("a limit of power"));
  RunConditions hot;
  hot.slowed_by_heat = 3;
  EXPECT_THAT(disturbance({{"base", {}}, {"new", hot}}), HasSubstr("slowed by heat"));
  hot.slowed_by_heat = 0;
  EXPECT_EQ(disturbance({{"base", {}}, {"new", hot}}), "");
}

/// In which the new version ran on a GPU that was too hot.
Round hot_round(int number) {
  Round round = round_of(number, 1, 2);
  round.runs[changed_arm].conditions = conditions_of({{"power brake"}, 0, 2e9});
  return round;
}

TEST(SetAside, RoundsInWhichTheGpuWasHotAreMeasuredAgainAndMakeNoRegression) {
  std::vector<Round> rounds = rounds_of(8, 1, 1);
  rounds.push_back(hot_round(9));
  rounds.push_back(hot_round(10));
  GateReport report = judge_rounds(rounds, {}, 0);
  EXPECT_EQ(report.rounds, 8);
  EXPECT_EQ(report.set_aside, 2);
  EXPECT_FALSE(is_decided(report));
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("round 9 was set aside: the GPU was")));
  for (int i = 11; i <= 12; ++i) rounds.push_back(round_of(i, 1, 1));
  report = judge_rounds(rounds, {}, 0);
  EXPECT_EQ(report.metrics.at(0).verdict, Verdict::not_regressed);
  EXPECT_EQ(report.metrics.at(0).rounds, 10);
  EXPECT_EQ(regression::gate_report_of(regression::to_json(report), "x").set_aside, 2);
}

TEST(SetAside, ASessionThatIsMostlySoEndsInconclusive) {
  std::vector<Round> rounds{hot_round(1), hot_round(2), hot_round(3)};
  EXPECT_FALSE(is_decided(judge_rounds(rounds, {}, 0)));
  rounds.push_back(hot_round(4));
  const GateReport report = judge_rounds(rounds, {}, 0);
  EXPECT_TRUE(report.unsteady);
  EXPECT_TRUE(is_decided(report));
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  EXPECT_EQ(exit_code(report, {}), ExitCode::inconclusive);
}

/// Of a study of noise, with a machine that was slowed where `is_slowed`.
Round noise_round(int number, bool is_slowed) {
  const double jitter = 1e-3 * (number % 3);
  Round round;
  round.number = number;
  round.runs = {{noise_arm("gemm", 0), run_of(1 + jitter)},
                {noise_twin("gemm"), run_of(is_slowed ? 9 : 1)},
                {noise_arm("gemm", 5), run_of(1.05)}};
  if (is_slowed) round.runs[noise_twin("gemm")].conditions.slowed_by_heat = 1;
  round.seconds = 1;
  return round;
}

TEST(SetAside, RoundsOfASlowedMachineAreNoNoise) {
  const std::vector<NoiseKernel> kernels{{"gemm", {}}};
  std::vector<Round> rounds;
  for (int i = 1; i <= 20; ++i) rounds.push_back(noise_round(i, i % 2 == 0));
  const NoiseStudy study = study_noise(rounds, kernels, {5}, 0.01);
  EXPECT_EQ(study.set_aside, 10U);
  EXPECT_EQ(study.kernels.at(0).rounds, 10U);
  EXPECT_LT(study.kernels.at(0).paired, 0.01);  // of all rounds it would be above 1
  EXPECT_THAT(study.notes, testing::Contains(HasSubstr("round 2 was set aside: ")));
  const report::Document document = noise_document(study);
  EXPECT_THAT(document.tables.back().notes, testing::Contains("5 more rounds were set aside"));
  EXPECT_THAT(document.json(), HasSubstr("\"set_aside\": 10"));
  EXPECT_THAT(document.lead, HasSubstr("can see changes of"));
}

TEST(SetAside, AMachineThatIsMostlySlowedSeesNothing) {
  std::vector<Round> rounds;
  for (int i = 1; i <= 25; ++i) rounds.push_back(noise_round(i, i > 12));
  const NoiseStudy study = study_noise(rounds, {{"gemm", {}}}, {5}, 0.01);
  EXPECT_FALSE(study.sees.has_value());
  EXPECT_THAT(noise_document(study).lead, HasSubstr("slowed or held back in 13 of 25 rounds"));
}

TEST(SetAside, AStudyOfSlowedRoundsAloneIsRefused) {
  const std::vector<Round> rounds{noise_round(1, true), noise_round(2, true)};
  try {
    static_cast<void>(study_noise(rounds, {{"gemm", {}}}, {5}, 0.01));
    FAIL() << "studied";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::nothing_measured);
    EXPECT_THAT(error.what(), HasSubstr("no round is left to study: round 1 was set aside: "));
  }
}

TEST(RoundLines, ComeBackWithFilesAndConditionsAndAreReadWithoutThem) {
  Round round = hot_round(1);
  round.runs[base_arm].files = run_of_files("2", "0").files;
  round.runs[base_arm].conditions.load = 1.5;
  round.runs[base_arm].conditions.slowed_by_heat = 2;
  round.runs[base_arm].conditions.unsettled = {"gemm"};
  const std::string text = question_line("{}") + round_line(round);
  const RoundLines lines = parse_round_lines(text, "x");
  EXPECT_EQ(round_line(lines.rounds.at(0)), round_line(round));
  const std::string before =
      R"({"round":1,"date":"d","seconds":1,"order":["base"],"runs":{"base":{"values":[],"machine":{},"program":{},"without_times":[]}}})"
      "\n";
  EXPECT_FALSE(parse_round_lines(question_line("{}") + before, "x").rounds.at(0).runs.empty());
}

std::string refusal(const fs::path& folder) {
  try {
    InterleavedRounds rounds(folder, {}, 1, "{}", InterleavedRounds::Start::go_on);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_F(RunFiles, AreLockedWhereTheFileSystemHasLocksAndWrittenWhereItHasNone) {
  EXPECT_EQ(refusal(folder_), "");
  for (const int none : {ENOSYS, ENOLCK, EOPNOTSUPP}) {
    flock_error = none;
    EXPECT_EQ(refusal(folder_), "");
  }
  flock_error = EWOULDBLOCK;
  EXPECT_THAT(refusal(folder_), HasSubstr("another dlscale is at work"));
}

/// Descriptors of this process.
std::size_t open_files() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// The lock goes with the descriptor, and must not last as long as the program.
TEST_F(RunFiles, AreLetGoWhereTheirRoundsAreRefused) {
  std::ofstream(folder_ / "rounds.jsonl") << question_line("1");
  const std::size_t before = open_files();
  EXPECT_THAT(refusal(folder_), HasSubstr("another question"));
  EXPECT_EQ(open_files(), before);
}

/// Why a round of a command that writes `text` in place of results cannot be compared.
std::string complaint(const fs::path& folder, const std::string& text) {
  const std::vector<Arm> arms{
      {base_arm, shell_command("printf '" + text + "' > {out}"), {}, Measure::automatic}};
  InterleavedRounds rounds(folder, arms, 1, "{}", InterleavedRounds::Start::go_on);
  try {
    rounds.run_next();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(RunFiles, ThatCannotBeReadAreNamedWithTheirRun) {
  for (const char* text : {"", "{", "hello"}) {
    const std::string said = complaint(folder_, text);
    EXPECT_THAT(said, HasSubstr("the run of base in round 1 cannot be compared (its file is "));
    EXPECT_THAT(said, HasSubstr("round-001-base.out, its log "));
    EXPECT_THAT(said, HasSubstr("round-001-base.log): "));
  }
}

TEST_F(RunFiles, ThatEndEarlyOnAFullDiskAreLaidToIt) {
  const std::string blamed = "The disk may be full: 4 kB are free in ";
  bytes_free = 4000;
  EXPECT_THAT(complaint(folder_, ""), HasSubstr(blamed));
  EXPECT_THAT(complaint(folder_, R"({"context": {}, "benchm)"), HasSubstr(blamed));
  EXPECT_THAT(complaint(folder_, "{}"), testing::Not(HasSubstr(blamed)));
  bytes_free = 1'000'000'000;
  EXPECT_THAT(complaint(folder_, ""), testing::Not(HasSubstr("The disk may be full")));
}

TEST_F(RunFiles, AreNotOnDiskUntilTheDiskHasSaidSo) {
  for (const int late : {ENOSPC, EIO, EDQUOT}) {
    fsync_error = late;
    EXPECT_THAT(refusal(folder_ / std::to_string(late)), HasSubstr("cannot be written"));
  }
}

TEST(GateProgress, TellsRoundsOpenMetricsTheWorstOfThemAndTheTimeLeft) {
  GateReport report = judge_rounds(rounds_of(12, 1, 1.004), {}, 0);
  report.metrics.at(0).verdict = Verdict::inconclusive;
  report.metrics.at(0).ratio = 1.004;
  report.metrics.at(0).ratio_low = 0.995;
  report.metrics.at(0).ratio_high = 1.013;
  EXPECT_EQ(gate_progress(report, 10, {}),
            "[12/40 rounds] 1 of 1 metric open, gemm +0.4 % ±0.9 (at most 5 min left)");
  EXPECT_THAT(gate_progress(report, 10, 30.0), HasSubstr("(at most 30 s left)"));
  report.set_aside = 2;
  EXPECT_THAT(gate_progress(report, 10, {}), HasSubstr("[12/40 rounds, 2 set aside]"));
  // Longer than what any sentence repeats of a text, and cut once.
  report.metrics.at(0).key = "BM_" + std::string(300, 'x') + "/é/the_end_tells_them_apart/4096";
  EXPECT_THAT(gate_progress(report, 10, {}),
              HasSubstr("open, ...the_end_tells_them_apart/4096 +0.4 %"));
  EXPECT_EQ(noise_progress(3, 90, 600), "[3 rounds, 1.5 of 10.0 min] (about 9 min left)");
}

}  // namespace
}  // namespace dlscale::app
