#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

// Runs alone and under mpirun: what rank 0 reports is checked on rank 0, what all ranks do on all.

namespace dlscale::bench {
namespace {

using nlohmann::json;

backend::Communicator& world() {
  static const auto communicator =
      family<backend::CommBackend>().find(backend::launched_backend())->connect();
  return *communicator;
}

bool is_rank_0() {
  return world().rank() == 0;
}

/// 1 ms for batch 1, 2 ms for batch 2, … without a clock.
Cell fake_cell(int batch) {
  Cell cell{{{"network", "tiny"}, {"layer", "conv1"}, {"pass", "forward"}}, nullptr};
  cell.axes["batch"] = std::to_string(batch);
  cell.measure = [batch](const Sampler& sampler) {
    Measurement measurement = sampler.sample([batch] { return Seconds(1e-3 * batch); });
    measurement.work = Work{Flops(2e6), Bytes(1e6)};
    measurement.implementation = "fake:loops";
    measurement.max_relative_error = 1e-7;
    return measurement;
  };
  return cell;
}

Cell failing_cell(const std::string& layer, Status status, const std::string& reason) {
  return {{{"network", "tiny"}, {"layer", layer}, {"pass", "forward"}, {"batch", "1"}},
          [=](const Sampler&) {
            Measurement measurement;
            measurement.status = status;
            measurement.reason = reason;
            return measurement;
          }};
}

std::vector<Cell> eight_cells(Context&) {
  std::vector<Cell> cells;
  for (int batch = 1; batch <= 8; ++batch) cells.push_back(fake_cell(batch));
  return cells;
}

std::vector<Cell> good_and_bad_cells(Context&) {
  return {fake_cell(2), failing_cell("conv2", Status::wrong, "output differs by 0.5"),
          failing_cell("conv3", Status::unsupported, "no bf16 here")};
}

std::vector<Cell> interrupted_cells(Context&) {
  std::vector<Cell> cells{fake_cell(2)};
  cells.front().measure = [whole = cells.front().measure](const Sampler& sampler) {
    Measurement measurement = whole(sampler);
    measurement.status = Status::interrupted;
    measurement.reason = "stopped by signal 2 after 3 of 8 iterations";
    return measurement;
  };
  return cells;
}

/// A row about sizes and their latencies, of which none is its time.
std::vector<Cell> timeless_cells(Context&) {
  std::vector<Cell> cells{fake_cell(2)};
  cells.front().measure = [](const Sampler&) {
    Measurement measurement;
    measurement.implementation = "fake:sweep";
    measurement.series["latency"] = make_series("s", {{1e-9, 2e-9, 3e-9}});
    return measurement;
  };
  return cells;
}

/// 2 kFLOP and 1 kB in about a millisecond, but twice a second.
std::vector<Cell> uneven_cells(Context&) {
  std::vector<Cell> cells{fake_cell(2)};
  cells.front().measure = [](const Sampler&) {
    Measurement measurement;
    measurement.work = Work{Flops(2e3), Bytes(1e3)};
    measurement.series["time"] = make_series("s", {{1e-3, 1e-3, 1, 1e-3, 1, 1e-3}});
    return measurement;
  };
  return cells;
}

std::vector<Cell> throwing_cells(Context&) {
  std::vector<Cell> cells{fake_cell(1)};
  cells.front().measure = [](const Sampler&) -> Measurement { throw LibraryError("broken"); };
  return cells;
}

bool is_last_rank() {
  return world().rank() == world().size() - 1;
}

void throw_on_the_last_rank() {
  if (is_last_rank()) throw ConfigError("x.jpg is truncated");
}

/// Throws on one rank before the samples, where the others go on to a collective call.
std::vector<Cell> failing_before_samples(Context&) {
  std::vector<Cell> cells{fake_cell(1)};
  cells.front().measure = [](const Sampler& sampler) {
    together(sampler.communicator(), throw_on_the_last_rank);
    return sampler.sample([] { return Seconds(1); });
  };
  return cells;
}

std::vector<Cell> failing_in_a_sample(Context&) {
  std::vector<Cell> cells{fake_cell(1)};
  cells.front().measure = [](const Sampler& sampler) {
    return sampler.sample({.set_up = {}, .barrier = backend::WaitPolicy::sleep, .once = [] {
                             throw_on_the_last_rank();
                             return Seconds(1);
                           }});
  };
  return cells;
}

/// Throws on one rank where the others have nothing left to do.
std::vector<Cell> failing_after_samples(Context&) {
  std::vector<Cell> cells{fake_cell(1)};
  cells.front().measure = [](const Sampler& sampler) {
    Measurement measurement = sampler.sample([] { return Seconds(1); });
    throw_on_the_last_rank();
    return measurement;
  };
  return cells;
}

std::vector<Cell> no_cells(Context&) {
  return {};
}

constexpr StoppingCriterion six_samples{
    .min_samples = 6, .min_warmup = Seconds(0), .min_warmups = 0};

struct Outcome {
  int measured = 0;
  std::string out;
  std::vector<Measurement> sunk;
};

class RunnerTest : public testing::Test {
 protected:
  static Outcome run(std::vector<Cell> (*cells)(Context&), std::vector<std::string> flags,
                     std::uint64_t seed = 1,
                     RunnerOptions::Display display = RunnerOptions::Display::standard_output,
                     std::function<bool(const Cell&)> is_done = {}) {
    const Benchmark benchmark{.name = "fake", .doc = "", .axes = {}, .cells = cells};
    Context context{{}, &world()};
    Outcome outcome;
    testing::internal::CaptureStdout();
    try {
      outcome.measured = run_benchmark(
          benchmark, context,
          {std::move(flags), six_samples, seed, display, {}, std::move(is_done)},
          [&](const Measurement& measurement) { outcome.sunk.push_back(measurement); });
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    outcome.out = testing::internal::GetCapturedStdout();
    return outcome;
  }

  static std::vector<std::string> order(const Outcome& outcome) {
    std::vector<std::string> batches;
    for (const Measurement& measurement : outcome.sunk)
      batches.push_back(measurement.axis("batch"));
    return batches;
  }
};

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(RunnerTest, ListsNamesWithoutMeasuring) {
  const Outcome outcome = run(eight_cells, {"--benchmark_list_tests"});
  EXPECT_EQ(outcome.measured, 0);
  EXPECT_TRUE(outcome.sunk.empty());
  if (is_rank_0()) {
    EXPECT_EQ(lines(outcome.out), 8U);
    EXPECT_TRUE(outcome.out.starts_with("fake/tiny/conv1/forward/batch:1")) << outcome.out;
  } else {
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(RunnerTest, MeasuresWhatTheFilterLeaves) {
  const Outcome outcome = run(eight_cells, {"--benchmark_filter=batch:[23]/"});
  EXPECT_EQ(outcome.measured, 2);
  EXPECT_EQ(outcome.sunk.size(), is_rank_0() ? 2U : 0U);
}

TEST_F(RunnerTest, LeavesOutOnAllRanksWhatRank0SaysIsDone) {
  const auto is_odd = [](const Cell& cell) {
    return is_rank_0() && std::stoi(cell.axes.at("batch")) % 2 == 1;
  };
  const Outcome half = run(eight_cells, {}, 1, RunnerOptions::Display::standard_output, is_odd);
  EXPECT_EQ(half.measured, 4);
  for (const std::string& batch : order(half)) EXPECT_EQ(std::stoi(batch) % 2, 0);
  const auto all = [](const Cell&) { return is_rank_0(); };
  EXPECT_EQ(run(eight_cells, {}, 1, RunnerOptions::Display::standard_output, all).measured, 0);
}

TEST_F(RunnerTest, HasNothingToDoWhereTheFilterLeavesOnlyWhatIsDone) {
  const auto is_2 = [](const Cell& cell) {
    return is_rank_0() && cell.axes.at("batch") == std::string("2");
  };
  constexpr auto display = RunnerOptions::Display::standard_output;
  EXPECT_EQ(run(eight_cells, {"--benchmark_filter=batch:2/"}, 1, display, is_2).measured, 0);
  EXPECT_EQ(run(eight_cells, {"--benchmark_filter=batch:3/"}, 1, display, is_2).measured, 1);
  EXPECT_THROW(run(eight_cells, {"--benchmark_filter=batch:9/"}, 1, display, is_2), Error);
}

TEST_F(RunnerTest, ForgetsTheFlagsAndCellsOfTheRunBefore) {
  run(eight_cells, {"--benchmark_filter=batch:3", "--benchmark_repetitions=2"});
  EXPECT_EQ(run(eight_cells, {}).measured, 8);
}

TEST_F(RunnerTest, HandsCompleteMeasurementsToTheSink) {
  const Outcome outcome = run(eight_cells, {"--benchmark_filter=batch:4"});
  if (!is_rank_0()) return;
  ASSERT_EQ(outcome.sunk.size(), 1U);
  const Measurement& measurement = outcome.sunk.front();
  EXPECT_EQ(measurement.benchmark, "fake");
  EXPECT_EQ(measurement.axis("layer"), "conv1");
  EXPECT_EQ(measurement.axes.count("repeat"), 0U);
  EXPECT_EQ(measurement.at("time").samples.size(), static_cast<std::size_t>(world().size()));
}

TEST_F(RunnerTest, NumbersRepetitions) {
  const Outcome outcome =
      run(eight_cells, {"--benchmark_filter=batch:4", "--benchmark_repetitions=3"});
  EXPECT_EQ(outcome.measured, 3);
  if (!is_rank_0()) return;
  std::set<std::string> repeats;
  for (const Measurement& measurement : outcome.sunk) repeats.insert(measurement.axis("repeat"));
  EXPECT_EQ(repeats, (std::set<std::string>{"0", "1", "2"}));
  EXPECT_NE(outcome.out.find("batch:4_median"), std::string::npos) << outcome.out;
}

TEST_F(RunnerTest, ShufflesTheCellsByTheSeedAlone) {
  const auto first = order(run(eight_cells, {}, 1));
  EXPECT_EQ(order(run(eight_cells, {}, 1)), first);
  std::set<std::vector<std::string>> orders{first};
  for (std::uint64_t seed = 2; seed < 5; ++seed) orders.insert(order(run(eight_cells, {}, seed)));
  EXPECT_TRUE(!is_rank_0() || orders.size() > 1);
}

TEST_F(RunnerTest, KeepsTheOrderInWhichABenchmarkMadeItsCells) {
  const Benchmark benchmark{.name = "fake",
                            .doc = "",
                            .axes = {},
                            .cells = eight_cells,
                            .order = Benchmark::Order::as_made};
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Context context{{}, &world()};
    Outcome outcome;
    testing::internal::CaptureStdout();
    run_benchmark(benchmark, context, {{}, six_samples, seed}, [&](const Measurement& measurement) {
      outcome.sunk.push_back(measurement);
    });
    testing::internal::GetCapturedStdout();
    const auto batches = order(outcome);
    EXPECT_EQ(batches.size(), is_rank_0() ? 8U : 0U);
    EXPECT_TRUE(std::ranges::is_sorted(batches));
  }
}

TEST_F(RunnerTest, PrintsATableWithRatesErrorAndImplementation) {
  const Outcome outcome = run(eight_cells, {"--benchmark_filter=batch:2"});
  if (!is_rank_0()) {
    EXPECT_EQ(outcome.out, "");
    return;
  }
  EXPECT_EQ(lines(outcome.out), 2U) << outcome.out;
  // 2 MFLOP and 1 MB in 2 ms
  for (const char* part :
       {"fake/tiny/conv1/forward/batch:2 ", "2.0", "ms", " 1.0 ", " 0.5 ", "1e-07", "fake:loops"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  }
}

TEST_F(RunnerTest, LeavesStandardOutputToTheResultsWhenAskedTo) {
  const Outcome outcome = run(eight_cells, {}, 1, RunnerOptions::Display::standard_error);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.measured, 8);
}

TEST_F(RunnerTest, PrintsReasonsInsteadOfTimes) {
  const Outcome outcome = run(good_and_bad_cells, {});
  EXPECT_EQ(outcome.measured, 1);
  if (!is_rank_0()) return;
  EXPECT_EQ(outcome.sunk.size(), 3U);
  EXPECT_NE(outcome.out.find("wrong: output differs by 0.5"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("unsupported: no bf16 here"), std::string::npos) << outcome.out;
}

TEST_F(RunnerTest, MarksATimeOfWhichNotAllSamplesWereTaken) {
  const Outcome outcome = run(interrupted_cells, {});
  if (!is_rank_0()) return;
  EXPECT_NE(
      outcome.out.find("fake:loops (interrupted: stopped by signal 2 after 3 of 8 iterations)"),
      std::string::npos)
      << outcome.out;
}

TEST_F(RunnerTest, HasNoTimeWhereARowIsOfSizes) {
  const Outcome outcome = run(timeless_cells, {});
  EXPECT_EQ(outcome.measured, 1);
  const Outcome as_json = run(timeless_cells, {"--benchmark_format=json"});
  if (!is_rank_0()) return;
  EXPECT_EQ(outcome.out.find(" ns"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" -  fake:sweep\n"), std::string::npos) << outcome.out;
  const json row = json::parse(as_json.out).at("benchmarks").at(0);
  EXPECT_TRUE(row.value("error_occurred", false)) << "or tools would compare a time of nothing";
  EXPECT_TRUE(row.at("error_message").get<std::string>().starts_with("no time")) << row;
}

TEST_F(RunnerTest, WritesSmallRatesAndWideIntervalsWithinTheirColumns) {
  const Outcome outcome = run(uneven_cells, {});
  if (!is_rank_0()) return;
  const std::string row = outcome.out.substr(outcome.out.find('\n') + 1);
  EXPECT_NE(row.find(" 49950 %     0.002         -    0.001 "), std::string::npos) << outcome.out;
}

TEST_F(RunnerTest, WritesJsonThatGoogleBenchmarksCompareReads) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / fmt::format("dlscale_runner_{}.json", getpid());
  run(good_and_bad_cells, {"--benchmark_out=" + path.string(), "--benchmark_time_unit=us"});
  EXPECT_EQ(std::filesystem::exists(path), is_rank_0()) << "only rank 0 writes";
  if (!is_rank_0()) return;
  const json file = json::parse(std::ifstream(path));
  EXPECT_TRUE(file.contains("context"));
  ASSERT_EQ(file.at("benchmarks").size(), 3U);
  int errors = 0;
  for (const json& run : file.at("benchmarks")) {
    EXPECT_TRUE(run.at("name").get<std::string>().starts_with("fake/tiny/"));
    EXPECT_EQ(run.at("run_name"), run.at("name"));
    EXPECT_EQ(run.at("run_type"), "iteration");
    if (run.value("error_occurred", false)) {
      ++errors;
      continue;
    }
    EXPECT_NEAR(run.at("real_time").get<double>(), 2000.0, 1e-9);
    EXPECT_EQ(run.at("cpu_time"), 0.0);
    EXPECT_EQ(run.at("time_unit"), "us");
    EXPECT_EQ(run.at("label"), "fake:loops");
    EXPECT_NEAR(run.at("flop_per_s").get<double>(), 1e9, 1);
    EXPECT_EQ(run.at("samples"), 6.0);
  }
  EXPECT_EQ(errors, 2);
  std::filesystem::remove(path);
}

TEST_F(RunnerTest, PrintsJsonOrCsvWhenAskedTo) {
  const Outcome as_json = run(good_and_bad_cells, {"--benchmark_format=json"});
  const Outcome as_csv = run(good_and_bad_cells, {"--benchmark_format=csv"});
  if (!is_rank_0()) return;
  EXPECT_EQ(json::parse(as_json.out).at("benchmarks").size(), 3U);
  EXPECT_TRUE(as_csv.out.starts_with("name,iterations,real_time,cpu_time,time_unit")) << as_csv.out;
  EXPECT_EQ(lines(as_csv.out), 4U) << as_csv.out;
}

/// The code of the Error that it throws. All ranks throw the same.
ExitCode code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::ok;
}

TEST_F(RunnerTest, RefusesAFileThatCannotBeWritten) {
  EXPECT_EQ(code_of([] { run(eight_cells, {"--benchmark_out=/nonexistent/folder/out.json"}); }),
            ExitCode::bad_input)
      << "on every rank, though only rank 0 writes";
}

TEST_F(RunnerTest, RefusesAPipe) {
  const auto pipe =
      std::filesystem::path(testing::TempDir()) / fmt::format("dlscale_runner_pipe_{}", getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(run(eight_cells, {"--benchmark_out=" + pipe.string()}), Error) << "on every rank";
  std::filesystem::remove(pipe);
}

TEST_F(RunnerTest, RefusesAFilterThatIsNoRegularExpression) {
  EXPECT_EQ(code_of([] { run(eight_cells, {"--benchmark_filter=batch:[2"}); }),
            ExitCode::bad_input);
}

TEST_F(RunnerTest, SaysThatNothingIsMeasured) {
  for (const auto cells : {eight_cells, no_cells}) {
    EXPECT_EQ(code_of([cells] { run(cells, {"--benchmark_filter=nothing"}); }),
              ExitCode::nothing_measured);
  }
}

TEST_F(RunnerTest, RefusesACriterionWithTheReason) {
  const Benchmark benchmark{.name = "fake", .doc = "", .axes = {}, .cells = eight_cells};
  Context context{{}, &world()};
  const StoppingCriterion upside_down{.min_samples = 10, .max_samples = 5};
  EXPECT_EQ(code_of([&] {
              run_benchmark(benchmark, context, {{}, upside_down, 1}, [](auto&) {});
            }),
            ExitCode::bad_input);
}

TEST_F(RunnerTest, PassesTheErrorOfACellOn) {
  EXPECT_EQ(code_of([] { run(throwing_cells, {}); }), ExitCode::wrong_result);
  EXPECT_EQ(run(eight_cells, {}).measured, 8) << "and works again afterwards";
}

TEST_F(RunnerTest, EndsOnAllRanksWithTheMessageOfTheOneThatFailed) {
  for (const auto cells : {failing_before_samples, failing_in_a_sample, failing_after_samples}) {
    try {
      run(cells, {});
      ADD_FAILURE() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_input);
      EXPECT_EQ(error.what(), is_last_rank() ? std::string("x.jpg is truncated")
                                             : "on rank 1: x.jpg is truncated");
    }
  }
}

/// A signal stays pending for the life of a process, so this runs in a process of its own.
void interrupt_third_cell() {
  install_signal_handlers();
  const Benchmark benchmark{.name = "fake", .doc = "", .axes = {}, .cells = eight_cells};
  Context context{{}, &world()};
  int sunk = 0;
  try {
    run_benchmark(benchmark, context, {{}, six_samples, 1}, [&](const Measurement&) {
      if (++sunk == 3) static_cast<void>(std::raise(SIGINT));
    });
  } catch (const Interrupted& stop) {
    std::exit(sunk == 3 && stop.code() == ExitCode::interrupted ? 0 : 1);
  }
  std::exit(2);
}

TEST(RunnerDeathTest, KeepsWhatWasMeasuredBeforeASignal) {
  if (world().size() > 1) GTEST_SKIP() << "MPI processes must not fork";
  EXPECT_EXIT(interrupt_third_cell(), testing::ExitedWithCode(0), "");
}

TEST_F(RunnerTest, StopsAllRanksWhenTheSinkFailsOnRank0) {
  const Benchmark benchmark{.name = "fake", .doc = "", .axes = {}, .cells = eight_cells};
  Context context{{}, &world()};
  int written = 0;
  testing::internal::CaptureStdout();
  const ExitCode code = code_of([&] {
    run_benchmark(benchmark, context, {{}, six_samples, 1}, [&](const Measurement&) {
      if (++written == 3) throw ConfigError("the disk is full");
    });
  });
  EXPECT_EQ(code, ExitCode::bad_input);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(written, is_rank_0() ? 3 : 0);
}

}  // namespace
}  // namespace dlscale::bench
