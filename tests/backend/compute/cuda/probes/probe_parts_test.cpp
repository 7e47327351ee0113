#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/probes/array_pass.hpp"
#include "backend/compute/cuda/probes/banks.hpp"
#include "backend/compute/cuda/probes/companion.hpp"
#include "backend/compute/cuda/probes/cycle.hpp"
#include "backend/compute/device_probes.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::backend::cuda {
namespace {

TEST(SingleCycle, MeetsEveryNodeOnceBeforeItIsBack) {
  for (const std::size_t nodes : {1, 2, 3, 7, 64, 1000, 4097}) {
    const std::vector<std::uint32_t> next = single_cycle(nodes, 5);
    std::set<std::uint32_t> seen;
    std::uint32_t at = 0;
    for (std::size_t step = 0; step < nodes; ++step) {
      seen.insert(at);
      at = next[at];
    }
    EXPECT_EQ(seen.size(), nodes);
    EXPECT_EQ(at, 0U) << nodes;
  }
}

TEST(SingleCycle, IsRandomAndRepeatable) {
  EXPECT_EQ(single_cycle(100, 1), single_cycle(100, 1));
  EXPECT_NE(single_cycle(100, 1), single_cycle(100, 2));
}

/// Of the two cycles of three nodes each comes up for about half of the seeds.
TEST(SingleCycle, FavoursNoCycle) {
  int up = 0;
  constexpr int seeds = 2000;
  for (int seed = 0; seed < seeds; ++seed) up += single_cycle(3, seed)[0] == 1 ? 1 : 0;
  EXPECT_NEAR(up, 0.5 * seeds, 150);  // more than six standard deviations
}

TEST(ChaseImage, LeadsThroughAllAddressesAStrideApart) {
  constexpr ChaseSpec spec{.bytes = 6400, .stride = 128, .path = ChasePath::all_caches};
  const std::vector<std::uint32_t> image = chase_image(spec, 3);
  ASSERT_EQ(image.size(), 128U * 50 / 4);
  std::set<std::uint32_t> seen;
  for (std::uint32_t step = 0; step < 50; ++step) seen.insert(follow(image, 0, step));
  EXPECT_EQ(seen.size(), 50U);
  for (const std::uint32_t word : seen) EXPECT_EQ(word % 32, 0U);
  EXPECT_EQ(*seen.rbegin(), 49U * 32);
  EXPECT_EQ(follow(image, 0, 50), 0U);
}

TEST(ChaseImage, LeavesARestThatHoldsNoWholeStride) {
  constexpr ChaseSpec spec{.bytes = 1000, .stride = 96, .path = ChasePath::all_caches};
  EXPECT_EQ(chase_nodes(spec), 10U);
  const std::vector<std::uint32_t> image = chase_image(spec, 3);
  EXPECT_EQ(image.size(), 250U);
  EXPECT_EQ(follow(image, 0, 10), 0U);
}

TEST(ChaseImage, ShowsVisitsThatAreNotItsOwn) {
  constexpr ChaseSpec spec{.bytes = 4096, .stride = 64, .path = ChasePath::all_caches};
  const std::vector<std::uint32_t> image = chase_image(spec, 3);
  std::vector<std::uint32_t> visited;
  for (std::size_t step = 1; step <= 100; ++step) visited.push_back(follow(image, 32, step));
  EXPECT_EQ(wrong_visits(image, 32, visited), 0U);
  EXPECT_EQ(wrong_visits(image, 48, visited), 100U);
  std::swap(visited[10], visited[11]);
  EXPECT_EQ(wrong_visits(image, 32, visited), 2U);
}

std::string refusal(const ChaseSpec& spec) {
  try {
    check(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ChaseSpec, IsRefusedWhereThereIsNothingToChase) {
  constexpr ChasePath path = ChasePath::all_caches;
  EXPECT_EQ(refusal({.bytes = 256, .stride = 128, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 128, .stride = 128, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 4096, .stride = 0, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 4096, .stride = 6, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 4098, .stride = 4, .path = path}), "");
  EXPECT_NE(refusal({.bytes = std::size_t{16} << 30, .stride = 128, .path = path}), "");
  EXPECT_EQ(refusal({.bytes = (std::size_t{16} << 30) - 128, .stride = 128, .path = path}), "");
}

TEST(BankConflicts, AreAsManyAsTheStrideHasFactorsInCommonWithTheBanks) {
  for (std::uint32_t stride = 1; stride <= most_bank_stride; ++stride) {
    EXPECT_EQ(conflict_ways(stride), static_cast<int>(std::gcd(stride, memory_banks))) << stride;
  }
}

TEST(BankRing, LeadsEveryThreadRoundTheSameWords) {
  for (const std::uint32_t stride : {1U, 3U, 32U, 64U}) {
    const BankRing ring{stride};
    for (const std::uint32_t step : {0U, 1U, 31U, 4096U}) {
      std::set<std::uint32_t> words;
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) words.insert(ring.word(lane, step));
      EXPECT_EQ(words.size(), warp_lanes);
      EXPECT_LT(*words.rbegin(), bank_words);
      EXPECT_EQ(*words.rbegin(), 31 * stride);
    }
    EXPECT_EQ(ring.word(5, 1), ring.word(6, 0));
    EXPECT_EQ(ring.word(31, 1), 0U);
  }
}

/// What run_passes() makes the device do, on the host.
template <ArrayPass pass>
std::vector<double> pass_over(std::size_t n) {
  std::vector<double> a(n);
  std::vector<double> b(n);
  std::vector<double> out(n, -1e9);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = first_input(i);
    b[i] = second_input(i);
  }
  using Code = PassCode<pass>;
  const Code code{a.data(), reads_two(pass) ? b.data() : nullptr, out.data()};
  for (std::size_t pack = 0; pack < n / Code::width; ++pack) code(pack);
  return out;
}

template <ArrayPass pass>
void expect_exact() {
  const std::vector<double> out = pass_over<pass>(8 * 321);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected_output(pass, i)) << i;
}

