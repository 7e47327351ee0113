// What a gate makes of its rounds, of what runs wrote, and of the disks that keep it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "app/gate/gate_session.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/system/input_file.hpp"
#include "core/system/process.hpp"
#include "core/system/temporary_folder.hpp"
#include "regression/rounds/interleaved_rounds.hpp"
#include "regression/rounds/output_word.hpp"
#include "regression/rounds/round_lines.hpp"
#include "regression/rounds/run_values.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"
#include "report/sections/gate_sections.hpp"
#include "tests/regression/gate/gate_rounds.hpp"

namespace {

/// What the next calls of these end with, as on file systems that cannot: 0 as usual.
int flock_error = 0;
int fsync_error = 0;

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

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using regression::Arm;
using regression::base_arm;
using regression::canary_arm;
using regression::GateReport;
using regression::GpuConditions;
using regression::hot_round;
using regression::InterleavedRounds;
using regression::Measure;
using regression::noise_round;
using regression::Round;
using regression::RoundLines;
using regression::run_of;
using regression::run_of_files;
using regression::RunConditions;
using regression::RunOutcome;
using regression::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

std::string written(const char* format, const GateReport& report) {
  return report::format::file_text(report::format::find_format(format),
                                   report::gate_document(report));
}

TEST(GateCanary, AnAlarmLeavesNoMetricAVerdictInAnyForm) {
  std::vector<Round> rounds = regression::rounds_of(10, 1, 1.1);
  for (Round& round : rounds) {
    round.order.emplace_back(canary_arm);
    round.runs[canary_arm] = run_of(1.2);
  }
  const GateReport report = regression::verdict_on(rounds);
  EXPECT_EQ(report.canary, regression::GateCanary::alarmed);
  EXPECT_EQ(report.metrics.at(0).verdict, Verdict::inconclusive);
  EXPECT_THAT(report.metrics.at(0).note, HasSubstr("the A/A test failed"));
  EXPECT_NEAR(report.metrics.at(0).ratio, 1.1, 1e-9);
  EXPECT_THAT(regression::gate_headline(report), HasSubstr("1 inconclusive of 1"));
  EXPECT_THAT(written("junit", report), HasSubstr("failures=\"0\""));
  EXPECT_THAT(written("openmetrics", report), HasSubstr("dlscale_gate_verdict=\"regressed\"} 0"));
  EXPECT_THAT(written("comment", report), testing::Not(HasSubstr("What changed")));
  EXPECT_FALSE(regression::wants_more(rounds)) << "no further round can make it trusted";
  EXPECT_EQ(exit_code(report, {}), ExitCode::inconclusive);
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
    fs::remove_all(folder_);
  }
  fs::path folder_;
};

TEST_F(RunFiles, TellTheMostRanksOfAnyAndTheFactsOfEach) {
  write(folder_ / "a.jsonl", "1", row_of("a"));
  write(folder_ / "b" / "c.jsonl", "12", row_of("c"));
  write(folder_ / "d.jsonl", "2", row_of("d"));
  const RunOutcome run = regression::read_run(folder_, Measure::results, Seconds(1));
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
  const RunConditions found =
      regression::read_run(folder_, Measure::results, Seconds(1)).conditions;
  EXPECT_THAT(found.unsettled, ElementsAre("gemm kernel=a values=normal"));
  const GpuConditions& gpu = found.gpus.at("gemm kernel=a values=normal");
  EXPECT_THAT(gpu.slowed_by, ElementsAre("temperature limit of the hardware"));
  EXPECT_DOUBLE_EQ(gpu.power_limited, 0.5);
  EXPECT_DOUBLE_EQ(gpu.clock_hz, 2.5e9);
}

TEST(SetAside, RoundsOfASlowedMachineAreNoNoise) {
  std::vector<Round> rounds;
  for (int i = 1; i <= 20; ++i) rounds.push_back(noise_round(i, i % 2 == 0));
  const regression::NoiseStudy study = regression::study_noise(rounds, {"gemm"}, {5}, 0.01);
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
  const regression::NoiseStudy study = regression::study_noise(rounds, {"gemm"}, {5}, 0.01);
  EXPECT_FALSE(study.sees.has_value());
  EXPECT_THAT(noise_document(study).lead, HasSubstr("slowed or held back in 13 of 25 rounds"));
}

