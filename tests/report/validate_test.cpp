#include "report/validation/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/results/row_keys.hpp"
#include "report/validation/measured_runs.hpp"
#include "report/validation/run_networks.hpp"
#include "report/validation/validation_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using samples::e2e;
using samples::PhaseTimes;

PhaseTimes scaled(double factor) {
  return {0, 0.01 * factor, 0.2 * factor, 0.5 * factor, 0.1 * factor, 0.15 * factor, 0.04 * factor};
}

/// Always predicts the phases of PhaseTimes{}: 0.96 s in all.
model::Prediction fixed_prediction(const Run& run) {
  return samples::prediction(run, PhaseTimes{});
}

Validation validate_measured(std::vector<Measurement> measurements) {
  return validate(fixed_prediction, std::vector{samples::file("e2e", std::move(measurements))});
}

const ErrorSummary& summary(const Validation& validation, const std::string& group) {
  const auto found = std::ranges::find(validation.summaries, group, &ErrorSummary::group);
  EXPECT_NE(found, validation.summaries.end()) << group;
  return *found;
}

TEST(Validate, TellsTheSignedErrorOfEveryRepeat) {
  const Validation validation =
      validate_measured({e2e({"alexnet", 2, Schedule::wait_free, 0}, scaled(0.96)),
                         e2e({"alexnet", 2, Schedule::wait_free, 1}, scaled(1.2)),
                         e2e({"alexnet", 2, Schedule::wait_free, 2}, scaled(0.8))});
  ASSERT_EQ(validation.runs.size(), 1U);
  const RunValidation& run = validation.runs.front();
  EXPECT_EQ(run.repeats, 3);
  ASSERT_EQ(run.errors.size(), 3U);
  EXPECT_NEAR(run.errors[0], 0.0, 1e-12);
  EXPECT_NEAR(run.errors[1], 0.96 / 1.2 - 1, 1e-12);
  EXPECT_NEAR(run.errors[2], 0.96 / 0.8 - 1, 1e-12);
  EXPECT_NEAR(run.iteration().error.value(), 0.0, 1e-12);  // of the median repeat, 0.96 s
}

TEST(Validate, BuildsTheRunFromTheAxes) {
  const Validation validation =
      validate_measured({e2e({"resnet50", 2, Schedule::bucketed, 0}, PhaseTimes{})});
  const auto& run = validation.runs.front().run;
  EXPECT_EQ(run.network, "resnet50");
  EXPECT_EQ(run.cluster, "local");
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.ranks_per_node, 2);
  EXPECT_EQ(run.batch, 8);
  EXPECT_EQ(run.schedule, Schedule::bucketed);
  EXPECT_EQ(validation.runs.front().backend, "onednn");
}

TEST(Validate, BlamesThePhaseThatAddsMostToTheError) {
  PhaseTimes slow_update;
  slow_update.update = 0.35;
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, slow_update)});
  const RunValidation& run = validation.runs.front();
  EXPECT_EQ(run.blame, "t_u");
  double sum = 0;
  for (std::size_t i = 1; i < run.phases.size(); ++i) sum += run.phases[i].share_of_error;
  EXPECT_NEAR(sum, run.iteration().error.value(), 1e-12);
}

TEST(Validate, BlamesTimeThatNoPhaseExplains) {
  PhaseTimes unexplained;
  unexplained.other = 0.5;
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, unexplained)});
  EXPECT_EQ(validation.runs.front().blame, "t_other");
}

TEST(Validate, GivesAPhaseThatTookNoTimeNoRelativeError) {
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, PhaseTimes{})});
  const auto& phases = validation.runs.front().phases;
  const auto io = std::ranges::find(phases, "t_io", &PhaseError::phase);
  ASSERT_NE(io, phases.end());
  EXPECT_FALSE(io->error.has_value());
}

