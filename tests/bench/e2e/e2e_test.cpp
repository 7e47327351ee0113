#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <utility>

#include "bench/e2e/training.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "tests/bench/e2e/setting.hpp"

namespace dlscale::bench {
extern const Benchmark e2e;

namespace {

namespace fs = std::filesystem;

class E2e : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Measurement> measure(
      int ranks, std::map<std::string, std::string> more = {}) const {
    more.try_emplace("data", setting_.path("data").string());
    more.try_emplace("iterations", "4");
    more.try_emplace("warmup", "1");
    return measure_on(ranks, e2e, setting_.values(more));
  }

  /// The message of the ConfigError that these values meet.
  [[nodiscard]] std::string refused(const std::map<std::string, std::string>& more,
                                    int ranks = 1) const {
    return test::config_error([&] { std::ignore = measure(ranks, more); });
  }

  Setting setting_;
};

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

TEST_F(E2e, KeepsEveryPhaseOfEveryIterationOfEveryRank) {
  for (const int ranks : {1, 2, 3}) {
    for (const Schedule schedule : all_schedules) {
      const std::string by(schedule_name(schedule));
      for (const Measurement& m : measure(ranks, {{"schedule", by}})) {
        EXPECT_TRUE(m.status == Status::ok || m.status == Status::unstable) << m.reason;
        for (const char* name : {"t_iter", "t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed",
                                 "t_comm_hidden", "t_u", "t_other", "t_load", "loss"}) {
          ASSERT_EQ(m.at(name).samples.size(), static_cast<std::size_t>(ranks)) << name;
          for (const auto& rank : m.at(name).samples) EXPECT_EQ(rank.size(), 4U) << name;
        }
      }
    }
  }
}

TEST_F(E2e, GivesPhasesThatAddUpToTheIteration) {
  const Measurement m = measure(2).front();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = 0;
      for (const char* name : {"t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed", "t_u", "t_other"}) {
        sum += m.at(name).samples[rank][i];
      }
      const double total = m.at("t_iter").samples[rank][i];
      EXPECT_NEAR(sum, total, 0.01 * total);
    }
  }
}

TEST_F(E2e, LooksAtTheMachineAroundEachIteration) {
  for (const char* schedule : {"sequential", "horovod", "priority"}) {
    for (const Measurement& m : measure(2, {{"wait_quiet", "0.05"}, {"schedule", schedule}})) {
      const std::size_t looks = m.at("witness").samples.at(1).size();
      EXPECT_GE(looks, 5U);  // before the first of four, and after each
      const std::size_t kept = m.at("t_iter").samples.at(1).size();
      EXPECT_GE(kept, 4U);
      EXPECT_LT(kept, looks);
      EXPECT_EQ(m.at("loss").samples.at(0).size(), kept);
    }
  }
}

TEST_F(E2e, WarnsOfPatienceThatIsNoTime) {
  EXPECT_TRUE(contains(refused({{"wait_quiet", "-1"}}), "--wait-quiet"));
  EXPECT_TRUE(contains(refused({{"wait_quiet", "long"}}), "--wait-quiet"));
}

TEST_F(E2e, TrainsTheSameUnderEverySchedule) {
  const auto losses = measure(3).front().at("loss").samples;
  for (const Schedule schedule : all_schedules) {
    // Measured are the iterations after those in which a merged schedule learns: later ones.
    if (is_merged(schedule)) continue;
    const std::string name(schedule_name(schedule));
    EXPECT_EQ(measure(3, {{"schedule", name}}).front().at("loss").samples, losses) << name;
  }
  const Measurement server =
      measure(3, {{"synchronisation", "parameter_server"}, {"servers", "2"}}).front();
  EXPECT_EQ(server.at("loss").samples, losses);
}

