#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include "core/base/error.hpp"
#include "core/results/bandwidths.hpp"
#include "core/results/communication_profile.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

/// On two ranks, of which the second takes 1 ms longer and starts 2 ms later.
ProfiledMessage message(const std::string& collective, std::int64_t bytes, double posted,
                        double time) {
  return {.collective = collective,
          .bytes = bytes,
          .posted = {Seconds(posted), Seconds(posted + 2e-3)},
          .wait = {Seconds(0.5e-3), Seconds(0.25e-3)},
          .time = {Seconds(time), Seconds(time + 1e-3)}};
}

/// Three iterations, the second with other messages than the first and the last.
CommunicationProfile profile() {
  CommunicationProfile made;
  made.axes = {{"network", "made"}, {"schedule", "wait_free"}};
  made.library = "a library";
  const std::vector same{message("all_reduce", 4096, 0.01, 0.003),
                         message("all_reduce", 6000, 0.02, 0.004),
                         message("broadcast", 4096, 0.03, 0.002)};
  const std::vector other{message("all_reduce", 4096, 0.01, 0.005),
                          message("all_reduce", 8192, 0.015, 0.006)};
  made.iterations = {same, other, same};
  for (auto& iteration : made.iterations) iteration[1].under_way = 1;
  for (auto& iteration : made.iterations) iteration[0].layers = 1;
  for (auto& iteration : made.iterations) iteration[1].layers = 3;
  made.iterations[0][2].root = 1;
  made.iterations[2][2].root = 1;
  return made;
}

ResultFile file_of(std::vector<Measurement> rows) {
  ResultFile file;
  file.path = "some/profile.jsonl";
  file.header.benchmark = profile_benchmark;
  file.measurements = std::move(rows);
  file.complete = true;
  return file;
}

void expect_same(const CommunicationProfile& a, const CommunicationProfile& b) {
  EXPECT_EQ(a.axes, b.axes);
  EXPECT_EQ(a.library, b.library);
  EXPECT_EQ(a.interruption, b.interruption);
  ASSERT_EQ(a.iterations.size(), b.iterations.size());
  for (std::size_t i = 0; i < a.iterations.size(); ++i) {
    ASSERT_EQ(a.iterations[i].size(), b.iterations[i].size());
    for (std::size_t k = 0; k < a.iterations[i].size(); ++k) {
      const ProfiledMessage& one = a.iterations[i][k];
      const ProfiledMessage& other = b.iterations[i][k];
      EXPECT_EQ(one.collective, other.collective);
      EXPECT_EQ(one.bytes, other.bytes);
      EXPECT_EQ(one.posted, other.posted);
      EXPECT_EQ(one.wait, other.wait);
      EXPECT_EQ(one.time, other.time);
      EXPECT_EQ(one.root, other.root);
      EXPECT_EQ(one.under_way, other.under_way);
      EXPECT_EQ(one.layers, other.layers);
    }
  }
}

TEST(SizeBuckets, BeginAtPowersOfTwo) {
  EXPECT_EQ(size_exponent(1), 0);
  EXPECT_EQ(size_exponent(2), 1);
  EXPECT_EQ(size_exponent(3), 1);
  EXPECT_EQ(size_exponent(4095), 11);
  EXPECT_EQ(size_exponent(4096), 12);
  EXPECT_EQ(size_exponent(8191), 12);
  EXPECT_EQ(size_exponent(std::numeric_limits<std::int64_t>::max()), 62);
  for (const std::int64_t power : {1, 2, 4096, 1 << 30}) EXPECT_TRUE(is_power_of_two(power));
  for (const std::int64_t none : {3, 4095, 4097, 6000}) EXPECT_FALSE(is_power_of_two(none));
  EXPECT_THROW(size_exponent(0), std::logic_error);
}