TEST(RoundLines, ComeBackWithFilesAndConditions) {
  Round round = hot_round(1);
  round.runs[base_arm].files = run_of_files("2", "0").files;
  round.runs[base_arm].conditions.load = 1.5;
  round.runs[base_arm].conditions.slowed_by_heat = 2;
  round.runs[base_arm].conditions.unsettled = {"gemm"};
  round.runs[base_arm].values[0].rounding = 0.25;
  const std::string text = regression::question_line("{}") + regression::round_line(round);
  const RoundLines lines = regression::parse_round_lines(text, "x");
  EXPECT_EQ(regression::round_line(lines.rounds.at(0)), regression::round_line(round));
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
  std::ofstream(folder_ / "rounds.jsonl") << regression::question_line("1");
  const std::size_t before = open_files();
  EXPECT_THAT(refusal(folder_), HasSubstr("another question"));
  EXPECT_EQ(open_files(), before);
}

/// Why a round of a command that writes `text` in place of results cannot be compared.
std::string complaint(const fs::path& folder, const std::string& text) {
  const std::vector<Arm> arms{{base_arm,
                               regression::shell_command("printf '" + text + "' > {out}"),
                               {},
                               Measure::automatic}};
  InterleavedRounds rounds(folder, arms, 1, "{}", InterleavedRounds::Start::go_on);
  try {
    rounds.run_next();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(RunFiles, OfARunThatFailedBelongToNoProcessAnyMore) {
  const fs::path number = folder_ / "number";
  const std::string text =
      "setsid sleep 60 > /dev/null & echo $! > '" + number.string() + "'; exit 3";
  const std::vector<Arm> arms{
      {base_arm, regression::shell_command(text), {}, Measure::wall, Arm::Kind::foreign}};
  InterleavedRounds rounds(folder_, arms, 1, "{}", InterleavedRounds::Start::go_on);
  EXPECT_THROW(rounds.run_next(), Error);
  std::string process;
  std::ifstream(number) >> process;
  ASSERT_NE(process, "");
  EXPECT_EQ(content_of("/proc/" + process + "/environ"), "") << "gone, or not yet waited for";
}

/// What a shell prints for such a line with the path in it.
std::string printed(const std::string& line, const std::string& path) {
  return run_program({"/bin/sh", "-c", regression::with_output(line, path)}).text;
}

// Whatever the folder is called and whoever quotes, the command gets the path as one word.
TEST(OutputWord, ReachesTheCommandAsItIs) {
  for (const char* path :
       {"/t/plain.out", "/t/my gate/x", "/t/it's", "/t/a\"b", "/t/$HOME`id`", "/t/a;b&c|d",
        "/t/back\\slash", "/t/*? [x]", "/t/#x (y)", "/t/~ !{a,b}", "/t/行 列", "/t/two\nlines"}) {
    for (const char* line :
         {"printf '<%s>' {out}", "printf '<%s>' \"{out}\"", "printf '<%s>' '{out}'",
          "A=1 printf '<%s>' x{out} | sed 's/<x/</'", "true; printf '<%s>' {out}",
          "sh -c 'printf \"<%s>\" {out}'", "sh -c 'printf \"<%s>\" \"{out}\"'",
          "/bin/sh -euc \"printf '<%s>' {out}\"", "sh -c \"printf '<%s>' \\\"{out}\\\"\"",
          "sh -c \"printf '<%s>' '{out}'\"", "eval \"printf '<%s>' {out}\"",
          "printf '<%s>' \"it's\" > /dev/null; printf '<%s>' {out}"}) {
      EXPECT_EQ(printed(line, path), "<" + std::string(path) + ">") << line;
    }
  }
  EXPECT_EQ(regression::with_output("a --out={out} {out}.log", "/b c"),
            "a --out='/b c' '/b c'.log");
  EXPECT_EQ(regression::with_output("a \\{out} {other}", "/b"), "a \\{out} {other}");
}

TEST(TemporaryFolder, ThatIsNotThereIsNamedWithItsVariable) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* folder : {"/nowhere", "/dev/null", "/no where/else", "/etc/passwd", " "}) {
    setenv("TMPDIR", folder, 1);
    try {
      static_cast<void>(temporary_folder());
      ADD_FAILURE() << folder;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("TMPDIR is \"" + std::string(folder) + "\""));
    }
  }
  setenv("TMPDIR", "", 1);
  EXPECT_TRUE(fs::is_directory(temporary_folder()));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_TRUE(fs::is_directory(temporary_folder()));
}

/// The output of a run that wrote this JSON of Google Benchmark.
RunOutcome outcome_of(const fs::path& folder, const std::string& benchmarks) {
  std::ofstream(folder / "x.json") << "{\"context\": {}, \"benchmarks\": [" << benchmarks << "]}";
  return regression::read_run(folder / "x.json", Measure::automatic, Seconds(1));
}