TEST_F(E2e, KeepsWhatAMergedScheduleChose) {
  for (const Measurement& m : measure(2, {{"schedule", "merged"}})) {
    const Series& sizes = m.at("message_size");
    ASSERT_EQ(sizes.samples.size(), 2U);
    EXPECT_EQ(sizes.samples[0], sizes.samples[1]);
    double bytes = 0;
    for (const double size : sizes.samples[0]) bytes += size;
    // conv: 4 filters of 27 and 4 biases; fc: 3 of 196 and 3 biases, in whatever layout.
    EXPECT_GE(bytes, 4.0 * (4 * 28 + 3 * 197));
    EXPECT_GE(m.at("message_startup").samples[0].at(0), 0);
    EXPECT_GE(m.at("message_time_per_byte").samples[0].at(0), 0);
  }
  EXPECT_FALSE(measure(2).front().series.contains("message_size"));
}

TEST_F(E2e, TellsSchedulesApartByWhatTunesThem) {
  auto group = backend::local_group(2);
  const auto axes_of = [&](const std::map<std::string, std::string>& more) {
    auto values = setting_.values(more);
    values["data"] = "x";
    Context context = context_for(e2e, values, *group.front());
    return e2e.cells(context).at(0).axes;
  };
  const auto plain = axes_of({});
  for (const char* name : {"cycle", "fusion_threshold", "partition", "credit", "servers"}) {
    EXPECT_FALSE(plain.contains(name)) << name;
  }
  EXPECT_FALSE(plain.contains("synchronisation"));
  const auto horovod = axes_of({{"schedule", "horovod"}, {"cycle", "2 ms"}});
  EXPECT_EQ(horovod.at("cycle"), "0.002 s");
  EXPECT_EQ(horovod.at("fusion_threshold"), "134217728 B");
  EXPECT_EQ(axes_of({{"schedule", "priority"}}).at("partition"), "4096000 B");
  EXPECT_EQ(axes_of({{"synchronisation", "parameter_server"}}).at("servers"), "2");
  EXPECT_TRUE(contains(refused({{"cycle", "2 ms"}}), "cycle changes nothing here"));
  EXPECT_TRUE(contains(refused({{"servers", "1"}}), "servers changes nothing here"));
  EXPECT_TRUE(contains(
      refused({{"schedule", "merged"}, {"synchronisation", "parameter_server"}}, 2), "merged"));
}

TEST_F(E2e, GivesEveryRankTheSameSamples) {
  const auto measurements = measure(2);
  EXPECT_EQ(measurements[0].at("t_iter").samples, measurements[1].at("t_iter").samples);
  EXPECT_EQ(measurements[0].at("loss").samples, measurements[1].at("loss").samples);
}

TEST_F(E2e, TrainsOnTheSameImagesWhateverTheNumberOfRanks) {
  const auto one = measure(1, {{"batch", "4"}}).front().at("loss").samples;
  const auto two = measure(2, {{"batch", "2"}}).front().at("loss").samples;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR((two[0][i] + two[1][i]) / 2, one[0][i], 1e-5);
}

TEST_F(E2e, SaysWhatRanAndHowMuchWork) {
  const Measurement m = measure(1).front();
  EXPECT_TRUE(contains(m.implementation, "local"));
  EXPECT_EQ(m.axes.at("input_copy"), "on_path");
  auto group = backend::local_group(1);
  for (const char* where : {"auto", "host"}) {
    Context context =
        context_for(e2e, setting_.values({{"normalise", where}, {"data", "x"}}), *group.front());
    EXPECT_EQ(e2e.cells(context).at(0).axes.at("normalise"), "host");
  }
  ASSERT_TRUE(m.work.has_value());
  // conv: 4 x 7 x 7 outputs of 27 products, forward and filter; fc: 196 x 3, forward, filter, data.
  const double macs = 2.0 * 4 * 49 * 27 + 3.0 * 196 * 3;
  EXPECT_GE(m.work->flops.si(), 2 * 2 * macs);
  EXPECT_LE(m.work->flops.si(), 2 * 2 * macs * 1.2);
}