TEST(SizeBuckets, AddUpTheMessagesOfACollectiveAndSize) {
  const std::vector<SizeBucket> buckets = size_buckets(profile());
  ASSERT_EQ(buckets.size(), 3U);
  const SizeBucket& small = buckets[0];
  EXPECT_EQ(small.collective, "all_reduce");
  EXPECT_EQ(small.exponent, 12);
  EXPECT_EQ(small.calls, 5U);
  EXPECT_EQ(small.powers_of_two, 3U);
  EXPECT_NEAR(small.power_time.si(), 0.004 + 0.006 + 0.004, 1e-12);
  EXPECT_EQ(small.fused, 2U);
  EXPECT_NEAR(small.fused_time.si(), 0.005 + 0.005, 1e-12);
  EXPECT_EQ(small.untold, 0U);
  EXPECT_EQ(small.bytes, Bytes(3 * 4096 + 2 * 6000));
  EXPECT_NEAR(small.time.si(), 0.004 + 0.005 + 0.006 + 0.004 + 0.005, 1e-12);
  EXPECT_NEAR(small.call.median, 0.005, 1e-12);
  EXPECT_EQ(small.call.n, 5U);
  EXPECT_EQ(buckets[1].exponent, 13);
  EXPECT_EQ(buckets[1].powers_of_two, 1U);
  EXPECT_EQ(buckets[2].collective, "broadcast");
  EXPECT_EQ(buckets[2].untold, 2U);
  EXPECT_NEAR(buckets[2].share, 0.006 / 0.037, 1e-9);
  double all = 0;
  for (const SizeBucket& bucket : buckets) all += bucket.share;
  EXPECT_NEAR(all, 1, 1e-12);
}

TEST(SizeBuckets, HaveNoShareOfNoTime) {
  CommunicationProfile made;
  const ProfiledMessage nothing{.collective = "all_reduce",
                                .bytes = 4,
                                .posted = {Seconds(0)},
                                .wait = {Seconds(0)},
                                .time = {Seconds(0)}};
  made.iterations.push_back({nothing});
  EXPECT_EQ(size_buckets(made).at(0).share, 0);
}

TEST(CommunicationProfile, ComesBackFromItsRows) {
  const std::vector<Measurement> rows = profile_rows(profile());
  ASSERT_EQ(rows.size(), 4U);  // 4096, then 6000 or 8192, then a broadcast
  EXPECT_EQ(rows[0].axis("message"), "0");
  EXPECT_EQ(rows[0].at("time").samples.front().size(), 3U);
  EXPECT_EQ(rows[1].axis("bytes"), "6000");
  EXPECT_EQ(rows[1].at("iteration").samples.back(), (std::vector<double>{0, 2}));
  EXPECT_EQ(rows[2].at("iteration").samples.back(), (std::vector<double>{1}));
  const auto read = read_profiles(file_of(rows));
  ASSERT_EQ(read.size(), 1U);
  expect_same(read.front(), profile());
}

TEST(CommunicationProfile, TellsMessagesOfSeveralRootsApart) {
  CommunicationProfile made = profile();
  made.iterations[2][2].root = 0;
  const std::vector<Measurement> rows = profile_rows(made);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[3].axis("root"), "0");
  EXPECT_EQ(rows[4].axis("root"), "1");
  EXPECT_FALSE(rows[0].axes.contains("root"));
  expect_same(read_profiles(file_of(rows)).front(), made);
}

TEST(CommunicationProfile, OfAnEarlierVersionDoesNotTellWhatWasUnderWay) {
  EXPECT_TRUE(read_profiles(file_of(profile_rows(profile()))).front().tells_order);
  CommunicationProfile made = profile();
  made.tells_order = false;
  const std::vector<Measurement> rows = profile_rows(made);
  for (const Measurement& row : rows) EXPECT_FALSE(row.series.contains("under_way"));
  const CommunicationProfile read = read_profiles(file_of(rows)).front();
  EXPECT_FALSE(read.tells_order);
  EXPECT_EQ(read.iterations[0][1].under_way, 0U);
}

TEST(CommunicationProfile, ComesBackBesideOthersOfItsFile) {
  CommunicationProfile second = profile();
  second.axes["schedule"] = "bucketed";
  second.interruption = "a signal";
  std::vector<Measurement> rows = profile_rows(profile());
  for (Measurement& row : profile_rows(second)) rows.push_back(std::move(row));
  const auto read = read_profiles(file_of(rows));
  ASSERT_EQ(read.size(), 2U);
  expect_same(read[0], second);
  expect_same(read[1], profile());
}

std::string complaint(const ResultFile& file) {
  return test::config_error([&] { std::ignore = read_profiles(file); });
}

/// What is said of the rows after a change.
std::string complaint_after(const std::function<void(std::vector<Measurement>&)>& change) {
  std::vector<Measurement> rows = profile_rows(profile());
  change(rows);
  return complaint(file_of(rows));
}

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos && text.find("some/profile.jsonl") == 0) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

