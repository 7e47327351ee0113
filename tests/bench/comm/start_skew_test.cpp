#include "bench/comm/traffic/start_skew.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include "bench/comm/traffic/job_clock.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/statistics.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/passing_communicator.hpp"
#include "tests/bench/engine/quick.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;

/// On one host, whose clock all ranks look at: the true offset of every clock is 0.
template <class Ranks>
class ClocksOfOneHost : public testing::Test {};
using Groups = testing::Types<backend::Threads, backend::Processes>;
TYPED_TEST_SUITE(ClocksOfOneHost, Groups);

void expect_no_offset(const std::vector<ClockOffset>& offsets) {
  for (const ClockOffset& offset : offsets) {
    EXPECT_LE(std::abs(offset.ahead.si()), offset.uncertainty.si() + 1e-9);
  }
}

TYPED_TEST(ClocksOfOneHost, AreFoundToBeOne) {
  TypeParam::run([](Communicator& ranks) {
    const JobClock clock(ranks);
    const std::vector<ClockOffset> before = clock.look();
    const std::vector<ClockOffset> after = clock.look();
    ASSERT_EQ(before.size(), static_cast<std::size_t>(ranks.size()));
    expect_no_offset(before);
    expect_no_offset(after);
    EXPECT_EQ(before.front().uncertainty, Seconds(0));
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      EXPECT_LE(before[rank].at, after[rank].at);
      if (rank > 0) {
        EXPECT_GT(before[rank].uncertainty, Seconds(0));
      }
    }
  });
}

TYPED_TEST(ClocksOfOneHost, AreTheSameOnAllRanks) {
  TypeParam::run([](Communicator& ranks) {
    const std::vector<ClockOffset> mine = JobClock(ranks).look();
    std::vector<ClockOffset> of_first = mine;
    ranks.broadcast(std::as_writable_bytes(std::span(of_first)), 0);
    for (std::size_t rank = 0; rank < mine.size(); ++rank) {
      EXPECT_EQ(mine[rank].ahead, of_first[rank].ahead);
      EXPECT_EQ(mine[rank].uncertainty, of_first[rank].uncertainty);
    }
  });
}

/// What a row says of when ranks began.
void expect_starts(const Measurement& measurement, double parts) {
  const std::size_t count = measurement.at("time").samples.front().size();
  const std::vector<double> longest = slowest_rank(measurement.at("time").samples);
  const auto& skew = measurement.at("start_skew").samples;
  const auto& joint = measurement.at("last_entry_to_last_exit").samples;
  ASSERT_EQ(skew.size(), 1U);
  ASSERT_EQ(joint.size(), 1U);
  ASSERT_EQ(skew.front().size(), count);
  ASSERT_EQ(joint.front().size(), count);
  const double unsure = measurement.at("clock_uncertainty").summary.median;
  EXPECT_GT(unsure, 0);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_GE(skew.front()[i], 0);
    EXPECT_GE(joint.front()[i], 0);
    // Who leaves last entered no later than the last.
    EXPECT_LE(joint.front()[i], longest[i] + unsure / parts + 1e-9);
  }
  const double p95 = measurement.at("start_skew_p95").summary.median;
  EXPECT_GE(p95, measurement.at("start_skew").summary.median);
  EXPECT_LE(p95, measurement.at("start_skew").summary.max);
  EXPECT_EQ(measurement.at("clock_offset").samples.size(), measurement.at("time").samples.size());
  for (const auto& looks : measurement.at("clock_offset").samples) {
    ASSERT_EQ(looks.size(), 2U);
    if (parts > 1) continue;  // the uncertainty is of two ranks alone
    for (const double ahead : looks) EXPECT_LE(std::abs(ahead), unsure + 1e-9);
  }
}

TYPED_TEST(ClocksOfOneHost, AreInEveryRow) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.size() == 1) return;
    const Benchmark& comm = *family<Benchmark>().find("comm");
    Context context =
        make_context(comm,
                     {{"collectives", "all_reduce,broadcast,all_to_all,barrier,sendrecv,bandwidth"},
                      {"sizes", "4KiB"},
                      {"waiting", "spin,sleep"},
                      {"cache", "hot"}},
                     ranks);
    int rows = 0;
    for (const Cell& cell : comm.cells(context)) {
      const std::string& name = cell.axes.at("collective");
      const double parts = name == "sendrecv" ? 2 : name == "bandwidth" ? 64 : 1;
      expect_starts(cell.measure(Sampler(ranks, quick)), parts);
      ++rows;
    }
    EXPECT_EQ(rows, 6 * 2);
  });
}