TEST_F(E2e, TrainsTheSameWithFusedRelus) {
  const Measurement apart = measure(2).front();
  const Measurement fused = measure(2, {{"fuse", "relu"}}).front();
  EXPECT_EQ(fused.at("loss").samples, apart.at("loss").samples);
  EXPECT_EQ(fused.network, apart.network);  // as it was read
  EXPECT_LT(fused.work->bytes, apart.work->bytes);
  EXPECT_EQ(refused({{"fuse", "all"}}).substr(0, 19), "the fusion is \"all\"");
}

TEST_F(E2e, TellsRunsApartByTheirSettings) {
  auto group = backend::local_group(1);
  for (const auto& [axis, value] :
       {std::pair("fuse", "relu"), std::pair("fuse", "none"), std::pair("waiting", "sleep"),
        std::pair("waiting", "spin"), std::pair("phases", "yes"), std::pair("phases", "no")}) {
    Context context =
        context_for(e2e, setting_.values({{"data", "x"}, {axis, value}}), *group.front());
    EXPECT_EQ(e2e.cells(context).at(0).axes.at(axis), value);
  }
  EXPECT_TRUE(contains(refused({{"phases", "some"}}), "neither yes nor no"));
  EXPECT_TRUE(contains(refused({{"phases", "no"}, {"trace", "t"}}), "--trace is made of"));
}

TEST_F(E2e, KeepsTheNameOfANetworkItsFileAndWhatWasInIt) {
  const std::string file = setting_.path("small.yaml").string();
  auto group = backend::local_group(1);
  Context context = context_for(e2e, setting_.values({{"data", "x"}}), *group.front());
  EXPECT_EQ(e2e.cells(context).at(0).axes.at("network"), "small");
  const Measurement m = measure(1).front();
  ASSERT_TRUE(m.network.has_value());
  EXPECT_EQ(m.network->source, file);
  EXPECT_EQ(m.network->fingerprint, fingerprint(load_network(file)));
}

TEST_F(E2e, RefusesTwoNetworksOfOneName) {
  const std::string file = setting_.path("small.yaml").string();
  const std::string copy = setting_.path("copy.yaml").string();
  fs::copy_file(file, copy);
  EXPECT_TRUE(contains(refused({{"network", file + "," + copy}}), "names \"small\" twice"));
}

TEST_F(E2e, CallsIterationsUnstableWhoseIntervalIsTooWide) {
  const auto values = setting_.values({{"data", setting_.path("data").string()}});
  for (const Measurement& m : measure_on(2, e2e, values, {.relative_half_width = 1e-12})) {
    EXPECT_EQ(m.status, Status::unstable);
    EXPECT_TRUE(contains(m.reason, "after 20 samples"));
    EXPECT_EQ(m.at("t_iter").samples.front().size(), 20U);
  }
  EXPECT_EQ(measure_on(1, e2e, values, {.relative_half_width = 1e9}).front().status, Status::ok);
}

TEST_F(E2e, TimesIterationsAsAWholeIfToldTo) {
  const Measurement in_phases = measure(2).front();
  const Measurement whole = measure(2, {{"phases", "no"}}).front();
  EXPECT_EQ(whole.series.size(), 3U);
  EXPECT_EQ(whole.at("t_iter").samples.front().size(), 4U);
  EXPECT_GT(whole.at("t_iter").summary.min, 0);
  EXPECT_GT(whole.at("t_load").summary.min, 0);
  EXPECT_EQ(whole.at("loss").samples, in_phases.at("loss").samples);
}

TEST_F(E2e, WritesATraceForEveryRank) {
  const fs::path prefix = setting_.path("trace");
  std::ignore = measure(2, {{"trace", prefix.string()}});
  for (const char* rank : {"-rank0.json", "-rank1.json"}) {
    const fs::path file = prefix.string() + rank;
    EXPECT_GT(fs::file_size(file), 1000U) << file;
  }
}