TEST(Validate, ComparesWithTheModelThatMoreRanksTakeAsLongAsOne) {
  PhaseTimes alone;
  alone.exposed = 0;
  PhaseTimes together;
  together.exposed = 0.3;
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, alone),
                         e2e({"alexnet", 2, Schedule::wait_free, 0}, together)});
  EXPECT_FALSE(validation.runs[0].naive_error.has_value());
  const double expected = alone.total() / together.total() - 1;
  EXPECT_NEAR(validation.runs[1].naive_error.value(), expected, 1e-12);
  EXPECT_NEAR(summary(validation, "2 ranks").naive_median_abs.value(), -expected, 1e-12);
  EXPECT_FALSE(summary(validation, "1 rank").naive_median_abs.has_value());
}

TEST(Validate, TakesTheBaselineFromAnotherScheduleIfNeedBe) {
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::sequential, 0}, scaled(1)),
                         e2e({"alexnet", 2, Schedule::bucketed, 0}, scaled(2))});
  EXPECT_NEAR(validation.runs[1].naive_error.value(), -0.5, 1e-12);
}

TEST(Validate, TakesNoBaselineFromAnotherNetwork) {
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, scaled(1)),
                         e2e({"vgg16", 2, Schedule::wait_free, 0}, scaled(2))});
  EXPECT_FALSE(validation.runs[1].naive_error.has_value());
}

TEST(Validate, SummarizesAllRanksNetworksAndSchedules) {
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, scaled(0.96 / 0.9)),
                         e2e({"alexnet", 2, Schedule::wait_free, 0}, scaled(0.96 / 1.2)),
                         e2e({"vgg16", 2, Schedule::sequential, 0}, scaled(0.96 / 1.4))});
  EXPECT_EQ(summary(validation, "all").runs, 3);
  EXPECT_NEAR(summary(validation, "all").bias, 0.2, 1e-12);
  EXPECT_NEAR(summary(validation, "1 rank").bias, -0.1, 1e-12);
  EXPECT_NEAR(summary(validation, "1 rank").median_abs, 0.1, 1e-12);
  EXPECT_NEAR(summary(validation, "2 ranks").median_abs, 0.3, 1e-12);
  EXPECT_NEAR(summary(validation, "2 ranks").p90_abs, 0.2 + 0.9 * 0.2, 1e-12);
  EXPECT_NEAR(summary(validation, "vgg16").bias, 0.4, 1e-12);
  EXPECT_NEAR(summary(validation, "sequential").bias, 0.4, 1e-12);
  EXPECT_EQ(summary(validation, "alexnet").runs, 2);
}

TEST(Validate, FailsOnlyWhereALimitIsMissed) {
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, scaled(0.96 / 1.04)),
                         e2e({"alexnet", 2, Schedule::wait_free, 0}, scaled(0.96 / 1.12))});
  EXPECT_EQ(exit_code(validation, {0.05, 0.15}), ExitCode::ok);
  EXPECT_EQ(exit_code(validation, {0.05, 0.10}), ExitCode::regression);
  EXPECT_EQ(exit_code(validation, {0.03, 0.15}), ExitCode::regression);
  EXPECT_TRUE(passes(summary(validation, "1 rank"), 0.05));
  EXPECT_FALSE(passes(summary(validation, "2 ranks"), 0.10));
}

TEST(Validate, SaysWhichPhaseIsToBlameWhereALimitIsMissed) {
  PhaseTimes slow_network;
  slow_network.exposed = 0.5;
  const Validation validation =
      validate_measured({e2e({"alexnet", 2, Schedule::wait_free, 0}, slow_network)});
  const std::string sentence = verdict_sentence(validation, {});
  EXPECT_TRUE(contains(sentence, "missed")) << sentence;
  EXPECT_TRUE(contains(sentence, "t_comm_exposed")) << sentence;
}