TEST(ArrayPasses, AreExactOnEveryElement) {
  expect_exact<ArrayPass::copy>();
  expect_exact<ArrayPass::scale>();
  expect_exact<ArrayPass::add>();
  expect_exact<ArrayPass::triad>();
}

TEST(ArrayPasses, DifferFromEachOther) {
  constexpr std::size_t i = 1;  // a = 2, b = -62
  EXPECT_EQ(expected_output(ArrayPass::copy, i), 2);
  EXPECT_EQ(expected_output(ArrayPass::scale, i), 6);
  EXPECT_EQ(expected_output(ArrayPass::add, i), -60);
  EXPECT_EQ(expected_output(ArrayPass::triad, i), -184);
}

TEST(ArrayPasses, AreRepeatedOverSmallArrays) {
  EXPECT_EQ(passes_for(64), 1024);
  EXPECT_EQ(passes_for(std::size_t{16} << 20), 16);
  EXPECT_EQ(passes_for(std::size_t{256} << 20), 1);
  EXPECT_EQ(passes_for(std::size_t{1} << 30), 1);
}

TEST(Pattern, IsKnownAgainWithAnyLength) {
  for (const std::size_t bytes : {0, 1, 7, 8, 9, 64, 1001}) {
    std::vector<std::byte> memory(bytes);
    fill_pattern(memory, 7);
    EXPECT_EQ(wrong_bytes(memory, 7), 0U) << bytes;
  }
}

TEST(Pattern, ShowsEveryByteThatIsWrong) {
  std::vector<std::byte> memory(1001);
  fill_pattern(memory, 7);
  for (const std::size_t i : {0, 500, 1000}) memory[i] ^= std::byte{1};
  EXPECT_EQ(wrong_bytes(memory, 7), 3U);
}

TEST(Pattern, LooksLikeNoOtherAndLikeNoPartOfItself) {
  std::vector<std::byte> memory(4096);
  EXPECT_GT(wrong_bytes(memory, 7), 4000U);  // zeros
  fill_pattern(memory, 7);
  EXPECT_GT(wrong_bytes(memory, 8), 4000U);
  std::vector<std::byte> shifted(memory.begin() + 8, memory.end());
  EXPECT_GT(wrong_bytes(shifted, 7), 4000U);
}

/// A device with a clock that only its work moves on: either it runs what goes on beside a copy
/// meanwhile, or, as with CUDA_LAUNCH_BLOCKING=1, before it.
struct Device {
  bool runs_both = true;
  Seconds now;
};

class PlainCompanion : public Companion {
 public:
  explicit PlainCompanion(Device& device) : device_(&device) {}
  void begin(::CUstream_st* /*stream*/) override {
    end_ = device_->now + duration_;
    if (!device_->runs_both) device_->now = end_;
    ++begun;
  }
  [[nodiscard]] bool goes_on() const override { return device_->now < end_; }
  void end() override {
    if (device_->now < end_) device_->now = end_;
    ++ended;
  }
  [[nodiscard]] Seconds lasted() const override { return duration_; }
  void lengthen() override { duration_ = 2 * duration_; }

  int begun = 0;
  int ended = 0;

 private:
  Device* device_;
  Seconds duration_ = 500.0_us;
  Seconds end_;
};

Seconds time_beside(Device& device, PlainCompanion& companion, Seconds copy) {
  return cuda::time_beside(companion, nullptr, [&] {
    device.now = device.now + copy;
    return copy;
  });
}

