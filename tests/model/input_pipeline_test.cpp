#include "model/sgd_iter/input_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>

#include "core/units.hpp"
#include "model/sgd_iter/iteration.hpp"

namespace dlscale::model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// The mean record of ImageNet's TFRecords, and one picture of 3 x 224 x 224 bytes.
/// [argonne-lcf/dlio_benchmark and mlcommons/storage, workload files of ResNet-50]
constexpr Bytes record(114660.07);
constexpr Bytes resized(150528);

TEST(RequiredRead, IsThatOfPublishedWorkloads) {  // C138
  EXPECT_NEAR(required_read(64 / 0.195, record).si() / 1e6, 37.6, 0.1);
  EXPECT_NEAR(required_read(400 / 0.435, record).si() / 1e6, 105.4, 0.1);
  EXPECT_NEAR(required_read(400 / 0.224, record).si() / 1e6, 204.7, 0.1);
}

TEST(RequiredRead, OfSummitIsAboutFortyGigabytesASecond) {  // C139
  EXPECT_NEAR(required_read(347304, record).si() / 1e9 / 39.8, 1, 0.01);
}

SampleCost picture() {
  return {record, 2.0_ms, 0.5_ms, resized};
}
InputNode node() {
  return {4, 0.2_GBps, 16, 10.0_GBps, {}};
}

TEST(InputTimesTest, AddUpWhatWorkersShareAndNotTheirCopies) {
  const InputTimes times = input_times(picture(), node(), 32);
  EXPECT_NEAR(times.read.si(), 4 * 32 * 114660.07 / 0.2e9, 1e-12);
  EXPECT_NEAR(times.decode.si(), 4 * 32 * 2e-3 / 16, 1e-12);
  EXPECT_NEAR(times.preprocess.si(), 4 * 32 * 0.5e-3 / 16, 1e-12);
  EXPECT_NEAR(times.copy.si(), 32 * 150528 / 10e9, 1e-12);
  EXPECT_EQ(input_period(times, InputThreads::of_a_stage), times.read);
  EXPECT_EQ(input_period(times, InputThreads::in_turn),
            times.read + times.decode + times.preprocess);
}

/// Reading beside threads that decode and preprocess in turn, and computing beside both: (9.3).
TEST(InputTimesTest, BoundAnIterationOfTheTaskGraph) {
  for (const double read : {1e8, 5e8, 5e9}) {
    for (const double compute : {0.01, 0.03, 0.5}) {
      InputNode on = node();
      on.read = BytesPerSecond(read);
      const InputTimes times = input_times(picture(), on, 32);
      IterationPlan plan;
      plan.storage = times.read;
      plan.loader_threads = on.threads / on.workers;
      plan.load = 32 * (picture().decode + picture().preprocess) / plan.loader_threads;
      plan.backward.push_back({Seconds(compute), {}});
      const Seconds io = std::max(times.read, times.decode + times.preprocess);
      const double expected = compute + input_stall(io, Seconds(compute)).si();
      EXPECT_NEAR(simulate_iteration(plan).total.si() / expected, 1, 1e-9);
    }
  }
}

TEST(InputTimesTest, DecodeNoFasterThanCoresAndMemoryLet) {
  InputNode saturated = node();
  saturated.most_decoded = 5000.0;  // of 16 / 2 ms = 8000
  EXPECT_NEAR(input_times(picture(), saturated, 1).decode.si(), 4 / 5000.0, 1e-15);
  saturated.most_decoded = 9000.0;
  EXPECT_NEAR(input_times(picture(), saturated, 1).decode.si(), 4 / 8000.0, 1e-15);
}

TEST(InputRateTest, IsThatOfTheSlowestStage) {
  const auto bound = [](const SampleCost& sample, const InputNode& on) {
    const InputRate rate = input_rate(sample, on);
    const InputTimes times = input_times(sample, on, 8);
    const Seconds longest = std::max(input_period(times, InputThreads::of_a_stage), times.copy);
    EXPECT_NEAR(rate.samples_per_s, on.workers * 8 / longest.si(), 1e-9 * rate.samples_per_s);
    return rate.bound;
  };
  EXPECT_EQ(bound(picture(), node()), InputStage::read);  // 1744 a second of 8000 decoded
  InputNode fast = node();
  fast.read = 5.0_GBps;
  EXPECT_EQ(bound(picture(), fast), InputStage::decode);
  SampleCost augmented = picture();
  augmented.preprocess = 3.0_ms;
  EXPECT_EQ(bound(augmented, fast), InputStage::preprocess);
  fast.copy = BytesPerSecond(1e8);
  EXPECT_EQ(bound(augmented, fast), InputStage::copy);
}

TEST(InputRateTest, NeverFallsWithThreadsAndOfAWorkerNeverRisesWithOthers) {
  for (InputNode with = node(); with.threads <= 64; ++with.threads) {
    InputNode more = with;
    ++more.threads;
    EXPECT_GE(input_rate(picture(), more).samples_per_s, input_rate(picture(), with).samples_per_s);
  }
  for (InputNode with = node(); with.workers <= 16; ++with.workers) {
    InputNode more = with;
    ++more.workers;
    EXPECT_LE(input_rate(picture(), more).samples_per_s / more.workers,
              input_rate(picture(), with).samples_per_s / with.workers * (1 + 1e-12));
  }
}

TEST(SharedStorage, GivesEachNodeItsPartAndNoMoreThanItsOwnLink) {
  EXPECT_EQ(shared_read(1.0_GBps, 8.0_GBps, 4), 1.0_GBps);
  EXPECT_EQ(shared_read(1.0_GBps, 8.0_GBps, 16), 0.5_GBps);
  EXPECT_NEAR(seek_time(32, 8.0_ms, 4).si(), 0.064, 1e-15);
}