/// An aggregate of "BM" as Google Benchmark 1.5 and later write it.
std::string aggregate(const std::string& name, double time) {
  return R"({"name": "BM_)" + name +
         R"(", "run_name": "BM", "run_type": "aggregate", "aggregate_name": ")" + name +
         R"(", "iterations": 3, "real_time": )" + std::to_string(time) +
         R"(, "cpu_time": 1, "time_unit": "ns"})";
}

TEST_F(RunFiles, OfAggregatesAloneAreJudgedByTheMedianOrSayWhyNot) {
  const std::string rest = aggregate("mean", 3) + "," + aggregate("stddev", 0.5);
  const RunOutcome median = outcome_of(folder_, rest + "," + aggregate("median", 2));
  ASSERT_EQ(median.values.size(), 1U);
  EXPECT_EQ(median.values[0].key, "BM");
  EXPECT_DOUBLE_EQ(median.values[0].value, 2e-9);
  EXPECT_EQ(median.values[0].statistic, regression::RunStatistic::median);
  EXPECT_TRUE(median.without_times.empty());
  const std::string row = R"({"name": "BM", "real_time": 1, "time_unit": "ns"})";
  const RunOutcome both = outcome_of(folder_, row + "," + aggregate("median", 2));
  ASSERT_EQ(both.values.size(), 1U);
  EXPECT_DOUBLE_EQ(both.values[0].value, 1e-9) << "repetitions are judged where they are there";
  for (const std::string& without : {rest, aggregate("cv", 0.1), aggregate("max", 4)}) {
    const RunOutcome none = outcome_of(folder_, without);
    EXPECT_TRUE(none.values.empty());
    EXPECT_THAT(none.without_times, ElementsAre(HasSubstr("BM: neither repetitions nor a median")));
  }
  EXPECT_THAT(outcome_of(folder_, "").without_times, ElementsAre("the output holds no benchmark"));
}

TEST_F(RunFiles, OfWholeNanosecondsSayHowTheyAreRounded) {
  const std::string row = R"({"name": "BM", "time_unit": "ns", "real_time": )";
  EXPECT_DOUBLE_EQ(outcome_of(folder_, row + "7}").values.at(0).rounding, 0.5e-9);
  const std::string exact = "7.0000000000000000e+00}";
  EXPECT_EQ(outcome_of(folder_, row + exact).values.at(0).rounding, 0);
}

TEST_F(RunFiles, OfOldVersionsHaveNoAggregatesAsTimes) {
  const RunOutcome outcome = outcome_of(folder_, R"({"name": "A", "iterations": 9, "real_time": 2},
                  {"name": "A_mean", "iterations": 9, "real_time": 2.5},
                  {"name": "A_stddev", "iterations": 0, "real_time": 0.7})");
  ASSERT_EQ(outcome.values.size(), 1U);
  EXPECT_EQ(outcome.values[0].key, "A");
}

TEST_F(RunFiles, OfOtherProgramsAreRefusedByTheirName) {
  const std::string google =
      R"({"context": {}, "benchmarks": [{"name": "A", "real_time": 1, "time_unit": "ns"}]})";
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"results": [{"command": "x", "times": [1]}]})", "hyperfine, and a gate reads"},
           {R"({"results": [{"command": "x", "times": [1]}]})", "Measure the wall time"},
           {"# nThread 1 nGpus 1\n", "nccl-tests, and a gate reads"},
           {" Performance counter stats for 'ls':\n", "perf stat, and a gate reads"},
           {google + "\n" + google, "another document begins in line 2"},
           {google + "]}", "goes on behind the end of the JSON"},
           {R"({"benchm)", "breaks off or is damaged"},
           {"hello", "is neither results of dlscale nor JSON of Google Benchmark"}}) {
    std::ofstream(folder_ / "x.json") << text;
    try {
      (void)regression::read_run(folder_ / "x.json", Measure::automatic, Seconds(1));
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(why)) << text;
    }
  }
  std::ofstream(folder_ / "x.json") << "Running\n" << google << "\nDone\n";
  EXPECT_EQ(regression::read_run(folder_ / "x.json", Measure::automatic, Seconds(1)).values.size(),
            1U);
}

