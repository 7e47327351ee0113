#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/device_probes.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

/// The probes of a device that is really there.
namespace dlscale::backend {
namespace {

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
  for (const LaunchWay way : {LaunchWay::back_to_back, LaunchWay::synchronised, LaunchWay::graph}) {
    for (const int kernels : {1, 3, 500}) {
      expect_right(*probes().launches({.way = way, .kernels = kernels}), std::to_string(kernels));
    }
  }
}

TEST_F(Probes, RefuseMoreLaunchesThanADriverTakesAhead) {
  EXPECT_THROW(
      static_cast<void>(probes().launches({.way = LaunchWay::back_to_back, .kernels = 100000})),
      Unsupported);
}

TEST_F(Probes, CopyEveryByteInEveryKindOfCompany) {
  for (const Direction direction :
       {Direction::host_to_device, Direction::device_to_host, Direction::within_device}) {
    for (const HostMemory memory :
         {HostMemory::pageable, HostMemory::pinned, HostMemory::registered}) {
      for (const Company company : {Company::solo, Company::bidirectional, Company::kernel}) {
        if (direction == Direction::within_device && company == Company::bidirectional) continue;
        for (const std::size_t bytes : {std::size_t{1}, 4 * kib + 3, 8 * mib}) {
          expect_right(
              *probes().copies(
                  {.direction = direction, .bytes = bytes, .memory = memory, .company = company}),
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
                                                  .company = Company::bidirectional})),
               Unsupported);
}

}  // namespace
}  // namespace dlscale::backend