/// Passes everything on, and counts messages by their size, and how often the ranks met.
class CountingCommunicator : public PassingCommunicator {
 public:
  explicit CountingCommunicator(Communicator& to) : PassingCommunicator(to) {}
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    ++sent[data.size()];
    PassingCommunicator::send(data, to, tag);
  }
  void barrier(backend::WaitPolicy waiting) override {
    ++met;
    PassingCommunicator::barrier(waiting);
  }

  std::map<std::size_t, std::size_t> sent;
  std::size_t met = 0;
};

TEST(PingPong, BeginsAfterAByteThereAndBackAndNotAfterABarrier) {
  for (const std::string waiting : {"spin", "sleep"}) {
    backend::run_on_threads(2, [&waiting](Communicator& ranks) {
      CountingCommunicator counting(ranks);
      const Benchmark& comm = *family<Benchmark>().find("comm");
      Context context = make_context(comm,
                                     {{"collectives", "sendrecv"},
                                      {"sizes", "4KiB"},
                                      {"waiting", waiting},
                                      {"cache", "reused"}},
                                     counting);
      StoppingCriterion seven;
      seven.min_samples = 6;
      seven.max_samples = 6;
      seven.min_warmup = Seconds(0);
      seven.min_warmups = 1;
      const Measurement row = comm.cells(context).at(0).measure(Sampler(counting, seven));
      EXPECT_EQ(row.at("time").samples.front().size(), 6U) << row.reason;
      EXPECT_EQ(counting.sent[4096], 7U + 2U);  // and checks before and after
      // The clocks of the ranks are compared by messages of another size.
      EXPECT_EQ(counting.sent[1], waiting == "spin" ? 7U : 0U);
      EXPECT_EQ(counting.met, waiting == "spin" ? 0U : 7U);
    });
  }
}

class BarrierTraffic : public Traffic {
 public:
  explicit BarrierTraffic(Communicator& ranks) : ranks_(&ranks) {}
  [[nodiscard]] std::size_t memory() const override { return 1; }
  void write_numbers(std::span<std::byte>) const override {}
  void use(std::span<std::byte>) override {}
  [[nodiscard]] Mismatch compare(std::span<const std::byte>) const override { return {}; }
  [[nodiscard]] std::optional<Bytes> bytes_moved() const override { return std::nullopt; }
  [[nodiscard]] std::string implementation() const override { return "a barrier"; }

 private:
  void carry_out() override { ranks_->barrier(); }

  Communicator* ranks_;
};

/// Keeps the last rank from coming for a millisecond.
void come_late(const Communicator& ranks) {
  if (ranks.rank() != ranks.size() - 1) return;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + std::chrono::milliseconds(1)) {
    std::this_thread::yield();
  }
}

struct LateBarriers {
  Measurement measurement;
  std::vector<Stay> stays;  ///< of this rank, the warm-up's first
};

LateBarriers measure_late_barriers(Communicator& ranks) {
  BarrierTraffic traffic(ranks);
  LateBarriers result;
  StartWatch starts(ranks);
  result.measurement =
      Sampler(ranks, quick)
          .sample({.set_up = {}, .barrier = backend::WaitPolicy::spin, .once = [&] {
                     come_late(ranks);
                     const Seconds time = traffic.once();
                     starts.note(traffic.stay());
                     result.stays.push_back(traffic.stay());
                     return time;
                   }});
  starts.report(traffic, result.measurement);
  return result;
}

/// By the one clock of the host: what nobody could know of several hosts.
double true_skew(Communicator& ranks, const Stay& stay) {
  const auto mine = stay.entry.time_since_epoch().count();
  std::vector<std::remove_const_t<decltype(mine)>> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  const auto [first, last] = std::ranges::minmax(all);
  return std::chrono::duration<double>(std::chrono::steady_clock::duration(last - first)).count();
}

TYPED_TEST(ClocksOfOneHost, TellTheTrueSkewWithinTheirUncertainty) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.size() == 1) return;
    const LateBarriers late = measure_late_barriers(ranks);
    const double unsure = late.measurement.at("clock_uncertainty").summary.median;
    const std::vector<double>& skews = late.measurement.at("start_skew").samples.front();
    const std::size_t before = late.stays.size() - skews.size();
    for (std::size_t i = 0; i < skews.size(); ++i) {
      EXPECT_NEAR(skews[i], true_skew(ranks, late.stays[before + i]), unsure + 1e-9);
    }
  });
}

}  // namespace
}  // namespace dlscale::bench