TEST(Validate, SaysWhichLimitIsMissedAndWhichNoiseMayDecide) {
  Validation validation = validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, {}),
                                             e2e({"alexnet", 2, Schedule::wait_free, 0}, {})});
  ErrorSummary& one = validation.summaries.at(1);
  ErrorSummary& two = validation.summaries.at(2);
  one.median_abs = 0.09;
  two.median_abs = 0.08;
  EXPECT_EQ(errors_sentence(validation, {}),
            "off by 9.0 % on 1 rank (limit 5.0 %: missed) and 8.0 % on 2 ranks (limit 10.0 %: "
            "kept), median of 2 trainings. Noise may decide both: 1 workload (network and batch) "
            "is too few for an interval, which takes 6.");
  one.median_abs_low = 0.04;
  one.median_abs_high = 0.12;
  two.median_abs_low = 0.07;
  two.median_abs_high = 0.09;
  EXPECT_TRUE(contains(errors_sentence(validation, {}),
                       " Noise may decide on 1 rank: the limit lies within the 95 % interval."));
  one.median_abs_low = 0.06;
  EXPECT_FALSE(contains(errors_sentence(validation, {}), "Noise may decide"));
}

TEST(Validate, LeavesOutWhatHasNoTimesAndSaysSo) {
  Measurement wrong = e2e({"vgg16", 1, Schedule::wait_free, 0}, PhaseTimes{});
  wrong.status = Status::wrong;
  wrong.reason = "loss is not finite";
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, PhaseTimes{}), wrong});
  EXPECT_EQ(validation.runs.size(), 1U);
  ASSERT_EQ(validation.notes.size(), 1U);
  EXPECT_TRUE(contains(validation.notes.front(), "loss is not finite"));
}

TEST(Validate, PassesNothingWhereAMeasurementCouldNotBeJudged) {
  const Measurement good = e2e({"alexnet", 1, Schedule::wait_free, 0}, scaled(0.96));
  for (const Status status : {Status::wrong, Status::interrupted, Status::unsupported}) {
    Measurement lost = e2e({"vgg16", 1, Schedule::wait_free, 0}, PhaseTimes{});
    lost.status = status;
    const Validation validation = validate_measured({good, lost});
    const bool was_begun = status != Status::unsupported;
    EXPECT_EQ(exit_code(validation, {}), was_begun ? ExitCode::inconclusive : ExitCode::ok);
    const auto json = nlohmann::json::parse(validation_document(validation, {}).json());
    EXPECT_EQ(json.at("passed"), !was_begun);
    EXPECT_EQ(json.at("verdict"), was_begun ? "inconclusive" : "passed");
    EXPECT_EQ(json.at("notes").size(), 1U);
    EXPECT_EQ(verdict_sentence(validation, {}).find("could not be judged") != std::string::npos,
              was_begun);
    EXPECT_EQ(exit_code(validation, {-1, -1}), ExitCode::regression);  // a missed limit counts more
  }
}

TEST(Validate, LeavesOutWhatWasTimedAsAWhole) {
  const Measurement good = e2e({"alexnet", 1, Schedule::wait_free, 0}, scaled(0.96));
  Measurement told = e2e({"alexnet", 1, Schedule::wait_free, 1}, scaled(0.96));
  told.axes["phases"] = std::string("yes");
  Measurement whole = told;
  whole.axes["phases"] = std::string("no");
  const Series iterations = whole.at("t_iter");
  whole.series = {{"t_iter", iterations}};
  const Validation validation = validate_measured({good, told, whole});
  ASSERT_EQ(validation.runs.size(), 1U);
  EXPECT_EQ(validation.runs.front().repeats, 2);  // older files have phases without saying so
  ASSERT_EQ(validation.notes.size(), 1U);
  EXPECT_TRUE(contains(validation.notes.front(), "was timed as a whole"));
  EXPECT_EQ(exit_code(validation, {}), ExitCode::ok);
}

TEST(Validate, PassesNothingWhereAFileEndsEarly) {
  ResultFile file = samples::file("e2e", {e2e({}, scaled(0.96))});
  file.complete = false;
  const Validation validation = validate(fixed_prediction, std::vector{file});
  EXPECT_EQ(exit_code(validation, {}), ExitCode::inconclusive);
  ASSERT_EQ(validation.notes.size(), 1U);
  EXPECT_TRUE(contains(validation.notes.front(), "e2e.jsonl ends early"));
}