TEST_F(E2e, GivesNoTimesForATrainingThatDiverges) {
  for (const int ranks : {1, 2}) {
    for (const Measurement& m : measure(ranks, {{"rate", "1e30"}, {"iterations", "20"}})) {
      EXPECT_EQ(m.status, Status::wrong);
      EXPECT_NE(m.reason.find("not finite (training diverged). Lower the learning rate"),
                std::string::npos)
          << m.reason;
      EXPECT_TRUE(m.series.empty());
    }
  }
}

TEST_F(E2e, StopsOnAllRanksWhenAPictureOfOneIsDamaged) {
  const train::DataSet data = train::open_data_set(setting_.path("data"));
  for (const auto& picture : data.pictures) {  // same size, so that opening the set finds nothing
    std::fstream file(picture.path, std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(64, '\0');
    break;
  }
  EXPECT_THROW(std::ignore = measure(2, {{"iterations", "12"}}), Error);
}

TEST_F(E2e, RefusesWhatItCannotTrainWithAReason) {
  EXPECT_TRUE(contains(refused({{"data", setting_.path("none").string()}}, 2), "none"));
  for (const auto& [axis, value, said] :
       {std::tuple("data", "/no/set", "/no/set"), std::tuple("schedule", "later", "later"),
        std::tuple("dtype", "f8", "f8"), std::tuple("backend", "abacus", "reference"),
        std::tuple("rate", "-1", "rate"), std::tuple("rate", "fast", "rate"),
        std::tuple("rate", "nan", "rate"), std::tuple("warmup", "-3", "warmup"),
        std::tuple("batch", "0", "batch"), std::tuple("iterations", "0", "iterations"),
        std::tuple("waiting", "patiently", "waiting"),
        std::tuple("network", "nosuchnet", "nosuchnet"),
        std::tuple("trace", "/nowhere/at/all", "/nowhere"),
        std::tuple("launch", "graph", "computes on the host"),
        std::tuple("normalise", "device", "on the host"),
        std::tuple("normalise", "devices", "Did you mean \"device\"?"),
        std::tuple("launch", "graphs", "Did you mean \"graph\"?")}) {
    EXPECT_TRUE(contains(refused({{axis, value}}), said)) << axis;
  }
  EXPECT_TRUE(contains(refused({{"trace", "t"}, {"batch", "1,2"}}), "trace"));
  for (const std::string none : {"-", "/dev/stdout", "/dev/null"}) {
    EXPECT_TRUE(contains(refused({{"trace", none}}), none + "-rank0.json")) << none;
  }
}

TEST_F(E2e, RefusesANetworkThatDoesNotFitIntoMemory) {
  std::ofstream(setting_.path("large.yaml")) << R"(network: large
doc: One layer with outputs beyond any memory.
source: made for this test
input: {channels: 3, height: 4096, width: 4096}
layers:
  - {name: conv, kind: convolution, out_channels: 4096, kernel: 1}
  - {name: pool, kind: average_pooling, kernel: 4096, stride: 1}
  - {name: fc, kind: fully_connected, outputs: 3}
  - {name: loss, kind: softmax_cross_entropy}
)";
  const std::string message =
      refused({{"network", setting_.path("large.yaml").string()}, {"batch", "4096"}});
  EXPECT_TRUE(contains(message, "GB per rank"));
}

TEST(LossWarnings, AreGivenWhereTheLossDidNotFall) {
  EXPECT_TRUE(loss_warnings({{3, 2, 1, 0.5}}).empty());
  EXPECT_EQ(loss_warnings({{3, 2, 1, 3.5}}).size(), 1U);
  EXPECT_TRUE(loss_warnings({{3, 1}, {1, 2}}).empty());  // the mean of the ranks falls
  EXPECT_EQ(loss_warnings({{1, 1}}).size(), 1U);
  EXPECT_TRUE(loss_warnings({{1}}).empty());
}

}  // namespace
}  // namespace dlscale::bench
