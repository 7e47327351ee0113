#include "backend/comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"

namespace dlscale::backend {
namespace {

template <class Ranks>
class CommunicatorTest : public testing::Test {};
using AllRanks = testing::Types<Threads, Processes>;
TYPED_TEST_SUITE(CommunicatorTest, AllRanks);

constexpr std::array<std::size_t, 11> counts{0, 1, 2, 3, 4, 5, 999, 1000, 1001, 999'999, 1'000'001};

/// Small integers, different on every rank: sums are exact in f32 whatever their order.
template <class T>
std::vector<T> values_of(Rank rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(static_cast<int>(i % 251) + 3 * rank);
  return values;
}

template <class T>
std::vector<T> expected_sum(int ranks, std::size_t count) {
  const int of_ranks = 3 * ranks * (ranks - 1) / 2;
  std::vector<T> sum(count);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i] = static_cast<T>(ranks * static_cast<int>(i % 251) + of_ranks);
  }
  return sum;
}

std::span<std::byte> bytes_of(auto& values) {
  return std::as_writable_bytes(std::span(values));
}

template <class T>
void expect_sum(Communicator& ranks, std::size_t count) {
  auto values = values_of<T>(ranks.rank(), count);
  ranks.all_reduce(std::span(values), Reduction::sum);
  EXPECT_EQ(values, expected_sum<T>(ranks.size(), count)) << count;
}

TYPED_TEST(CommunicatorTest, AllReduceLeavesTheSumOnEveryRank) {
  TypeParam::run([](Communicator& ranks) {
    for (const std::size_t count : counts) {
      expect_sum<float>(ranks, count);
      expect_sum<double>(ranks, count);
    }
  });
}

TYPED_TEST(CommunicatorTest, AllReduceFindsLargestAndSmallest) {
  TypeParam::run([](Communicator& ranks) {
    std::vector<float> large = {static_cast<float>(ranks.rank()), -1.0F};
    ranks.all_reduce(std::span(large), Reduction::max);
    EXPECT_EQ(large, (std::vector<float>{static_cast<float>(ranks.size() - 1), -1.0F}));
    std::vector<double> small = {-static_cast<double>(ranks.rank()), 2.0};
    ranks.all_reduce(std::span(small), Reduction::min);
    EXPECT_EQ(small, (std::vector<double>{1.0 - ranks.size(), 2.0}));
  });
}

TYPED_TEST(CommunicatorTest, AllReduceGivesTheSameBitsOnEveryRank) {
  TypeParam::run([](Communicator& ranks) {
    std::vector<float> values(1001);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 1.0F / static_cast<float>(i + 1) + 1e-3F * static_cast<float>(ranks.rank());
    }
    ranks.all_reduce(std::span(values), Reduction::sum);
    std::vector<float> all(values.size() * static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(bytes_of(values), bytes_of(all));
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const float* copy = all.data() + values.size() * static_cast<std::size_t>(rank);
      EXPECT_EQ(std::memcmp(copy, values.data(), values.size() * sizeof(float)), 0) << rank;
    }
  });
}

TYPED_TEST(CommunicatorTest, BroadcastCopiesTheRootsData) {
  TypeParam::run([](Communicator& ranks) {
    for (Rank root = 0; root < ranks.size(); ++root) {
      auto values = values_of<float>(ranks.rank(), 1003);
      ranks.broadcast(bytes_of(values), root);
      EXPECT_EQ(values, values_of<float>(root, 1003)) << root;
    }
  });
}

TYPED_TEST(CommunicatorTest, AllGatherKeepsRankOrder) {
  TypeParam::run([](Communicator& ranks) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{77}}) {
      auto mine = values_of<float>(ranks.rank(), count);
      std::vector<float> all(count * static_cast<std::size_t>(ranks.size()));
      ranks.all_gather(bytes_of(mine), bytes_of(all));
      for (Rank rank = 0; rank < ranks.size(); ++rank) {
        const auto part = values_of<float>(rank, count);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(count) * rank;
        EXPECT_TRUE(std::equal(part.begin(), part.end(), begin)) << rank;
      }
    }
  });
}

