/// The commands of the suites that come with the program, read as the program reads them, without
/// doing what they say: a misspelt option must not be found after hours.
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/verb.hpp"
#include "app/measure/bench_suite.hpp"
#include "backend/comm/communicator.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "suite/definition/suite.hpp"

namespace dlscale::app {
namespace {

using suite::is_benchmark;
using suite::Suite;
using suite::SuiteStep;

/// Thrown where the program would begin to do what it was told.
struct WasRead {};

/// The program's command line, which is only read.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    for (const Verb* verb : family<Verb>().members) {
      verb->declare(*app_.add_subcommand(std::string(verb->name)), result_);
    }
    app_.immediate_callback();  // before those of the subcommands
    app_.callback([] { throw WasRead{}; });
  }

  /// The only one: what it is told is forgotten when it reads the next command, and to make one
  /// takes longer than to read.
  static CommandLine& get() {
    static CommandLine line;
    return line;
  }

  /// Throws CLI::ParseError.
  void read(std::vector<std::string> words) {
    std::ranges::reverse(words);  // as the library wants them
    try {
      app_.parse(std::move(words));
    } catch (const WasRead&) {
      return;
    }
    ADD_FAILURE() << "the command was carried out";
  }

  /// That of the benchmark that was read.
  [[nodiscard]] const CLI::App& benchmark() const {
    return *app_.get_subcommands().front()->get_subcommands().front();
  }

 private:
  CLI::App app_;
  ExitCode result_ = ExitCode::ok;
};

