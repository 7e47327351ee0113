#include "backend/compute/cuda/probes/companion.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend::cuda {
namespace {

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
