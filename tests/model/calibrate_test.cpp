#include "model/calibrate/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

std::string failure(const std::vector<ResultFile>& results, const CalibrateOptions& options = {}) {
  try {
    calibrate(two_workers(), results, options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

class Calibrated : public testing::Test {
 protected:
  Network network_ = branched();
  std::vector<ResultFile> results_ = results(network_, 8);
  Machine machine_ = calibrate(two_workers(), results_);
};

TEST_F(Calibrated, KnowsEveryKernelOnce) {
  // Equal kernels of different layers pool; each is there beside 1 and 2 ranks.
  std::set<std::pair<std::string, Pass>> different;
  for (const Step step : forward_steps(network_)) {
    different.emplace(kernel_key(network_, step.layer), step.pass);
  }
  for (const Step step : backward_steps(network_)) {
    different.emplace(kernel_key(network_, step.layer), step.pass);
  }
  EXPECT_EQ(machine_.kernels.size(), 2 * different.size());
  for (const KernelTime& kernel : machine_.kernels) {
    EXPECT_NEAR(kernel.time.value.si(), kernel_seconds(kernel.work), 1e-15);
    EXPECT_EQ(kernel.source, "kernels.jsonl");
    EXPECT_EQ(kernel.implementation, "synthetic");
  }
}

TEST_F(Calibrated, RecoversTheAllReduce) {
  ASSERT_EQ(machine_.collectives.size(), 1U);
  const CollectiveFit& fit = machine_.collectives.front();
  EXPECT_EQ(fit.ranks, 2);
  ASSERT_EQ(fit.cost.segments().size(), 2U);
  for (double bytes = 2000; bytes < 1e8; bytes *= 3) {
    if (bytes > 65536 && bytes < 131072) continue;  // the breakpoint lies between these sizes
    EXPECT_NEAR(fit.time(Bytes(bytes)).si(), all_reduce_seconds(bytes),
                1e-6 * all_reduce_seconds(bytes));
  }
}

TEST_F(Calibrated, RecoversCopyUpdateAndLoader) {
  ASSERT_EQ(machine_.update.size(), 2U);
  ASSERT_EQ(machine_.h2d.size(), 2U);
  ASSERT_EQ(machine_.loaders.size(), 2U);
  EXPECT_NEAR(machine_.update[1].cost.time(Bytes(3e6)).value.si(), update_seconds(3e6), 1e-9);
  EXPECT_NEAR(machine_.h2d[0].cost.time(Bytes(3e6)).value.si(), copy_seconds(3e6), 1e-9);
  EXPECT_EQ(machine_.loaders[0].decode.value.si(), decode_seconds);
  EXPECT_EQ(machine_.loaders[0].picture().value.si(),
            read_seconds + decode_seconds + augment_seconds);
}

TEST_F(Calibrated, KeepsTheHostsTimeToGiveWorkWhereItWasMeasured) {
  for (const KernelTime& kernel : machine_.kernels) EXPECT_FALSE(kernel.give);
  for (const AffineFit& fit : machine_.update) EXPECT_FALSE(fit.give);
  auto results = results_;
  for (ResultFile& file : results) {
    for (Measurement& m : file.measurements) {
      if (m.series.contains("time")) {
        m.series["give"] = make_series("s", {std::vector<double>(9, 3e-6)});
      }
      if (m.benchmark == "comm") m.axes["memory"] = "device";
    }
  }
  results[0].measurements.front().series.erase("give");  // of an older version
  const Machine machine = calibrate(two_workers(), results);
  ASSERT_EQ(machine.kernels.size(), machine_.kernels.size());
  EXPECT_EQ(std::ranges::count_if(machine.kernels, [](const auto& k) { return !k.give; }), 1);
  for (const auto* fits : {&machine.update, &machine.h2d}) {
    for (const AffineFit& fit : *fits) EXPECT_EQ(fit.give.value().value.si(), 3e-6);
  }
  const Machine read = machine_from_json(machine_json(machine), "m.json");
  EXPECT_EQ(machine_json(read), machine_json(machine));
  EXPECT_EQ(read.kernels.back().give.value().high.si(), 3e-6);
  EXPECT_EQ(machine_json(machine_).find("give_s"), std::string::npos);  // as earlier versions wrote
}

TEST_F(Calibrated, NamesItsSources) {
  EXPECT_EQ(machine_.sources, (std::vector<std::string>{"kernels.jsonl", "rest.jsonl"}));
  EXPECT_TRUE(machine_.fitted);
}

TEST_F(Calibrated, PoolsRepeatsByTheMedianOfFiles) {
  auto repeated = results_;
  for (const double factor : {3.0, 1.1}) {
    ResultFile again = results_[0];
    again.path = "again" + std::to_string(factor) + ".jsonl";
    for (Measurement& m : again.measurements) {
      const double time = m.series["time"].summary.median * factor;
      m.series["time"] = make_series("s", {std::vector<double>(9, time)});
    }
    repeated.push_back(again);
  }
  const Machine pooled = calibrate(two_workers(), repeated);
  ASSERT_EQ(pooled.kernels.size(), machine_.kernels.size());
  for (std::size_t i = 0; i < pooled.kernels.size(); ++i) {
    const double once = machine_.kernels[i].time.value.si();
    EXPECT_NEAR(pooled.kernels[i].time.value.si(), 1.1 * once, 1e-12);
    EXPECT_NEAR(pooled.kernels[i].time.low.si(), once, 1e-12);
    EXPECT_NEAR(pooled.kernels[i].time.high.si(), 3 * once, 1e-12);
    test::expect_contains(pooled.kernels[i].source, "and 2 more");
  }
}

TEST_F(Calibrated, LeavesOutWhatFailed) {
  for (const Status status : {Status::wrong, Status::unsupported, Status::interrupted}) {
    auto results = results_;
    results[0].measurements.front().status = status;
    EXPECT_EQ(calibrate(two_workers(), results).kernels.size(), machine_.kernels.size() - 1);
  }
}

TEST_F(Calibrated, CountsEachRankForKernelsAndTheSlowestForMessages) {
  auto uneven = results_;
  for (ResultFile& file : uneven) {
    for (Measurement& m : file.measurements) {
      if (m.axes["ranks"] != "2" || !m.series.contains("time")) continue;
      const double time = m.at("time").summary.median;
      m.series["time"] = make_series(
          "s", {std::vector<double>(9, 0.5 * time), std::vector<double>(9, 1.5 * time)});
    }
  }
  const Machine machine = calibrate(two_workers(), uneven);
  for (std::size_t i = 0; i < machine.kernels.size(); ++i) {
    EXPECT_NEAR(machine.kernels[i].time.value / machine_.kernels[i].time.value, 1, 1e-12);
  }
  const Bytes large(1e7);
  EXPECT_NEAR(machine.collectives.front().time(large) / machine_.collectives.front().time(large),
              1.5, 1e-6);
}

TEST_F(Calibrated, NeverMixesCacheStates) {
  auto mixed = results_;
  for (Measurement m : results_[0].measurements) {
    m.axes["cache"] = "hot";
    m.series["time"] = make_series("s", {std::vector<double>(9, 1e-9)});
    mixed[0].measurements.push_back(m);
  }
  EXPECT_EQ(calibrate(two_workers(), mixed).kernels[0].time.value.si(),
            machine_.kernels[0].time.value.si());
  const Machine hot = calibrate(two_workers(), mixed, {.cache = "hot"});
  EXPECT_EQ(hot.kernels[0].time.value.si(), 1e-9);
  test::expect_contains(failure(results_, {.cache = "producer"}), "cold");
}

TEST_F(Calibrated, TakesOfSeveralAlgorithmsTheOneThatTrainingUses) {
  auto compared = results_;
  for (Measurement& m : compared[0].measurements) m.axes["algorithm"] = "chosen";
  for (Measurement m : results_[0].measurements) {
    m.axes["algorithm"] = "FFT";
    m.series["time"] = make_series("s", {std::vector<double>(9, 1e-9)});
    compared[0].measurements.push_back(m);
  }
  const Machine machine = calibrate(two_workers(), compared);
  ASSERT_EQ(machine.kernels.size(), machine_.kernels.size());
  for (std::size_t i = 0; i < machine.kernels.size(); ++i) {
    EXPECT_EQ(machine.kernels[i].time.value.si(), machine_.kernels[i].time.value.si());
  }
}

TEST_F(Calibrated, LeavesOutLayoutsThatTrainingDoesNotUse) {
  auto mixed = results_;
  for (Measurement m : results_[0].measurements) {
    if (m.benchmark != "conv") continue;
    m.axes["layout"] = "nhwc";
    m.series["time"] = make_series("s", {std::vector<double>(9, 1e-9)});
    mixed[0].measurements.push_back(m);
  }
  const Machine machine = calibrate(two_workers(), mixed);
  ASSERT_EQ(machine.kernels.size(), machine_.kernels.size());
  for (std::size_t i = 0; i < machine.kernels.size(); ++i) {
    EXPECT_EQ(machine.kernels[i].time.value.si(), machine_.kernels[i].time.value.si());
  }
}

TEST_F(Calibrated, NeverMixesWhereMessagesAndPicturesComeFrom) {
  auto mixed = results_;
  for (Measurement m : results_[1].measurements) {
    if (m.benchmark == "comm") m.axes["cache"] = "hot";
    if (m.benchmark == "io") m.axes["source"] = "storage";
    if (m.benchmark != "comm" && m.benchmark != "io") continue;
    for (auto& [name, series] : m.series) {
      series = make_series("s", {std::vector<double>(9, 1.0)});
    }
    mixed[1].measurements.push_back(m);
  }
  EXPECT_EQ(machine_json(calibrate(two_workers(), mixed)), machine_json(machine_));
  const Machine other =
      calibrate(two_workers(), mixed, {.message_cache = "hot", .source = "storage"});
  EXPECT_NEAR(other.collectives.front().time(Bytes(1e6)).si(), 1, 1e-9);
  EXPECT_EQ(other.loaders.front().read.value.si(), 1);
}

TEST_F(Calibrated, NeverMixesOtherMessagesThanThoseOfTraining) {
  const std::array<std::pair<const char*, const char*>, 5> others{{{"dtype", "bf16"},
                                                                   {"op", "max"},
                                                                   {"mode", "persistent"},
                                                                   {"in_place", "no"},
                                                                   {"algorithm", "ring"}}};
  auto mixed = results_;
  for (const Measurement& measured : results_[1].measurements) {
    if (measured.benchmark != "comm") continue;
    for (const auto& [axis, value] : others) {
      Measurement m = measured;
      m.axes[axis] = value;
      m.series["time"] = make_series("s", {std::vector<double>(9, 1.0)});
      mixed[1].measurements.push_back(m);
    }
    Measurement barrier = measured;
    barrier.axes["collective"] = "barrier";
    barrier.axes.erase("bytes");
    mixed[1].measurements.push_back(barrier);
    Measurement replayed = measured;
    replayed.axes["message"] = "17";
    replayed.series["time"] = make_series("s", {std::vector<double>(9, 1.0)});
    mixed[1].measurements.push_back(replayed);
  }
  Machine machine = calibrate(two_workers(), mixed);
  ASSERT_EQ(machine.algorithms.size(), 2U);  // the ring is one apart
  EXPECT_EQ(machine.algorithms.back().asked, "ring");
  machine.algorithms.pop_back();
  EXPECT_EQ(machine_json(machine), machine_json(machine_));
}

TEST_F(Calibrated, KeepsWaysOfWaitingApart) {
  auto both = results_;
  for (Measurement m : results_[1].measurements) {
    if (m.benchmark != "comm") continue;
    m.axes["waiting"] = "spin";
    both[1].measurements.push_back(m);
  }
  const Machine machine = calibrate(two_workers(), both);
  ASSERT_EQ(machine.collectives.size(), 2U);
  EXPECT_NE(machine.collectives[0].waiting, machine.collectives[1].waiting);
}

TEST_F(Calibrated, TakesTheMeanOverPicturesOfAllRanks) {
  auto results = results_;
  for (Measurement& m : results[1].measurements) {
    if (m.benchmark == "io") {
      m.series["decode"] = make_series("s", {{1e-3, 1e-3, 4e-3}, {2e-3, 2e-3, 2e-3}});
    }
  }
  const Machine machine = calibrate(two_workers(), results);
  EXPECT_NEAR(machine.loaders.front().decode.value.si(), 2e-3, 1e-12);
  EXPECT_LT(machine.loaders.front().decode.low.si(), 2e-3);
}

TEST_F(Calibrated, NeverMixesBackends) {
  auto mixed = results_;
  for (Measurement m : results_[0].measurements) {
    m.axes["backend"] = "reference";
    mixed[0].measurements.push_back(m);
  }
  test::expect_contains(failure(mixed), "onednn, reference");
  EXPECT_EQ(failure(mixed, {.backend = "onednn"}), "");
  test::expect_contains(failure(mixed, {.backend = "cuda"}), "cuda");
}

TEST_F(Calibrated, RefusesEndToEndResults) {
  auto results = results_;
  results.push_back(file("e2e.jsonl", {measured("e2e", {}, 1, "t_iter")}));
  test::expect_contains(failure(results), "e2e.jsonl");
  results.back() = file("empty.jsonl", {});
  results.back().header.benchmark = "e2e";
  test::expect_contains(failure(results), "empty.jsonl");
}

TEST_F(Calibrated, RefusesResultsOfTwoProcessors) {
  auto results = results_;
  results[1].header.environment.cpu = "another";
  test::expect_contains(failure(results), "another");
}

TEST_F(Calibrated, RefusesResultsOfTwoHosts) {
  auto results = results_;
  results[0].header.environment.host_hash = "0123";
  results[1].header.environment.host_hash = "4567";
  test::expect_contains(failure(results), "kernels.jsonl was measured with the host \"0123\"");
}

/// All-reduces between two hosts of a cluster of scripts/cluster with links of that rate.
ResultFile between_hosts(const std::string& path, const std::string& rate) {
  std::vector<Measurement> rows;
  for (double bytes = 1024; bytes < 1e7; bytes *= 4) {
    rows.push_back(sized("comm",
                         {{"collective", "all_reduce"},
                          {"ranks", "2"},
                          {"ranks_on_node", "1"},
                          {"library", "MPI"},
                          {"waiting", "sleep"},
                          {"cache", "cold"}},
                         bytes, 1e-3 + 1e-8 * bytes));
  }
  ResultFile messages = file(path, rows);
  if (rate.empty()) return messages;
  messages.header.environment.variables["DLSCALE_CLUSTER"] =
      "2 hosts on one machine with cores 0 | 1, links of " + rate + ", " + rate;
  return messages;
}

TEST_F(Calibrated, RefusesMessagesOverTwoKindsOfLinks) {
  auto results = results_;
  results.push_back(between_hosts("slow.jsonl", "1Gb/s"));
  results.push_back(between_hosts("again.jsonl", "1Gb/s"));
  EXPECT_EQ(failure(results), "");
  EXPECT_EQ(calibrate(two_workers(), results).measured_on.links, "links of 1Gb/s");
  results.push_back(between_hosts("fast.jsonl", "10Gb/s"));
  EXPECT_EQ(failure(results),
            "slow.jsonl was measured with the links between hosts \"links of 1Gb/s\", fast.jsonl "
            "with \"links of 10Gb/s\": no machine is both. Give the results of one.");
  results.back() = between_hosts("plain.jsonl", "");
  test::expect_contains(failure(results), "plain.jsonl with \"not named\"");
}

TEST_F(Calibrated, TakesPartsMeasuredWithAnyLinksThatTheyDoNotCross) {
  auto results = results_;
  results.push_back(between_hosts("slow.jsonl", "1Gb/s"));
  results[1].header.environment.variables["DLSCALE_CLUSTER"] =
      "2 hosts on one machine with cores 0 | 1, links of 10Gb/s, 10Gb/s";
  EXPECT_EQ(failure(results), "");
  EXPECT_EQ(machine_.measured_on.links, "");
}

TEST_F(Calibrated, RefusesResultsOfTwoVersionsOfALibraryUnlessOfAnotherBackend) {
  auto results = results_;
  results[0].header.environment.libraries = {{"oneDNN", "2.6.0"}, {"communicator", "none"}};
  results[1].header.environment.libraries = {{"oneDNN", "2.6.0"}, {"communicator", "MPI"}};
  EXPECT_EQ(failure(results), "");
  ResultFile other = results_[0];
  other.path = "other.jsonl";
  other.header.environment.libraries = {{"oneDNN", "3.1.0"}};
  results.push_back(other);
  test::expect_contains(failure(results), "other.jsonl with \"3.1.0\"");
  for (Measurement& m : results.back().measurements) m.axes["backend"] = "reference";
  EXPECT_EQ(failure(results, {.backend = "onednn"}), "");
}

TEST_F(Calibrated, RemembersWhatItWasFittedTo) {
  auto results = results_;
  for (ResultFile& file : results) {
    file.header.environment.host_hash = "0123";
    file.header.environment.libraries = {{"oneDNN", "2.6.0"}, {"communicator", "none"}};
  }
  const MeasuredOn measured_on = calibrate(two_workers(), results).measured_on;
  EXPECT_EQ(measured_on.cpu, "synthetic");
  EXPECT_EQ(measured_on.host_hash, "0123");
  EXPECT_EQ(measured_on.backend, "onednn");
  EXPECT_EQ(measured_on.libraries,
            (std::map<std::string, std::string>{{"communicator", "MPI"}, {"oneDNN", "2.6.0"}}));
}

TEST_F(Calibrated, NeverMixesBackendsOfKernelsAndUpdates) {
  auto results = results_;
  for (Measurement& m : results[0].measurements) m.axes["backend"] = "reference";
  test::expect_contains(failure(results), "onednn, reference");
}

TEST_F(Calibrated, RefusesResultsOfTwoLibraries) {
  auto results = results_;
  results[1].measurements.back().axes["library"] = "another MPI";
  test::expect_contains(failure(results), "another MPI");
}

TEST_F(Calibrated, SaysWhichFileAndKeyIsDamaged) {
  auto results = results_;
  results[0].measurements[3].axes["batch"] = "eight";
  const std::string message = failure(results);
  test::expect_contains(message, "kernels.jsonl");
  test::expect_contains(message, "eight");
  results = results_;
  results[0].measurements[3].series.clear();
  test::expect_contains(failure(results), "\"time\" is missing");
  results = results_;
  results[0].measurements[3].series["time"].unit = "ms";
  test::expect_contains(failure(results), "not in seconds");
  results = results_;
  results[0].measurements[3].axes.erase("threads");
  test::expect_contains(failure(results), "\"threads\"");
}

TEST(Calibrate, RefusesNothing) {
  test::expect_contains(failure({}), "nothing to fit");
  test::expect_contains(failure({file("overhead.jsonl", {measured("overhead", {}, 1)})}),
                        "nothing");
}

/// Training updates what has left the caches; `bench update --cache` measures other states, too.
TEST(Calibrate, TakesUpdatesFromColdCachesAlone) {
  const std::map<std::string, std::string> axes{
      {"ranks_on_node", "1"}, {"threads", "1"}, {"backend", "onednn"}, {"dtype", "f32"}};
  auto cold = axes;
  cold["cache"] = "cold";
  auto hot = axes;
  hot["cache"] = "hot";
  const Measurement hot_row = sized("update", hot, 4096, 1e-9);
  const Measurement old_row = sized("update", axes, 1024, 1e-6);
  test::expect_contains(failure({file("update.jsonl", {old_row, hot_row})}), "only one size");
  test::expect_contains(
      failure({file("update.jsonl", {sized("update", cold, 1024, 1e-6), hot_row})}),
      "only one size");
}

TEST(Calibrate, RefusesASingleSize) {
  const auto one = sized(
      "update", {{"ranks_on_node", "1"}, {"threads", "1"}, {"backend", "onednn"}, {"dtype", "f32"}},
      1024, 1e-6);
  test::expect_contains(failure({file("update.jsonl", {one})}), "only one size");
}

TEST(Calibrate, TakesMemoryBandwidthFromTheLargestArrays) {
  std::vector<Measurement> all;
  for (const double bytes : {1e4, 1e8}) {
    Measurement m =
        sized("memory",
              {{"operation", "triad"}, {"threads", "1"}, {"ranks", "1"}, {"ranks_on_node", "1"}},
              bytes, bytes < 1e6 ? 1e-7 : 0.03);
    m.work = Work{Flops(), Bytes(3 * bytes)};
    all.push_back(m);
  }
  Measurement by_hand = all.back();  // a loop that training does not run
  by_hand.axes["isa"] = "avx2";
  by_hand.axes["bytes"] = "200000000";
  all.push_back(by_hand);
  const Machine machine = calibrate(two_workers(), std::vector{file("memory.jsonl", all)});
  EXPECT_NEAR(machine.memory_bandwidth.at("triad").value.si(), 1e10, 1);
}

}  // namespace
}  // namespace dlscale::model
