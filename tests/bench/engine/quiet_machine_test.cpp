#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/speed_samples.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "core/base/error.hpp"
#include "tests/bench/engine/scripted_work.hpp"

namespace dlscale::bench {
namespace {

Measurement timed_row() {
  Measurement row;
  row.series["time"] = make_series("s", {{1e-3, 1e-3}});
  return row;
}

class Quiet : public testing::Test {
 protected:
  std::unique_ptr<backend::Communicator> alone_ = std::move(backend::local_group(1).front());
};

TEST_F(Quiet, MachineIsMeasuredAtOnceAndTold) {
  QuietMachine machine(*alone_, Seconds(60), ScriptedWork({1.0, 1.05, 1.02}));
  machine.wait();
  EXPECT_FALSE(machine.disturbed());
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_TRUE(row.warnings.empty());
  EXPECT_EQ(row.at("witness").samples,
            (std::vector<std::vector<double>>{{1e-3 * 1.05, 1e-3 * 1.02}}));
}

TEST_F(Quiet, MachineIsWaitedFor) {
  QuietMachine machine(*alone_, Seconds(60), ScriptedWork({1.0, 1.4, 1.4, 1.01, 1.0}));
  machine.wait();
  EXPECT_FALSE(machine.disturbed());
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_EQ(row.at("witness").samples, (std::vector<std::vector<double>>{{1e-3 * 1.01, 1e-3}}));
}

TEST_F(Quiet, MachineThatGotSlowerMeanwhileIsMeasuredAgain) {
  QuietMachine machine(*alone_, Seconds(60), ScriptedWork({1.0, 1.0, 1.4, 1.0, 1.0}));
  machine.wait();
  EXPECT_TRUE(machine.disturbed());
  machine.wait();
  EXPECT_FALSE(machine.disturbed());
}

TEST_F(Quiet, MeasurementsThatSlowTheMachineDownEndWithPatience) {
  int looks = 0;
  QuietMachine machine(*alone_, Seconds(0.05), [&looks] {
    return Seconds(looks++ % 2 == 0 ? 1.4e-3 : 1e-3);  // quiet before each, slow after
  });
  machine.wait();
  while (machine.disturbed()) machine.wait();
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::unstable);
  EXPECT_GT(looks, 4);
}

TEST_F(Quiet, PatienceEndsAndTheRowSaysSo) {
  QuietMachine machine(*alone_, Seconds(0.1), ScriptedWork({1.0, 1.4}));
  machine.wait();
  EXPECT_FALSE(machine.disturbed());  // slow, but there is no patience left
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::unstable);
  EXPECT_NE(row.reason.find("40 % longer"), std::string::npos) << row.reason;
  ASSERT_EQ(row.warnings.size(), 1);
  EXPECT_NE(row.warnings.front().find("--wait-quiet"), std::string::npos);
}

TEST_F(Quiet, MachineIsTheSlowestRank) {
  auto group = backend::local_group(2);
  const auto run = [&](int rank) {
    QuietMachine machine(*group[rank], Seconds(0.1),
                         ScriptedWork(rank == 0 ? std::vector{1.0} : std::vector{2.0, 3.0}));
    machine.wait();
    EXPECT_FALSE(machine.disturbed());
    Measurement row = timed_row();
    machine.tell(row);
    EXPECT_EQ(row.status, Status::unstable);
    EXPECT_EQ(row.at("witness").samples,
              (std::vector<std::vector<double>>{{1e-3, 1e-3}, {1e-3 * 3, 1e-3 * 3}}));
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST(ReferenceWork, TakesAboutAMillisecond) {
  const ReferenceWork witness;
  EXPECT_GE(witness.time(), Seconds(1e-4));  // whatever else runs, it is some work
}

std::vector<Cell> no_cells(Context&) {
  return {};
}

Benchmark benchmark() {
  return {.name = "fake",
          .doc = "",
          .axes = {{"batch", "images", "8"},
                   {"network", "names", "alexnet,resnet50"},
                   {"loader_threads", "threads", "many"}},
          .cells = no_cells};
}

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no ConfigError";
}

class ContextTest : public testing::Test {
 protected:
  Context make(std::map<std::string, std::string> given) {
    return make_context(benchmark(), std::move(given), *group_.front());
  }
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
};

TEST_F(ContextTest, FillsInDefaults) {
  const Context context = make({{"batch", "16"}});
  EXPECT_EQ(context.integer("batch"), 16);
  EXPECT_EQ(context.list("network"), (std::vector<std::string>{"alexnet", "resnet50"}));
}

TEST_F(ContextTest, NamesTheAxesWhenOneIsUnknown) {
  const std::string said = message([&] { make({{"batsh", "16"}}); });
  EXPECT_TRUE(said.starts_with("--batsh is not an axis of bench fake. Did you mean \"batch\"?"))
      << said;
  EXPECT_NE(said.find("network"), std::string::npos) << said;
}

TEST_F(ContextTest, RefusesWhatIsNoPositiveInteger) {
  for (const char* wrong : {"0", "-8", "8x", "x", "", "8.5", "99999999999", "1e3"}) {
    const Context context = make({{"batch", wrong}});
    const std::string said = message([&] { static_cast<void>(context.integer("batch")); });
    EXPECT_NE(said.find("--batch is \""), std::string::npos) << wrong << ": " << said;
  }
}

TEST_F(ContextTest, SpellsAxesAsTheCommandLineDoes) {
  const Context context = make({});
  const std::string said = message([&] { static_cast<void>(context.integer("loader_threads")); });
  EXPECT_TRUE(said.starts_with("--loader-threads is \"many\"")) << said;
}

TEST_F(ContextTest, ReadsListsWithSpacesAroundItems) {
  EXPECT_EQ(make({{"batch", " 1, 8 ,32"}}).integers("batch"), (std::vector<int>{1, 8, 32}));
}

TEST_F(ContextTest, RefusesListsWithAnEmptyItemOrTheSameTwice) {
  for (const char* wrong : {"1,,2", ",1", "1,", ""}) {
    const Context context = make({{"batch", wrong}});
    EXPECT_NE(message([&] { static_cast<void>(context.integers("batch")); }).find("is empty"),
              std::string::npos)
        << wrong;
  }
  const Context twice = make({{"batch", "8,16,8"}});
  EXPECT_NE(message([&] { static_cast<void>(twice.integers("batch")); }).find("8 twice"),
            std::string::npos);
}

TEST_F(ContextTest, RefusesSoManyThreadsThatTheyOnlyTakeTurns) {
  const auto most = most_threads_of_a_core * static_cast<int>(backend::usable_cores().size());
  const auto refusal = [&](const std::string& threads) {
    return message([&] { expect_few_threads(make({{"loader_threads", threads}})); });
  };
  EXPECT_EQ(refusal("1," + std::to_string(most)), "no ConfigError");
  EXPECT_NE(refusal("1," + std::to_string(most + 1))
                .find("Give --loader-threads at most " + std::to_string(most)),
            std::string::npos);
}

TEST_F(ContextTest, CallsAnAxisThatIsNotDeclaredABug) {
  const Context context = make({});
  EXPECT_THROW(static_cast<void>(context.value("threads")), std::logic_error);
}

}  // namespace
}  // namespace dlscale::bench