TEST(TimeBeside, IsThatOfACopyWhichTheCompanionOutlasts) {
  Device device;
  PlainCompanion companion(device);
  EXPECT_EQ(time_beside(device, companion, 100.0_us), 100.0_us);
  EXPECT_EQ(companion.begun, 1);
  EXPECT_EQ(time_beside(device, companion, 3.0_ms), 3.0_ms);
  EXPECT_GT(companion.lasted(), 3.0_ms);
  const int begun = companion.begun;
  EXPECT_EQ(time_beside(device, companion, 3.0_ms), 3.0_ms);
  EXPECT_EQ(companion.begun, begun + 1) << "it stays as long as it was";
  EXPECT_EQ(companion.ended, companion.begun);
}

TEST(TimeBeside, WaitsForLongCopies) {
  Device device;
  PlainCompanion companion(device);
  EXPECT_EQ(time_beside(device, companion, Seconds(40)), Seconds(40));
  EXPECT_GT(companion.lasted(), Seconds(40));
}

std::string error_without_overlap(Seconds copy, Seconds most) {
  Device device{.runs_both = false, .now = {}};
  PlainCompanion companion(device);
  try {
    static_cast<void>(time_beside(device, companion, copy));
  } catch (const Unsupported& error) {
    EXPECT_EQ(companion.ended, companion.begun);
    EXPECT_LT(device.now, most);
    return error.what();
  }
  return "";
}

/// Doubled for as long as it is over too soon, it would go on for hours.
TEST(TimeBeside, IsRefusedSoonWhereNothingRunsBesideACopy) {
  const std::string reason = error_without_overlap(10.0_us, Seconds(4));
  EXPECT_NE(reason.find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos) << reason;
  EXPECT_NE(reason.find("CUDA_DEVICE_MAX_CONNECTIONS=1"), std::string::npos);
  EXPECT_NE(reason.find("compute-sanitizer"), std::string::npos);
  EXPECT_NE(error_without_overlap(Seconds(1), Seconds(4 * 10 + 20)), "");
}

TEST(TimeBeside, EndsTheCompanionOfACopyThatFails) {
  Device device;
  PlainCompanion companion(device);
  const auto fail = []() -> Seconds { throw std::runtime_error("the copy failed"); };
  EXPECT_THROW(static_cast<void>(cuda::time_beside(companion, nullptr, fail)), std::runtime_error);
  EXPECT_EQ(companion.ended, 1);
}

TEST(TimeBeside, EndsAfterASignal) {
  Device device{.runs_both = false, .now = {}};
  PlainCompanion companion(device);
  const auto interrupted_copy = [] {
    remember_signal(SIGINT);
    return 10.0_us;
  };
  EXPECT_THROW(static_cast<void>(cuda::time_beside(companion, nullptr, interrupted_copy)),
               Interrupted);
  remember_signal(0);
  EXPECT_EQ(companion.begun, 1);
  EXPECT_EQ(companion.ended, 1);
}

}  // namespace
}  // namespace dlscale::backend::cuda