/// The notes on a run with `environment` beside a machine fitted with oneDNN 2.6.0 on "a CPU".
std::vector<std::string> notes_on(const Environment& environment, const samples::RunSpec& spec) {
  model::Machine machine = samples::machine();
  machine.measured_on = {"a CPU", "0123", "onednn", {{"oneDNN", "2.6.0"}, {"communicator", "MPI"}}};
  ResultFile file = samples::file("e2e", {e2e(spec, PhaseTimes{}), e2e(spec, PhaseTimes{})});
  file.header.environment = environment;
  return machine_differences(machine, std::vector{file});
}

TEST(MachineDifferences, NoneWhereTheRunIsOfTheMachine) {
  Environment environment;
  environment.cpu = "a CPU";
  environment.host_hash = "0123";
  environment.libraries = {{"oneDNN", "2.6.0"}, {"communicator", "none"}};
  EXPECT_TRUE(notes_on(environment, {"alexnet", 1}).empty());
  EXPECT_EQ(notes_on(environment, {"alexnet", 2}),
            std::vector<std::string>{
                "measured with communicator none, the machine with MPI (results/e2e.jsonl)"});
}

TEST(MachineDifferences, NameProcessorHostAndLibraryOnceEach) {
  Environment environment;
  environment.cpu = "another CPU";
  environment.host_hash = "4567";
  environment.libraries = {{"oneDNN", "3.1.0"}};
  const auto notes = notes_on(environment, {"alexnet", 1});
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_TRUE(contains(notes[0], "host 4567"));
  EXPECT_TRUE(contains(notes[1], "oneDNN 3.1.0"));
  EXPECT_TRUE(contains(notes[2], "processor another CPU"));
}

TEST(MachineDifferences, NameAnotherBackend) {
  model::Machine machine = samples::machine();
  machine.measured_on = {"Sample CPU", "unknown", "reference", {}};
  const std::vector files{samples::file("e2e", {e2e({}, PhaseTimes{})})};
  const auto notes = machine_differences(machine, files);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(contains(notes[0], "compute backend onednn"));
}

TEST(MachineDifferences, SayWhenTheMachineDoesNotKnow) {
  const std::vector files{samples::file("e2e", {e2e({}, PhaseTimes{})})};
  model::Machine machine = samples::machine();
  EXPECT_EQ(machine_differences(machine, files).size(), 1U);
  machine.fitted = false;
  EXPECT_TRUE(machine_differences(machine, files).empty());
}

TEST(Validate, RefusesRunsOfDifferentProcessors) {
  std::vector files{samples::file("e2e", {e2e({}, PhaseTimes{})}),
                    samples::file("e2e", {e2e({"alexnet", 2}, PhaseTimes{})})};
  files[1].header.environment.libraries["communicator"] = "MPI";
  files[1].header.environment.libraries["cuDNN"] = "9.1";  // of one backend
  EXPECT_EQ(validate(fixed_prediction, files).runs.size(), 2U);
  files[1].header.environment.cpu = "another CPU";
  try {
    static_cast<void>(validate(fixed_prediction, files));
    FAIL() << "two processors in one validation";
  } catch (const ConfigError& error) {
    EXPECT_TRUE(contains(error.what(), "2 processors (Sample CPU in results/e2e.jsonl; another "))
        << error.what();
    EXPECT_TRUE(contains(error.what(), "compare one with the other")) << error.what();
  }
}

TEST(Validate, IsCertainWhereIntervalsExcludeTheLimits) {
  std::vector<Measurement> rows;
  for (const char* network : {"a", "b", "c", "d", "e", "f"}) {
    rows.push_back(e2e({network, 1}, scaled(1.2 + 0.01 * static_cast<double>(rows.size()))));
  }
  const Validation far = validate_measured(rows);
  const ErrorSummary& errors = summary(far, "1 rank");
  EXPECT_LT(errors.median_abs_low.value(), errors.median_abs);
  EXPECT_GT(errors.median_abs_high.value(), errors.median_abs);
  EXPECT_TRUE(is_certain(far, {}));
  EXPECT_TRUE(is_certain(far, {.one_rank = 0.9}));
  EXPECT_FALSE(is_certain(far, {.one_rank = errors.median_abs}));
  rows.pop_back();
  EXPECT_FALSE(is_certain(validate_measured(rows), {})) << "five runs have no interval";
}