TEST(OutputWord, LooksLikeOneThatIsNotTheOutput) {
  for (const auto& [line, word] : std::vector<std::pair<std::string, std::string>>{
           {"./b --benchmark_out={OUT}", "{OUT}"},
           {"./b -o { out }", "{ out }"},
           {"./b {Out}.json", "{Out}"},
           {"./b '{outfile}'", "{outfile}"},
           {"./b {output-file} x", "{output-file}"},
           {"./b > ${out}", "${out}"},
           {"./b > \"${OUTPUT}\"", "${OUTPUT}"},
           {"./b {{out}}", "{{out}}"},
           {"./b {{ out }} x", "{{ out }}"},
           {"./b --json={out", "{out"},
           {"./b > $OUT_OF_THIS", "$OUT_OF_THIS"},
           {"./b {}", "{}"},
           {"curl -d '{}' localhost", ""},
           {"./b {out}", ""},
           {"OUT_HERE={out}; ./b > $OUT_HERE", ""},
           {"sh -c './b > \"{out}\"'", ""},
           {"read out_word; echo $out_word ${out_word}", ""},
           {"awk '{out = $1} END {print out}'", ""},
           {"find . -exec wc {} + ; { ./b; }", ""},
           {"echo {outer,inner} $HOME", ""}}) {
    EXPECT_EQ(regression::word_like_output(line), word) << line;
  }
}

TEST(TemporaryFolder, IsRefusedWhereNothingCanBeMadeByTheNameOfItsVariable) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* folder : {"/proc", "/sys", "/dev/null", "/nowhere/at/all"}) {
    setenv("TMPDIR", folder, 1);
    try {
      (void)temporary_folder();
      ADD_FAILURE() << folder;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("TMPDIR is \"" + std::string(folder) + "\""));
    }
  }
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

TEST(GateReport, SaysWhyNothingWasMeasured) {
  std::vector<Round> rounds = regression::rounds_of(5, 1, 1);
  for (Round& round : rounds) {
    for (auto& [arm, run] : round.runs) {
      run.values.clear();
      run.without_times = {"BM: skipped", arm + ": odd"};
    }
  }
  const GateReport report = regression::verdict_on(rounds);
  EXPECT_EQ(exit_code(report, {}), ExitCode::nothing_measured);
  EXPECT_THAT(report.notes, ElementsAre("not measured: BM: skipped", "not measured: new: odd",
                                        "not measured by the base: base: odd"));
}

/// Runs a command that prints a line 300,000 times, which takes 2.1 MB, and then ends with `code`.
std::uintmax_t size_kept(const fs::path& folder, const std::string& redirected, int code,
                         const char* file) {
  const std::string text = "echo first" + redirected + "; yes number | head -n 300000" +
                           redirected + "; echo last" + redirected + "; exit " +
                           std::to_string(code);
  InterleavedRounds rounds(folder, {{base_arm, regression::shell_command(text), {}, Measure::wall}},
                           1, "{}", InterleavedRounds::Start::fresh);
  try {
    rounds.run_next();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("(\"last\")"));
  }
  const std::string kept = content_of(folder / "runs" / file);
  EXPECT_TRUE(kept.ends_with("number\nlast\n"));
  EXPECT_EQ(kept.starts_with("first\n"), code != 0);
  if (code == 0) EXPECT_THAT(kept.substr(0, 40), HasSubstr("[the first 105"));
  return kept.size();
}

TEST_F(RunFiles, KeepTheLastMebibyteOfEachStreamAndAllOfAFailure) {
  constexpr std::uintmax_t mebibyte = 1 << 20;
  for (const auto& [redirected, file] :
       {std::pair{"", "round-001-base.log"}, std::pair{" >&2", "round-001-base.errors.log"}}) {
    const std::uintmax_t kept = size_kept(folder_, redirected, 0, file);
    EXPECT_LE(kept, mebibyte);
    EXPECT_GE(kept, mebibyte - 100);
    EXPECT_EQ(size_kept(folder_, redirected, 3, file), 2'100'011U);
  }
}

TEST_F(RunFiles, ThatCannotBeReadAreNamedWithTheirRun) {
  for (const char* text : {"", "{", "hello"}) {
    const std::string said = complaint(folder_, text);
    EXPECT_THAT(said, HasSubstr("the run of base in round 1 cannot be compared (its file is "));
    EXPECT_THAT(said, HasSubstr("round-001-base.out, its log "));
    EXPECT_THAT(said, HasSubstr("round-001-base.log): "));
  }
}

TEST_F(RunFiles, AreNotOnDiskUntilTheDiskHasSaidSo) {
  for (const int late : {ENOSPC, EIO, EDQUOT}) {
    fsync_error = late;
    EXPECT_THAT(refusal(folder_ / std::to_string(late)), HasSubstr("cannot be written"));
  }
}

TEST(GateProgress, TellsRoundsOpenMetricsTheWorstOfThemAndTheTimeLeft) {
  GateReport report = regression::verdict_on(regression::rounds_of(12, 1, 1.004));
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