namespace dlscale::backend {
namespace {

/// The probes of a device that is really there.

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

class Probes : public testing::Test {
 protected:
  void SetUp() override {
    const ComputeBackend* backend = family<ComputeBackend>().find("cuda");
    if (backend == nullptr || backend->open_probes == nullptr) {
      GTEST_SKIP() << "this build has no CUDA";
    }
    try {
      probes_ = backend->open_probes({});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] DeviceProbes& probes() const { return *probes_; }

 private:
  std::unique_ptr<DeviceProbes> probes_;
};

void expect_right(Probe& probe, const std::string& what) {
  EXPECT_EQ(probe.wrong_elements(), 0U) << what;
  for (int run = 0; run < 3; ++run) {
    const Reading reading = probe.run();
    EXPECT_GT(reading.time.si(), 0) << what;
    EXPECT_GT(reading.host_time.value_or(Seconds(1)).si(), 0) << what;
    for (const double cycles : reading.cycles) EXPECT_GT(cycles, 0) << what;
  }
  EXPECT_EQ(probe.wrong_elements(), 0U) << what << ", after it ran";
  EXPECT_FALSE(probe.implementation().empty());
}

TEST_F(Probes, KnowTheDevice) {
  EXPECT_FALSE(probes().device().name.empty());
  EXPECT_FALSE(probes().device().bus_id.empty());
  EXPECT_GT(probes().device().memory.si(), 0);
  EXPECT_GT(probes().device().last_level_cache.si(), 0);
  EXPECT_GT(probes().device().multiprocessors, 0);
}

TEST_F(Probes, PassOverArraysExactly) {
  for (const ArrayPass pass :
       {ArrayPass::copy, ArrayPass::scale, ArrayPass::add, ArrayPass::triad}) {
    for (const std::size_t bytes : {std::size_t{64}, 64 * kib + 64, 300 * mib}) {
      expect_right(*probes().arrays({.pass = pass, .bytes = bytes}), std::to_string(bytes));
    }
  }
}

TEST_F(Probes, ChaseThroughTheWholeCycle) {
  for (const ChasePath path : {ChasePath::all_caches, ChasePath::shared_l2}) {
    for (const std::size_t bytes : {512 * std::size_t{1}, 64 * kib, 100 * mib}) {
      expect_right(*probes().chase({.bytes = bytes, .stride = 128, .path = path}),
                   std::to_string(bytes));
    }
  }
}

double chase_cycles(DeviceProbes& probes, const ChaseSpec& spec) {
  const auto probe = probes.chase(spec);
  static_cast<void>(probe->run());
  return median(probe->run().cycles);
}

/// No bound on a time: levels of the memory differ by factors, on any device.
TEST_F(Probes, FindTheLevelsOfTheMemoryInTheirOrder) {
  const auto beyond =
      static_cast<std::size_t>(4 * probes().device().last_level_cache.si()) / 128 * 128;
  const double first =
      chase_cycles(probes(), {.bytes = 8 * kib, .stride = 128, .path = ChasePath::all_caches});
  const double second =
      chase_cycles(probes(), {.bytes = 8 * kib, .stride = 128, .path = ChasePath::shared_l2});
  const double memory =
      chase_cycles(probes(), {.bytes = beyond, .stride = 128, .path = ChasePath::all_caches});
  EXPECT_LT(first, second);
  EXPECT_LT(second, memory);
}

TEST_F(Probes, LapsAreLongerThanEmptyOnes) {
  const auto probe =
      probes().chase({.bytes = 8 * kib, .stride = 128, .path = ChasePath::all_caches});
  static_cast<void>(probe->run());
  const Reading reading = probe->run();
  EXPECT_LT(median(reading.empty_cycles), median(reading.cycles));
}

TEST_F(Probes, ReadSharedMemoryByEveryStride) {
  for (const BankLoad load : {BankLoad::latency, BankLoad::throughput}) {
    for (int stride = 1; stride <= 64; ++stride) {
      expect_right(*probes().banks({.load = load, .stride = stride}), std::to_string(stride));
    }
  }
}

TEST_F(Probes, ThirtyTwoThreadsAtOneBankTakeLongerThanAtAll) {
  for (const BankLoad load : {BankLoad::latency, BankLoad::throughput}) {
    const auto cycles = [&](int stride) {
      const auto probe = probes().banks({.load = load, .stride = stride});
      static_cast<void>(probe->run());
      return probe->run().cycles.front();
    };
    EXPECT_LT(cycles(1), cycles(32));
  }
}

TEST_F(Probes, LaunchEveryKernel) {
  for (const LaunchMethod method :
       {LaunchMethod::back_to_back, LaunchMethod::synchronised, LaunchMethod::graph}) {
    for (const int kernels : {1, 3, 500}) {
      expect_right(*probes().launches({.method = method, .kernels = kernels}),
                   std::to_string(kernels));
    }
  }
}

TEST_F(Probes, RefuseMoreLaunchesThanADriverTakesAhead) {
  EXPECT_THROW(static_cast<void>(
                   probes().launches({.method = LaunchMethod::back_to_back, .kernels = 100000})),
               Unsupported);
}

TEST_F(Probes, CopyEveryByteInEveryKindOfCompany) {
  for (const Direction direction :
       {Direction::host_to_device, Direction::device_to_host, Direction::within_device}) {
    for (const HostMemory memory :
         {HostMemory::pageable, HostMemory::pinned, HostMemory::registered}) {
      for (const ConcurrentWork concurrent :
           {ConcurrentWork::none, ConcurrentWork::copy, ConcurrentWork::kernel}) {
        if (direction == Direction::within_device && concurrent == ConcurrentWork::copy) continue;
        for (const std::size_t bytes : {std::size_t{1}, 4 * kib + 3, 8 * mib}) {
          expect_right(*probes().copies({.direction = direction,
                                         .bytes = bytes,
                                         .memory = memory,
                                         .concurrent = concurrent}),
                       std::to_string(bytes));
        }
      }
    }
  }
}

TEST_F(Probes, RefuseTheOtherDirectionWithinTheDevice) {
  EXPECT_THROW(static_cast<void>(probes().copies({.direction = Direction::within_device,
                                                  .bytes = 64,
                                                  .memory = HostMemory::pinned,
                                                  .concurrent = ConcurrentWork::copy})),
               Unsupported);
}

}  // namespace
}  // namespace dlscale::backend