TEST(Validate, RefusesResultsWithoutTrainingRuns) {
  const std::vector files{samples::file("conv", {samples::timed("conv", {}, {1.0})})};
  EXPECT_THROW(static_cast<void>(validate(fixed_prediction, files)), ConfigError);
}

TEST(Validate, RefusesToJudgeAMachineByItsOwnSources) {
  model::Machine machine = samples::machine();
  const std::vector files{
      samples::file("e2e", {e2e({"alexnet", 1, Schedule::wait_free, 0}, PhaseTimes{})})};
  machine.sources = {"results/../results/e2e.jsonl"};
  EXPECT_THROW(static_cast<void>(validate(machine, files)), ConfigError);
}

TEST(Validate, JudgesTheMachineByWhatPredictSays) {
  const model::Machine machine = model::nominal_machine(load_cluster("p40x16"));
  const std::vector files{
      samples::file("e2e", {e2e({"alexnet", 2, Schedule::wait_free, 0}, PhaseTimes{})})};
  const RunValidation run = validate(machine, files).runs.front();
  const int ranks[] = {2};
  const auto expected = model::predict(load_network("alexnet"), machine, run.run, ranks).front();
  EXPECT_GT(expected.time.total, Seconds{});
  EXPECT_EQ(run.iteration().predicted, expected.time.total);
}

TEST(Validate, RefusesAnAxisThatIsNoNumber) {
  Measurement odd = e2e({"alexnet", 1, Schedule::wait_free, 0}, PhaseTimes{});
  odd.axes["batch"] = "8x";
  EXPECT_THROW(static_cast<void>(validate_measured({odd})), ConfigError);
}

TEST(MeasuredRuns, TakesPhasesFromTheRankThatWasWaitedFor) {
  Measurement measurement = e2e({"alexnet", 2, Schedule::wait_free, 0}, PhaseTimes{});
  const auto set = [&](const char* name, double slow_rank, double fast_rank) {
    measurement.series[name] =
        make_series("s", {std::vector(8, fast_rank), std::vector(8, slow_rank)});
  };
  set("t_b", 0.6, 0.4);
  set("t_comm_exposed", 0.05, 0.25);
  const MeasuredRuns measured = collect_runs(std::vector{samples::file("e2e", {measurement})});
  const auto& phases = measured.runs.front().phases;
  EXPECT_DOUBLE_EQ(phases.find("t_b")->second.si(), 0.6);
  EXPECT_DOUBLE_EQ(phases.find("t_comm_exposed")->second.si(), 0.05);
}

/// An axis that older files lack, what they measured, and what came later.
struct LaterAxis {
  const char* name;
  const char* then;
  const char* now;
};

Measurement training_with(int repeat, const LaterAxis& axis, const char* value) {
  Measurement measurement = e2e({"alexnet", 2, Schedule::wait_free, repeat}, PhaseTimes{});
  measurement.axes[axis.name] = value;
  return measurement;
}