/// What is wrong with the options, empty if nothing is.
std::string complaint(const SuiteStep& step) {
  CommandLine& line = CommandLine::get();
  try {
    line.read(step.words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  if (step.words.front() != "bench") return "";
  const std::vector<std::string> unknown = line.benchmark().remaining();
  return unknown.empty() ? "" : "unknown: " + unknown.front();
}

/// The context of a benchmark from its command. All algorithms would be created to be listed: what
/// training uses stands for them.
bench::Context context_of(const bench::Benchmark& benchmark, const SuiteStep& step,
                          backend::Communicator& communicator) {
  CommandLine& line = CommandLine::get();
  line.read(step.words);
  std::map<std::string, std::string> given;
  for (const bench::Axis& axis : benchmark.axes) {
    const CLI::Option* option = line.benchmark().get_option(bench::option_name(axis.name));
    if (option->count() > 0) given[std::string(axis.name)] = option->as<std::string>();
  }
  std::set<std::string> named;
  for (const auto& [axis, value] : given) named.insert(axis);
  if (const auto all = given.find("algorithms"); all != given.end()) {
    EXPECT_TRUE(all->second == "all" || all->second == "chosen") << step.name;
    all->second = "chosen";
  }
  bench::Context context = bench::make_context(benchmark, std::move(given), communicator);
  context.given = std::move(named);
  context.values["cores_per_rank"] = std::string("1");
  return context;
}

bool reads_pictures(const bench::Benchmark& benchmark) {
  return std::ranges::any_of(benchmark.axes,
                             [](const bench::Axis& axis) { return axis.name == "data"; });
}

class ShippedSuite : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<SuiteStep> steps() {
    return suite::load_suite(GetParam(),
                             {{"out", "here"},
                              {"data", "there"},
                              {"workers", "2"},
                              {"cores", "1"},
                              {"threads", "1"}},
                             program_commands())
        .steps;
  }
};

TEST_P(ShippedSuite, HasOptionsThatTheProgramKnows) {
  for (const SuiteStep& step : steps()) {
    EXPECT_EQ(step.is_program ? "" : complaint(step), "") << step.name;
  }
}

TEST_P(ShippedSuite, NamesNetworksListsAndValuesThatThereAre) {
  const auto group = backend::local_group(1);
  for (const SuiteStep& step : steps()) {
    if (!is_benchmark(step)) continue;
    const auto* benchmark = family<bench::Benchmark>().find(step.words.at(1));
    ASSERT_NE(benchmark, nullptr) << step.name;
    if (reads_pictures(*benchmark)) continue;  // which other steps make
    bench::Context context = context_of(*benchmark, step, *group.front());
    try {
      EXPECT_FALSE(benchmark->cells(context).empty()) << step.name;
    } catch (const Unsupported&) {  // by this build or machine
    } catch (const Error& error) {
      ADD_FAILURE() << step.name << ": " << error.what();
    }
  }
}

/// The files that --ceilings of a benchmark names.
std::vector<std::string> ceilings_of(const SuiteStep& step) {
  CommandLine& line = CommandLine::get();
  line.read(step.words);
  const CLI::Option* option = line.benchmark().get_option_no_throw("--ceilings");
  return option == nullptr ? std::vector<std::string>() : option->results();
}

TEST_P(ShippedSuite, NamesCeilingsThatStepsBeforeHaveMeasured) {
  std::set<std::string> written;
  for (const SuiteStep& step : steps()) {
    if (!is_benchmark(step)) continue;
    for (const std::string& path : ceilings_of(step)) {
      EXPECT_TRUE(written.contains(path)) << step.name << ": " << path;
    }
    for (const auto& path : step.outputs) written.insert(path.string());
  }
}

/// The rows of bench memory and bench peak make a roofline, under which everything else is.
TEST_P(ShippedSuite, OfConvolutionsGivesEveryKernelItsShareOfTheRoofline) {
  if (!GetParam().starts_with("conv_")) GTEST_SKIP() << "it has no ceilings";
  const std::set<std::string> kernels{"conv", "gemm", "update"};
  int found = 0;
  for (const SuiteStep& step : steps()) {
    if (step.words.front() != "bench" || !kernels.contains(step.words.at(1))) continue;
    const std::vector<std::string> ceilings = ceilings_of(step);
    for (const char* file : {"here/memory.jsonl", "here/peak.jsonl"}) {
      EXPECT_EQ(std::ranges::count(ceilings, file), 1) << step.name << ": " << file;
    }
    ++found;
  }
  EXPECT_GT(found, 0);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedSuite, testing::ValuesIn(config_names("suites")),
                         [](const auto& suite) { return suite.param; });

SuiteStep step_of(std::vector<std::string> words) {
  SuiteStep step;
  step.words = std::move(words);
  return step;
}

TEST(Commands, ThatTheProgramWouldRefuseAreFound) {
  EXPECT_EQ(complaint(step_of({"bench", "conv", "--layers", "convolution", "-o", "x"})), "");
  EXPECT_NE(complaint(step_of({"bench", "conv", "--layer", "convolution"})), "");
  EXPECT_NE(complaint(step_of({"bench", "conv", "--max-time", "soon"})), "");
  EXPECT_NE(complaint(step_of({"bench", "conf"})), "");
  EXPECT_NE(complaint(step_of({"roofline", "show", "x", "--thread", "1"})), "");
  const auto group = backend::local_group(1);
  const auto* gemm = family<bench::Benchmark>().find("gemm");
  bench::Context context =
      context_of(*gemm, step_of({"bench", "gemm", "--list", "transfromer"}), *group.front());
  EXPECT_THROW(static_cast<void>(gemm->cells(context)), ConfigError);
}

using Words = std::vector<std::string>;

/// All steps of all suites that come with the program and compare workers, for workers of 4 cores
/// and 3 threads. Those of bench conv measure one thread alone.
std::vector<SuiteStep> shipped_steps(const std::string& workers) {
  const std::map<std::string, std::string> values{
      {"out", "o"}, {"data", "d"}, {"workers", workers}, {"cores", "4"}, {"threads", "3"}};
  std::vector<SuiteStep> steps;
  for (const std::string& name : config_names("suites")) {
    const Suite suite = suite::load_suite(name, values, program_commands());
    EXPECT_FALSE(suite.steps.empty() && suite.cells.empty()) << name;
    if (name.starts_with("conv_")) continue;
    steps.insert(steps.end(), suite.steps.begin(), suite.steps.end());
  }
  return steps;
}

std::string option(const SuiteStep& step, std::string_view name) {
  const auto place = std::ranges::find(step.words, name);
  if (place == step.words.end() || place + 1 == step.words.end()) return "none";
  return *(place + 1);
}

/// Computes with threads, not only where it is asked for what is computed beside messages.
bool computes(const bench::Benchmark& benchmark) {
  return benchmark.rows != bench::Benchmark::Rows::messages &&
         std::ranges::any_of(benchmark.axes,
                             [](const bench::Axis& axis) { return axis.name == "threads"; });
}

TEST(Suites, PredictWithTheThreadsAndCoresThatWereMeasured) {
  const std::vector<SuiteStep> steps = shipped_steps("2");
  ASSERT_FALSE(steps.empty());
  for (const SuiteStep& step : steps) {
    const bool predicts = step.words[0] == "predict";
    if (!predicts && !is_benchmark(step)) continue;
    const auto* benchmark = predicts ? nullptr : family<bench::Benchmark>().find(step.words.at(1));
    ASSERT_TRUE(predicts || benchmark != nullptr) << step.name;
    EXPECT_EQ(option(step, "--cores-per-rank"), "4") << step.name;
    const bool on_gpu = option(step, "--backend") == "cuda";
    if (predicts || (computes(*benchmark) && !on_gpu)) {
      EXPECT_EQ(option(step, "--threads"), "3") << step.name;
    }
  }
}

TEST(Suites, MeasureOneWorkerAndAllOfThem) {
  std::set<std::string> ranks;
  for (const SuiteStep& step : shipped_steps("5")) {
    if (!is_benchmark(step)) continue;
    const std::string expected = option(step, "--ranks");
    const std::string started = std::to_string(std::max(1, step.ranks));
    EXPECT_TRUE(expected == "none" || started == expected) << step.name;
    ranks.insert(started);
  }
  EXPECT_EQ(ranks, (std::set<std::string>{"1", "5"}));
}

Suite suite_of(std::vector<Words> commands) {
  Suite suite;
  suite.name = "sample";
  for (Words& words : commands) {
    SuiteStep step;
    step.words = std::move(words);
    suite.steps.push_back(std::move(step));
  }
  return suite;
}

TEST(OptionsOfASuite, ReachTheStepsThatTakeThem) {
  Suite suite =
      suite_of({{"bench", "conv"}, {"bench", "e2e"}, {"bench", "memory"}, {"report", "x"}});
  add_options({1800, "p40x16"}, program_commands(), suite);
  EXPECT_EQ(suite.steps[0].words,
            (Words{"bench", "conv", "--wait-quiet", "1800", "--cluster", "p40x16"}));
  EXPECT_EQ(suite.steps[1].words, (Words{"bench", "e2e", "--wait-quiet", "1800"}));
  EXPECT_EQ(suite.steps[2].words, (Words{"bench", "memory", "--wait-quiet", "1800"}));
  EXPECT_EQ(suite.steps[3].words, (Words{"report", "x"}));
}

TEST(OptionsOfASuite, WaitingIsNoTimeThatCountsAsHung) {
  Suite suite = suite_of({{"bench", "conv"}, {"bench", "gemm"}, {"report", "x"}});
  suite.steps[0].timeout_s = 100;
  suite.steps[2].timeout_s = 100;
  add_options({1800, ""}, program_commands(), suite);
  EXPECT_EQ(suite.steps[0].timeout_s, 1900);
  EXPECT_EQ(suite.steps[1].timeout_s, std::nullopt);
  EXPECT_EQ(suite.steps[2].timeout_s, 100) << "it does not wait";
}

TEST(OptionsOfASuite, LeaveStepsWithTheirOwnAlone) {
  Suite suite = suite_of({{"bench", "gemm", "--wait-quiet", "5"}, {"bench", "peak"}});
  add_options({60, ""}, program_commands(), suite);
  EXPECT_EQ(suite.steps[0].words, (Words{"bench", "gemm", "--wait-quiet", "5"}));
  EXPECT_EQ(suite.steps[1].words, (Words{"bench", "peak", "--wait-quiet", "60"}));
}

TEST(OptionsOfASuite, ChangeNothingWhereNoneIsGiven) {
  Suite suite = suite_of({{"bench", "conv"}});
  add_options({}, program_commands(), suite);
  EXPECT_EQ(suite.steps[0].words, (Words{"bench", "conv"}));
}

TEST(OptionsOfASuite, WithoutEffectAreRefused) {
  Suite suite = suite_of({{"calibrate", "x"}});
  EXPECT_THROW(add_options({60, ""}, program_commands(), suite), ConfigError);
  EXPECT_THROW(add_options({std::nullopt, "p40x16"}, program_commands(), suite), ConfigError);
}

}  // namespace
}  // namespace dlscale::app