TYPED_TEST(CommunicatorTest, MessagesTravelRoundTheRing) {
  TypeParam::run([](Communicator& ranks) {
    const Rank next = (ranks.rank() + 1) % ranks.size();
    const Rank previous = (ranks.rank() + ranks.size() - 1) % ranks.size();
    if (ranks.size() == 1) return;
    std::vector<float> token(100'000, 0.0F);
    if (ranks.rank() == 0) {
      ranks.send(bytes_of(token), next, 7);
      ranks.receive(bytes_of(token), previous, 7);
      EXPECT_EQ(token.back(), static_cast<float>(ranks.size() - 1));
    } else {
      ranks.receive(bytes_of(token), previous, 7);
      for (float& value : token) value += 1.0F;
      ranks.send(bytes_of(token), next, 7);
    }
  });
}

TYPED_TEST(CommunicatorTest, TagsKeepMessagesApart) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.size() < 2 || ranks.rank() > 1) return;
    int first = 1;
    int second = 2;
    const auto bytes = [](int& value) { return std::as_writable_bytes(std::span(&value, 1)); };
    if (ranks.rank() == 0) {
      ranks.send(bytes(first), 1, 10);
      ranks.send(bytes(second), 1, 20);
    } else {
      ranks.receive(bytes(second), 0, 20);
      ranks.receive(bytes(first), 0, 10);
      EXPECT_EQ(first, 1);
      EXPECT_EQ(second, 2);
    }
  });
}

TYPED_TEST(CommunicatorTest, ReceivingAMessageOfAnotherSizeFails) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.size() < 2 || ranks.rank() > 1) return;
    std::array<std::byte, 16> data{};
    if (ranks.rank() == 0) ranks.send(std::span(data).first(8), 1, 5);
    if (ranks.rank() == 1) {
      EXPECT_THROW(ranks.receive(data, 0, 5), LibraryError);
    }
  });
}

/// Nobody leaves before the last has arrived.
TYPED_TEST(CommunicatorTest, MeetingsWaitForAll) {
  TypeParam::run([](Communicator& ranks) {
    for (const WaitPolicy waiting : {WaitPolicy::spin, WaitPolicy::sleep}) {
      for (int round = 0; round < 20; ++round) {
        ranks.barrier(waiting);
        std::vector<double> arrived(1, 1.0);
        ranks.all_reduce(std::span(arrived), Reduction::sum);
        EXPECT_EQ(arrived[0], ranks.size());
      }
    }
    ranks.barrier();
  });
}

TEST(LocalGroup, NobodyLeavesAMeetingBeforeTheLastArrives) {
  for (const WaitPolicy waiting : {WaitPolicy::spin, WaitPolicy::sleep}) {
    std::atomic<int> arrived = 0;
    run_on_threads(4, [&](Communicator& ranks) {
      for (int round = 1; round <= 50; ++round) {
        ++arrived;
        ranks.barrier(waiting);
        EXPECT_GE(arrived.load(), 4 * round);
        ranks.barrier(waiting);
      }
    });
  }
}

TYPED_TEST(CommunicatorTest, ADuplicateWorksOnAnotherThreadAtTheSameTime) {
  TypeParam::run([](Communicator& ranks) {
    const std::unique_ptr<Communicator> other = ranks.duplicate();
    EXPECT_EQ(other->rank(), ranks.rank());
    EXPECT_EQ(other->size(), ranks.size());
    const auto work = [](Communicator& communicator) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{100'001}}) {
        for (int round = 0; round < 5; ++round) {
          communicator.barrier(round % 2 == 0 ? WaitPolicy::sleep : WaitPolicy::spin);
          expect_sum<float>(communicator, count);
        }
      }
    };
    std::jthread helper([&] { work(*other); });
    work(ranks);
  });
}

TYPED_TEST(CommunicatorTest, RanksKnowTheirPlaceOnTheNode) {
  TypeParam::run([](Communicator& ranks) {
    EXPECT_GE(ranks.node_rank(), 0);
    EXPECT_LT(ranks.node_rank(), ranks.node_size());
    EXPECT_LE(ranks.node_size(), ranks.size());
    EXPECT_FALSE(ranks.library().empty());
  });
}

TEST(LocalGroup, AddsInRankOrderWhateverTheTiming) {
  // 2^24 + 1 is not an f32: only the order (2^24 + 1) + -2^24 … in rank order gives this result.
  const std::vector<float> by_rank = {16777216.0F, 1.0F, -16777216.0F};
  for (int repeat = 0; repeat < 20; ++repeat) {
    run_on_threads(3, [&](Communicator& ranks) {
      std::vector<float> value(1, by_rank[static_cast<std::size_t>(ranks.rank())]);
      ranks.all_reduce(std::span(value), Reduction::sum);
      EXPECT_EQ(value[0], 0.0F);
    });
  }
}

TEST(LocalGroup, DifferentSizesFailOnEveryRank) {
  run_on_threads(3, [](Communicator& ranks) {
    std::vector<float> values(ranks.rank() == 1 ? 4 : 5);
    EXPECT_THROW(ranks.all_reduce(std::span(values), Reduction::sum), LibraryError);
  });
}

