#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/backend/compute/remote_device.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/engine/arena.hpp"

namespace dlscale::train {
namespace {

constexpr std::size_t alignment = 64;

std::vector<LiveRange> random_ranges(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<LiveRange> ranges(1 + random() % 40);
  for (LiveRange& range : ranges) {
    range.bytes = random() % 1000;
    range.first = random() % 30;
    range.last = range.first + random() % 8;
  }
  return ranges;
}

/// The most bytes alive in one step: no arena can be smaller.
std::size_t most_alive(const std::vector<LiveRange>& ranges) {
  std::size_t most = 0;
  for (std::size_t step = 0; step < 40; ++step) {
    std::size_t alive = 0;
    for (const LiveRange& range : ranges) {
      if (range.first <= step && step <= range.last) alive += align_up(range.bytes, alignment);
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(Arena, NeverLetsTwoLivePiecesOverlap) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto ranges = random_ranges(seed);
    const Placement placement = place(ranges, alignment);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(placement.offsets[i] % alignment, 0U);
      EXPECT_LE(placement.offsets[i] + ranges[i].bytes, placement.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together =
            ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last;
        const bool apart = placement.offsets[i] + ranges[i].bytes <= placement.offsets[j] ||
                           placement.offsets[j] + ranges[j].bytes <= placement.offsets[i];
        EXPECT_TRUE(!together || apart) << "seed " << seed << " pieces " << i << " and " << j;
      }
    }
  }
}

TEST(Arena, IsNotMuchLargerThanWhatLivesAtOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto ranges = random_ranges(seed);
    const std::size_t bytes = place(ranges, alignment).bytes;
    EXPECT_GE(bytes, most_alive(ranges));
    EXPECT_LE(static_cast<double>(bytes), 1.6 * static_cast<double>(most_alive(ranges)));
  }
}

TEST(Arena, ReusesTheMemoryOfAPieceThatIsNoLongerNeeded) {
  const std::vector<LiveRange> chain{{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {100, 3, 4}};
  EXPECT_EQ(place(chain, alignment).bytes, 2U * 128U);
}

TEST(Arena, OfNothingIsEmpty) {
  EXPECT_EQ(place({}, alignment).bytes, 0U);
}

/// Dropout in work that was recorded draws as it does in work that is given anew.

constexpr int batch_size = 3;

Network dropping_network() {
  return {"dropping",
          {3, 5, 5},
          {{"drop1", Dropout{.probability = 0.4}, {"input"}},
           {"fc1", FullyConnected{.outputs = 8}, {"drop1"}},
           {"drop2", Dropout{}, {"fc1"}},
           {"fc2", FullyConnected{.outputs = 4}, {"drop2"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc2"}}}};
}

/// What an iteration leaves. Dropped elements of drop1's output show in fc1's gradient, those of
/// drop2's in fc2's.
struct Outcome {
  double loss = 0;
  std::vector<float> gradient1;
  std::vector<float> gradient2;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Program& program) {
  return {program.loss(), program.plain_gradient(LayerId(2)), program.plain_gradient(LayerId(4))};
}

class Dropping : public testing::Test {
 protected:
  Dropping() : program_(network_, *device_, batch_size, DType::f32), data_(network_, batch_size) {
    program_.initialise(7);
    const Batch& batch = data_.next();
    program_.set_input(batch.images, batch.labels);
  }
  void run(std::uint64_t iteration) {
    for (const Step step : program_.forward_steps()) program_.run(step, iteration);
    for (const Step step : program_.backward_steps()) program_.run(step, iteration);
  }
  /// What iterations 0 to 4 leave on the reference, which never sees seeds in memory.
  std::vector<Outcome> expected() {
    const auto reference = open_backend("reference");
    Program program(network_, *reference, batch_size, DType::f32);
    program.initialise(7);
    MadeData data(network_, batch_size);
    const Batch& batch = data.next();
    std::vector<Outcome> outcomes;
    for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
      run_once(program, batch, iteration);
      outcomes.push_back(outcome_of(program));
    }
    return outcomes;
  }

  Network network_ = dropping_network();
  std::unique_ptr<backend::ComputeDevice> device_ = backend::make_remote_device();
  Program program_;
  MadeData data_;
};

TEST_F(Dropping, DrawsInReplaysWhatItDrawsInRuns) {
  const std::vector<Outcome> wanted = expected();
  program_.send_seeds(0);
  constexpr std::uint64_t any = 99;  // what is recorded does not count
  const auto recording = device_->record([&] { run(any); });
  for (const std::uint64_t iteration : {0U, 1U, 2U, 1U, 4U, 3U}) {
    program_.send_seeds(iteration);
    recording->play();
    EXPECT_EQ(outcome_of(program_), wanted[iteration]) << iteration;
  }
}

TEST_F(Dropping, DrawsAnewInEveryIteration) {
  const std::vector<Outcome> outcomes = expected();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(outcomes[i].gradient1, outcomes[j].gradient1);
      EXPECT_NE(outcomes[i].gradient2, outcomes[j].gradient2);
    }
  }
}

TEST_F(Dropping, LeavesAnIterationUnderWayItsSeeds) {
  const std::vector<Outcome> wanted = expected();
  program_.send_seeds(0);
  const auto recording = device_->record([&] { run(0); });
  for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
    program_.send_seeds(iteration);
    recording->play();
    program_.send_seeds(iteration + 1);  // while it runs
    EXPECT_EQ(outcome_of(program_), wanted[iteration]) << iteration;
  }
}

TEST_F(Dropping, ReadsTheSeedsInMemoryWithoutARecordingToo) {
  const std::vector<Outcome> wanted = expected();
  program_.send_seeds(3);
  run(3);
  EXPECT_EQ(outcome_of(program_), wanted[3]);
}

TEST(SendingSeeds, DoesNothingWithoutDropout) {
  const auto device = backend::make_remote_device();
  Program program(chain_network(), *device, 1, DType::f32);
  const Bytes before = program.memory();
  program.send_seeds(1);
  program.synchronize();
  EXPECT_EQ(program.memory(), before);
}

}  // namespace
}  // namespace dlscale::train