TEST(CommunicationProfile, IsRefusedWhereMessagesAreMissingOrTwice) {
  using Rows = std::vector<Measurement>;
  EXPECT_TRUE(says(complaint_after([](Rows& rows) { rows.erase(rows.begin()); }),
                   "message 0 of iteration 0 is missing"));
  EXPECT_TRUE(says(complaint_after([](Rows& rows) { rows.erase(rows.begin() + 1); }),
                   "message 1 of iteration 0 is missing"));
  EXPECT_TRUE(says(complaint_after([](Rows& rows) { rows.push_back(rows[0]); }),
                   "message 0 of iteration 0 stands twice"));
  const auto later = [](Rows& rows) {
    for (Measurement& row : rows) {
      for (auto& rank : row.series.at("iteration").samples) {
        for (double& number : rank) number += 1;
      }
    }
  };
  EXPECT_TRUE(says(complaint_after(later), "iteration 0 is missing"));
}

TEST(CommunicationProfile, IsRefusedWithNumbersThatNoTrainingLeaves) {
  for (const char* bytes :
       {"0", "-4", "4.5", "nan", "1e9", "", "99999999999999999999", "2199023255552"}) {
    const auto change = [bytes](std::vector<Measurement>& rows) { rows[0].axes["bytes"] = bytes; };
    EXPECT_TRUE(says(complaint_after(change), "\"bytes\" is \"")) << bytes;
  }
  for (const double time : {-1e-9, 1e300, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    for (const char* name : {"posted", "wait", "time"}) {
      const auto change = [&](std::vector<Measurement>& rows) {
        rows[1].series.at(name).samples[1][0] = time;
      };
      EXPECT_TRUE(says(complaint_after(change), std::string("a sample of \"") + name)) << time;
    }
  }
  EXPECT_TRUE(
      says(complaint_after([](auto& rows) { rows[0].series.at("iteration").samples[0][0] = 0.5; }),
           "a sample of \"iteration\" is 0.5, no whole number"));
  EXPECT_TRUE(says(complaint_after([](auto& rows) { rows[0].axes.erase("message"); }),
                   "lacks the axis \"message\""));
  EXPECT_TRUE(says(complaint_after([](auto& rows) { rows[0].axes.erase("collective"); }),
                   "names no collective"));
}

TEST(CommunicationProfile, IsRefusedWithAnOrderOrRootsThatNoTrainingHas) {
  for (const double number : {-1.0, 2.0, 0.5, std::numeric_limits<double>::infinity()}) {
    const auto change = [number](std::vector<Measurement>& rows) {
      rows[1].series.at("under_way").samples[0][0] = number;
    };
    EXPECT_TRUE(says(complaint_after(change), "a sample of \"under_way\" is")) << number;
  }
  EXPECT_TRUE(says(complaint_after([](auto& rows) {
                     for (auto& rank : rows[1].series.at("under_way").samples) rank.pop_back();
                   }),
                   "\"under_way\" has other samples"));
  EXPECT_TRUE(says(complaint_after([](auto& rows) { rows[3].axes["root"] = "2"; }),
                   "rank 2 of 2 as its root"));
  EXPECT_TRUE(
      says(complaint_after([](auto& rows) { rows[0].series.at("layers").samples[0][0] = 1.5; }),
           "a sample of \"layers\" is 1.5"));
  for (const char* root : {"-1", "one", "", "4294967296"}) {
    EXPECT_TRUE(says(complaint_after([root](auto& rows) { rows[3].axes["root"] = root; }),
                     "the axis \"root\" is"))
        << root;
  }
}

TEST(CommunicationProfile, IsRefusedWithSeriesOfOtherShapes) {
  EXPECT_TRUE(says(complaint_after([](auto& rows) { rows[0].series.erase("wait"); }),
                   "lacks the series \"wait\""));
  EXPECT_TRUE(
      says(complaint_after([](auto& rows) { rows[0].series.at("time").samples.pop_back(); }),
           "other ranks or samples"));
  EXPECT_TRUE(says(complaint_after([](auto& rows) {
                     for (auto& [name, series] : rows[0].series) series.samples.pop_back();
                   }),
                   "different numbers of ranks"));
  EXPECT_TRUE(says(complaint_after([](auto& rows) { rows[0].benchmark = "comm"; }),
                   "of the benchmark \"comm\""));
}

TEST(CommunicationProfile, IsRefusedWhereItsAxesTellOfAnotherRun) {
  const auto with = [](const std::string& axis, const std::string& value) {
    return complaint_after([&](auto& rows) {
      for (Measurement& row : rows) row.axes[axis] = value;
    });
  };
  for (const char* ranks : {"0", "1", "5", "x", ""}) {
    EXPECT_TRUE(says(with("ranks", ranks), "and its samples are of 2")) << ranks;
  }
  EXPECT_TRUE(says(with("dtype", "f64"), "in which no training computes"));
  for (const char* dtype : {"f32", "tf32", "bf16"}) {
    CommunicationProfile made = profile();
    made.axes["ranks"] = "2";
    made.axes["dtype"] = dtype;
    EXPECT_EQ(read_profiles(file_of(profile_rows(made))).size(), 1U) << dtype;
  }
}

TEST(CommunicationProfile, TellsWhereItsFileEndsEarly) {
  ResultFile file = file_of(profile_rows(profile()));
  EXPECT_EQ(read_profiles(file).front().doubt, "");
  file.complete = false;
  EXPECT_TRUE(says(read_profiles(file).front().doubt, "some/profile.jsonl ends early"));
}

TEST(CommunicationProfile, IsNotReadFromResultsOfOtherBenchmarks) {
  ResultFile file = file_of({});
  file.header.benchmark = "conv";
  EXPECT_TRUE(says(complaint(file), "holds results of bench conv"));
}

Measurement row(const std::string& collective, const std::string& bytes, const std::string& ranks) {
  Measurement measurement;
  measurement.benchmark = "comm";
  measurement.axes = {{"collective", collective}, {"bytes", bytes}, {"ranks", ranks}};
  return measurement;
}

TEST(BusFactor, IsThatOfNcclTests) {
  for (const auto& [ranks, share] : {std::pair{2, 0.5}, std::pair{4, 0.75}, std::pair{100, 0.99}}) {
    EXPECT_DOUBLE_EQ(bus_factor("all_reduce", ranks).value(), 2 * share);
    for (const char* name : {"all_gather", "reduce_scatter", "all_to_all"}) {
      EXPECT_DOUBLE_EQ(bus_factor(name, ranks).value(), share) << name;
    }
  }
  for (const char* name :
       {"broadcast", "reduce", "sendrecv", "bandwidth", "bidirectional", "pairs"}) {
    EXPECT_DOUBLE_EQ(bus_factor(name, 4).value(), 1) << name;
  }
  EXPECT_FALSE(bus_factor("barrier", 4).has_value());
}

/// The table of factors that was read off nccl-tests, where it is at hand.
TEST(BusFactor, AgreesWithTheTableOfOthers) {
  std::ifstream file(DLSCALE_SHARED_DATA "/data/collective_bandwidth_factors.csv");
  if (!file) GTEST_SKIP() << "no table of factors here";
  const std::map<std::string, double> of_four{{"2(n-1)/n", 1.5}, {"(n-1)/n", 0.75}, {"1", 1.0}};
  std::string line;
  std::getline(file, line);
  int compared = 0;
  while (std::getline(file, line)) {
    std::string collective;
    std::string factor;
    std::istringstream fields(line.find('"') == std::string::npos ? line : std::string());
    std::getline(fields, collective, ',');
    for (int i = 0; i < 3; ++i) std::getline(fields, factor, ',');
    if (collective == "alltoall") collective = "all_to_all";
    const auto known = bus_factor(collective, 4);
    if (!known || !of_four.contains(factor)) continue;
    ++compared;
    EXPECT_DOUBLE_EQ(*known, of_four.at(factor)) << line;
  }
  EXPECT_GT(compared, 10);
}

TEST(Bandwidths, FollowFromTheSizeOfTheMessage) {
  const auto found = bandwidths(row("all_gather", "1000000", "4"), Seconds(1e-3));
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->algbw.si(), 1e9);
  EXPECT_DOUBLE_EQ(found->busbw.value().si(), 0.75e9);
  EXPECT_FALSE(found->wirebw.has_value());
}

TEST(Bandwidths, OfTheWireAreThoseOfTheAlgorithmThatRan) {
  Measurement measurement = row("all_reduce", "1000000", "4");
  measurement.algorithmic_work = Work{Flops(0), Bytes(2e6)};
  EXPECT_DOUBLE_EQ(bandwidths(measurement, Seconds(1e-3))->wirebw.value().si(), 2e9);
}

TEST(Bandwidths, AreAbsentWhereNoMessageTravels) {
  EXPECT_FALSE(bandwidths(Measurement{}, Seconds(1)).has_value());
  EXPECT_FALSE(bandwidths(row("all_reduce", "0", "4"), Seconds(1)).has_value());
  EXPECT_FALSE(bandwidths(row("all_reduce", "some", "4"), Seconds(1)).has_value());
  EXPECT_FALSE(bandwidths(row("all_reduce", "8", "4"), Seconds(0)).has_value());
  const auto other = bandwidths(row("gossip", "8", "4"), Seconds(1));
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->busbw.has_value());
}

}  // namespace
}  // namespace dlscale