TEST(MeasuredRuns, TakeAMissingAxisForWhatWasMeasuredThen) {
  const Measurement older = e2e({"alexnet", 2, Schedule::wait_free, 0}, PhaseTimes{});
  const auto collected = [&](const LaterAxis& axis, const char* last) {
    return collect_runs(std::vector{samples::file(
        "e2e", {older, training_with(1, axis, axis.then), training_with(2, axis, last)})});
  };
  const auto settings = [](const dlscale::Run& run) {
    return std::tuple(run.input_copy, run.launch, run.fuse_relu, run.normalisation);
  };
  for (const LaterAxis& axis :
       {LaterAxis{"waiting", "sleep", "spin"}, LaterAxis{"input_copy", "on_path", "ahead"},
        LaterAxis{"launch", "eager", "graph"}, LaterAxis{"fuse", "none", "relu"},
        LaterAxis{"normalise", "host", "device"}}) {
    const MeasuredRuns measured = collected(axis, axis.now);
    ASSERT_EQ(measured.runs.size(), 2U) << axis.name;
    const bool first_is_older = measured.runs[0].t_iter.size() == 2;
    const MeasuredRun& then = measured.runs[first_is_older ? 0 : 1];
    const MeasuredRun& now = measured.runs[first_is_older ? 1 : 0];
    EXPECT_EQ(then.t_iter.size(), 2U) << axis.name;
    EXPECT_EQ(now.axes.at(axis.name), axis.now);
    const auto of_older =
        settings(collect_runs(std::vector{samples::file("e2e", {older})}).runs[0].run);
    EXPECT_EQ(settings(then.run), of_older) << axis.name;
    EXPECT_EQ(settings(now.run) == of_older, axis.name == std::string("waiting")) << axis.name;
  }
  for (const auto& [axis, odd] : {std::pair{LaterAxis{"input_copy", "on_path", ""}, "sideways"},
                                  std::pair{LaterAxis{"fuse", "none", ""}, "all"}}) {
    EXPECT_THROW(static_cast<void>(collected(axis, odd)), ConfigError) << axis.name;
  }
}

TEST(RowKeys, TakeAMissingAxisForWhatWasMeasuredThen) {
  struct Row {
    const char* benchmark;
    std::map<std::string, std::string> axes;
    std::vector<LaterAxis> later;
  };
  for (const Row& row :
       {Row{"conv", {{"kernel", "relu c3 h4 w4"}}, {{"fuse", "none", "relu"}}},
        Row{"gemm", {}, {{"values", "normal", "zeros"}}},
        Row{"update", {}, {{"cache", "cold", "hot"}}},
        Row{"comm", {{"collective", "sendrecv"}, {"bytes", "64"}}, {{"dtype", "f32", "f64"}}},
        Row{"comm",
            {{"collective", "all_reduce"}, {"bytes", "64"}},
            {{"dtype", "f32", "other"},
             {"op", "sum", "other"},
             {"mode", "blocking", "other"},
             {"in_place", "yes", "other"},
             {"algorithm", "library", "other"}}}}) {
    Measurement older;
    older.benchmark = row.benchmark;
    older.axes.insert(row.axes.begin(), row.axes.end());
    Measurement then = older;
    for (const LaterAxis& axis : row.later) then.axes[axis.name] = axis.then;
    EXPECT_EQ(key_without(older, {}), key_without(then, {})) << row.benchmark;
    for (const LaterAxis& axis : row.later) {
      Measurement now = then;
      now.axes[axis.name] = axis.now;
      EXPECT_NE(key_without(older, {}), key_without(now, {})) << row.benchmark << axis.name;
    }
  }
}

TEST(Validate, ComparesWithOneRankHoweverItWouldHaveWaited) {
  Measurement two = e2e({"alexnet", 2, Schedule::wait_free, 0}, PhaseTimes{});
  two.axes["waiting"] = "spin";
  const Validation validation =
      validate_measured({e2e({"alexnet", 1, Schedule::wait_free, 0}, PhaseTimes{}), two});
  EXPECT_TRUE(validation.runs.back().naive_error.has_value());
}

TEST(MeasuredRuns, RefusesPhasesWithDifferentNumbersOfIterations) {
  Measurement measurement = e2e({"alexnet", 1, Schedule::wait_free, 0}, PhaseTimes{});
  measurement.series["t_u"] = make_series("s", {{0.1, 0.1}});
  const std::vector files{samples::file("e2e", {measurement})};
  EXPECT_THROW(static_cast<void>(collect_runs(files)), ConfigError);
}

}  // namespace
}  // namespace dlscale::report