TEST(CachedData, IsReadFromStorageOnce) {
  const BytesPerSecond storage = 0.5_GBps;
  const BytesPerSecond memory = 10.0_GBps;
  EXPECT_DOUBLE_EQ(cached_read(storage, memory, 0).si(), storage.si());
  EXPECT_DOUBLE_EQ(cached_read(storage, memory, 1).si(), memory.si());
  EXPECT_NEAR(cached_read(storage, memory, 0.5).si(), 1e9, 1e-3);  // half as much from storage
  const Bytes data(1e11);
  EXPECT_NEAR(reading_time(data, 1, storage, memory, 1).si(), 200, 1e-9);
  EXPECT_NEAR(reading_time(data, 3, storage, memory, 1).si(), 200 + 2 * 10, 1e-9);
  EXPECT_NEAR(reading_time(data, 3, storage, memory, 0).si(), 600, 1e-9);
}

TEST(CachedData, IsNeverReadFasterThanFromBothAtOnce) {
  for (int percent = 0; percent <= 100; ++percent) {
    const BytesPerSecond rate = cached_read(0.5_GBps, 2.0_GBps, percent / 100.0);
    EXPECT_GE(rate, 0.5_GBps * (1 - 1e-12)) << percent;
    EXPECT_LE(rate, 2.5_GBps * (1 + 1e-12)) << percent;
  }
}

TEST(InputStall, IsWhatInputTakesLongerThanComputing) {
  EXPECT_EQ(input_stall(Seconds(0.3), Seconds(0.2)), Seconds(0.3) - Seconds(0.2));
  EXPECT_EQ(input_stall(Seconds(0.1), Seconds(0.2)), Seconds());
  EXPECT_DOUBLE_EQ(accelerator_utilisation(Seconds(0.9), Seconds(0.1)), 0.9);
  EXPECT_EQ(accelerator_utilisation(Seconds(1), Seconds()), 1);
}

/// How much longer 160 iterations take where batch 100 is late, batch by batch: a thread that reads
/// may begin a batch once the batch `prefetch` before has been taken.
Seconds delay_of_late_batch(Seconds io, Seconds late, Seconds compute, int prefetch) {
  const auto end = [&](Seconds of_100) {
    Seconds read;
    Seconds free;  // when the device has computed the batch before
    std::deque<Seconds> taken;
    for (int k = 0; k < 160; ++k) {
      if (static_cast<int>(taken.size()) == prefetch) {
        read = std::max(read, taken.front());
        taken.pop_front();
      }
      read += k == 100 ? of_100 : io;
      taken.push_back(std::max(read, free));
      free = taken.back() + compute;
    }
    return free;
  };
  return end(late) - end(io);
}

TEST(LateBatch, IsHiddenByAsManyIterationsAsAreReadAhead) {
  const Seconds compute(0.2);
  const Seconds io(0.1);
  for (const int prefetch : {1, 2, 3, 8}) {
    for (const double late : {0.1, 0.2, 0.35, 0.5, 0.9, 2.5}) {
      EXPECT_NEAR(late_batch_stall(Seconds(late), compute, prefetch).si(),
                  delay_of_late_batch(io, Seconds(late), compute, prefetch).si(), 1e-12)
          << late << " s, " << prefetch << " ahead";
    }
  }
}

TEST(HostCopies, FromPageableMemoryAddTheStaging) {
  const BytesPerSecond bus = 12.0_GBps;
  EXPECT_NEAR(pinned_copy(resized, 29.0_us, bus).si(), 29e-6 + 150528 / 12e9, 1e-15);
  EXPECT_NEAR(pageable_copy(resized, bus, bus).si(), 2 * 150528 / 12e9, 1e-15);
  EXPECT_EQ(pinned_copy(0_B, 29.0_us, bus), 29.0_us);
}

TEST(Input, OfImpossibleNodesIsACallersMistake) {
  const auto refuses = [](const auto& change) {
    SampleCost sample = picture();
    InputNode on = node();
    change(sample, on);
    EXPECT_THROW((void)input_rate(sample, on), std::logic_error);
  };
  refuses([](SampleCost&, InputNode& on) { on.workers = 0; });
  refuses([](SampleCost&, InputNode& on) { on.threads = 0; });
  refuses([](SampleCost&, InputNode& on) { on.read = BytesPerSecond(); });
  refuses([](SampleCost&, InputNode& on) { on.read = BytesPerSecond(infinity); });
  refuses([](SampleCost&, InputNode& on) { on.copy = BytesPerSecond(infinity); });
  refuses([](SampleCost&, InputNode& on) { on.most_decoded = 0.0; });
  refuses([](SampleCost&, InputNode& on) { on.most_decoded = infinity; });
  refuses([](SampleCost& sample, InputNode&) { sample.stored = Bytes(); });
  refuses([](SampleCost& sample, InputNode&) { sample.decode = Seconds(-1); });
  EXPECT_THROW((void)input_times(picture(), node(), 0), std::logic_error);
  EXPECT_THROW((void)shared_read(1.0_GBps, 1.0_GBps, 0), std::logic_error);
  EXPECT_THROW((void)seek_time(1, 1.0_ms, 0), std::logic_error);
  EXPECT_THROW((void)cached_read(1.0_GBps, 1.0_GBps, 1.01), std::logic_error);
  EXPECT_THROW((void)reading_time(1_B, 0, 1.0_GBps, 1.0_GBps, 1), std::logic_error);
  EXPECT_THROW((void)required_read(infinity, record), std::logic_error);
  EXPECT_THROW((void)late_batch_stall(1.0_ms, 1.0_ms, 0), std::logic_error);
  EXPECT_THROW((void)pinned_copy(1_B, 1.0_ms, BytesPerSecond()), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