TEST(LocalGroup, TakesNoMemoryOfAGpu) {
  EXPECT_FALSE(local_group(1).front()->takes_device_memory());
}

TEST(CheckWorld, AcceptsWhatTheLauncherStartedAndNothingElse) {
  Processes::run([](Communicator& ranks) {
    EXPECT_NO_THROW(check_world(ranks, 0));
    EXPECT_NO_THROW(check_world(ranks, ranks.size()));
    EXPECT_THROW(check_world(ranks, ranks.size() + 1), LibraryError);
    // As in a program whose MPI is not the launcher's: it finds itself alone.
    if (ranks.size() > 1) {
      EXPECT_THROW(check_world(*local_group(1).front(), 0), LibraryError);
    }
  });
}

TEST(Mpi, IsChosenByWhatItDoesWithMemoryOfGpus) {
  Processes::run([](Communicator& ranks) {
    const Family<CommBackend> backends = family<CommBackend>();
    const auto staged = backends.find("mpi_staged")->connect();
    EXPECT_FALSE(staged->takes_device_memory());
    EXPECT_FALSE(staged->duplicate()->takes_device_memory());
    expect_sum<float>(*staged, 1000);
    if (ranks.takes_device_memory()) {
      EXPECT_TRUE(backends.find("mpi_cuda")->connect()->takes_device_memory());
    } else {
      EXPECT_THROW(static_cast<void>(backends.find("mpi_cuda")->connect()), Unsupported);
    }
  });
}

TEST(ConnectBest, TakesWhatTheLauncherAsksForWhereNoGpuComputes) {
  Processes::run([](Communicator& ranks) {
    const Connection best = connect_best(0, DataPlace::host);
    EXPECT_EQ(best.name, "mpi");
    EXPECT_EQ(best.why, "");
    EXPECT_EQ(best.communicator->size(), ranks.size());
    EXPECT_THROW(static_cast<void>(connect_best(ranks.size() + 1, DataPlace::host)), LibraryError);
  });
}

TEST(ConnectBest, SaysWhyItTookWhatItTookForGpus) {
  Processes::run([](Communicator& ranks) {
    const Connection best = connect_best(0, DataPlace::device);
    if (ranks.size() == 1) {
      EXPECT_EQ(best.name, "mpi");
      return;
    }
    EXPECT_EQ(best.name == "nccl", best.why.find("NCCL cannot be used") == std::string::npos);
    EXPECT_EQ(best.communicator->takes_device_memory(), best.name != "mpi_staged");
    EXPECT_EQ(best.communicator->size(), ranks.size());
    expect_sum<float>(*best.communicator, 10);
  });
}

TEST(CommFamily, ListsTheBackendsOfThisBuild) {
  const Family<CommBackend> backends = family<CommBackend>();
  ASSERT_NE(backends.find("local"), nullptr);
  EXPECT_EQ(backends.find("local")->connect()->size(), 1);
  EXPECT_EQ(backends.members.size() + backends.absent.size(), 5U);
  for (const Absent& absent : backends.absent) EXPECT_FALSE(absent.reason.empty());
}

/// As a launcher that shows each rank the one GPU that is its own.
std::optional<int> only_gpu(Communicator& launched) {
  launched.barrier();
  return 0;
}

std::optional<int> no_gpu(Communicator& launched) {
  launched.barrier();
  return std::nullopt;
}

TYPED_TEST(CommunicatorTest, RanksTakeTheGpusThatABackendHasForThem) {
  TypeParam::run([](Communicator& launched) {
    const std::unique_ptr<Communicator> ranks = launched.duplicate();
    EXPECT_EQ(ranks->gpu(), ranks->node_rank());
    take_gpus(*ranks, DataPlace::device, nullptr);
    const CommBackend without{.name = "fake", .doc = "", .connect = nullptr};
    take_gpus(*ranks, DataPlace::device, &without);
    const CommBackend blind{.name = "fake", .doc = "", .connect = nullptr, .gpu_among = no_gpu};
    take_gpus(*ranks, DataPlace::device, &blind);
    const CommBackend seeing{.name = "fake", .doc = "", .connect = nullptr, .gpu_among = only_gpu};
    take_gpus(*ranks, DataPlace::host, &seeing);
    EXPECT_EQ(ranks->gpu(), ranks->node_rank());
    take_gpus(*ranks, DataPlace::device, &seeing);
    EXPECT_EQ(ranks->gpu(), 0);
    EXPECT_EQ(ranks->duplicate()->gpu(), 0);
  });
}

}  // namespace
}  // namespace dlscale::backend
