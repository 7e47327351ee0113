// Runs alone and under mpirun. What needs a GPU for each rank is skipped, with the reason, where
// there is none.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl/collectives.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

const CommBackend& nccl_backend() {
  return *family<CommBackend>().find("nccl");
}

/// The ranks of this run, or why there are none. Goes while CUDA and MPI are still there.
class World : public testing::Environment {
 public:
  void SetUp() override {
    // Kept until the end, so that MPI is left in good order even if there is no GPU.
    host_ = connect_launched(0);
    try {
      communicator = nccl_backend().connect();
    } catch (const Unsupported& error) {
      why_not = error.what();
    } catch (const ConfigError& error) {
      why_not = error.what();
    }
  }
  void TearDown() override {
    communicator.reset();
    host_.reset();
  }

  std::unique_ptr<Communicator> communicator;
  std::string why_not;

 private:
  std::unique_ptr<Communicator> host_;
};

World& world() {
  static auto* const the_world = dynamic_cast<World*>(testing::AddGlobalTestEnvironment(new World));
  return *the_world;
}
const World& registered_before_main = world();

class NcclTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!world().communicator) GTEST_SKIP() << world().why_not;
  }
  static Communicator& ranks() { return *world().communicator; }
};

TEST(NcclWithoutAGpu, IsRefusedInOneSentenceThatSaysWhy) {
  if (world().communicator) GTEST_SKIP() << "there is a GPU for each rank";
  EXPECT_NE(world().why_not.find("GPU"), std::string::npos) << world().why_not;
  EXPECT_EQ(world().why_not.find('\n'), std::string::npos);
  if (world().why_not.find("has no GPU") == std::string::npos) return;  // too few of them
  try {
    nccl_backend().connect();
    FAIL() << "no GPU has appeared";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::not_built);
    EXPECT_EQ(std::string(error.what()).find("rank 0 (process "), 0U) << error.what();
  }
}

TEST(NcclCollectives, AreRefusedOverOtherCommunicators) {
  EXPECT_THROW(Collectives(*local_group(1).front()), Unsupported);
}

std::vector<float> values_of(Rank rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>(i % 251) + 3 * rank);
  }
  return values;
}

std::vector<float> sum_over(int ranks, std::size_t count) {
  std::vector<float> sum(count);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i] = static_cast<float>(ranks) * static_cast<float>(i % 251) +
             1.5F * static_cast<float>(ranks * (ranks - 1));
  }
  return sum;
}

std::span<const std::byte> bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<float> read(const GpuMemory& memory, std::size_t count, std::size_t offset = 0) {
  std::vector<float> values(count);
  memory.read(std::as_writable_bytes(std::span(values)), offset);
  return values;
}

std::span<float> floats(const GpuMemory& memory, std::size_t count) {
  return {reinterpret_cast<float*>(memory.data()), count};
}

TEST_F(NcclTest, SaysWhatItIs) {
  EXPECT_EQ(ranks().library().rfind("NCCL 2.", 0), 0U) << ranks().library();
  EXPECT_EQ(ranks().library().find("host memory"), std::string::npos);
  EXPECT_TRUE(ranks().takes_device_memory());
  EXPECT_LT(ranks().node_rank(), ranks().node_size());
}

TEST_F(NcclTest, ReducesMemoryOfTheGpuInPlace) {
  Collectives collectives(ranks());
  for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{1'000'003}}) {
    GpuMemory memory = collectives.allocate(count * sizeof(float));
    memory.write(bytes(values_of(ranks().rank(), count)));
    ranks().all_reduce(floats(memory, count), Reduction::sum);
    EXPECT_EQ(read(memory, count), sum_over(ranks().size(), count)) << count;
    memory.write(bytes(values_of(ranks().rank(), count)));
    ranks().all_reduce(floats(memory, count), Reduction::max);
    EXPECT_EQ(read(memory, count), values_of(ranks().size() - 1, count));
    memory.write(bytes(values_of(ranks().rank(), count)));
    ranks().all_reduce(floats(memory, count), Reduction::min);
    EXPECT_EQ(read(memory, count), values_of(0, count));
  }
}

TEST_F(NcclTest, BroadcastsMemoryOfTheGpu) {
  Collectives collectives(ranks());
  GpuMemory memory = collectives.allocate(1003 * sizeof(float));
  for (Rank root = 0; root < ranks().size(); ++root) {
    memory.write(bytes(values_of(ranks().rank(), 1003)));
    ranks().broadcast({memory.data(), memory.bytes()}, root);
    EXPECT_EQ(read(memory, 1003), values_of(root, 1003)) << root;
  }
}

TEST_F(NcclTest, PreparesCollectivesOfMemoryOfTheGpu) {
  Collectives collectives(ranks());
  const auto n = static_cast<std::size_t>(ranks().size());
  const std::size_t block = 997;
  const Rank last = ranks().size() - 1;
  GpuMemory all = collectives.allocate(n * block * sizeof(float));
  GpuMemory mine = collectives.allocate(block * sizeof(float));
  const std::span<std::byte> whole{all.data(), all.bytes()};
  const std::span<std::byte> part{mine.data(), mine.bytes()};
  all.write(bytes(values_of(ranks().rank(), n * block)));
  backend::carry_out(ranks(), {.collective = backend::Collective::reduce_scatter,
                               .from = whole,
                               .to = part,
                               .place = DataPlace::device});
  all.write(bytes(std::vector<float>(n * block)));
  backend::carry_out(ranks(), {.collective = backend::Collective::all_gather,
                               .from = part,
                               .to = whole,
                               .place = DataPlace::device});
  EXPECT_EQ(read(all, n * block), sum_over(ranks().size(), n * block));
  all.write(bytes(values_of(ranks().rank(), n * block)));
  backend::carry_out(ranks(), {.collective = backend::Collective::reduce,
                               .root = last,
                               .from = whole,
                               .to = ranks().rank() == last ? whole : std::span<std::byte>(),
                               .place = DataPlace::device});
  if (ranks().rank() == last) {
    EXPECT_EQ(read(all, n * block), sum_over(ranks().size(), n * block));
  }
}

TEST_F(NcclTest, PreparesCollectivesOfTheHostOverTheHostsCommunicator) {
  auto values = values_of(ranks().rank(), 1001);
  const auto memory = std::as_writable_bytes(std::span(values));
  backend::carry_out(ranks(), {.from = memory, .to = memory});
  EXPECT_EQ(values, sum_over(ranks().size(), 1001));
}

TEST_F(NcclTest, RefusesCollectivesOfTheGpuThatDoNotBlock) {
  Collectives collectives(ranks());
  GpuMemory memory = collectives.allocate(64);
  const std::span<std::byte> whole{memory.data(), memory.bytes()};
  const CollectiveCall call{.from = whole, .to = whole, .place = DataPlace::device};
  EXPECT_THROW(static_cast<void>(ranks().prepare(call, Mode::nonblocking)), Unsupported);
  CollectiveCall elsewhere = call;
  elsewhere.place = DataPlace::host;
  EXPECT_THROW(static_cast<void>(ranks().prepare(elsewhere, Mode::blocking)), std::logic_error);
}

TEST_F(NcclTest, SendsMemoryOfTheHostOverTheHostsCommunicator) {
  auto values = values_of(ranks().rank(), 1001);
  ranks().all_reduce(std::span(values), Reduction::sum);
  EXPECT_EQ(values, sum_over(ranks().size(), 1001));
  std::vector<double> doubles(3, 1.5);
  ranks().all_reduce(std::span(doubles), Reduction::sum);
  EXPECT_EQ(doubles[2], 1.5 * ranks().size());
  ranks().barrier(WaitPolicy::sleep);
  ranks().barrier();
}

TEST_F(NcclTest, RefusesMemoryOfTheGpuWhereItIsNotTaken) {
  Collectives collectives(ranks());
  GpuMemory memory = collectives.allocate(64);
  const std::span<double> doubles(reinterpret_cast<double*>(memory.data()), 8);
  EXPECT_THROW(ranks().all_reduce(doubles, Reduction::sum), std::logic_error);
  EXPECT_THROW(ranks().all_gather({memory.data(), 8}, {memory.data(), 64}), std::logic_error);
}

TEST_F(NcclTest, SendsMemoryOfTheGpuToAnotherRank) {
  const Rank last = ranks().size() - 1;
  if (last == 0) GTEST_SKIP() << "nobody to send to";
  Collectives collectives(ranks());
  const bool is_first = ranks().rank() == 0;
  if (!is_first && ranks().rank() != last) return;
  const Rank peer = is_first ? last : 0;
  GpuMemory mine = collectives.allocate(4000);
  GpuMemory theirs = collectives.allocate(4000);
  mine.write(bytes(values_of(ranks().rank(), 1000)));
  if (is_first) ranks().send({mine.data(), 4000}, peer, 1);
  ranks().receive({theirs.data(), 4000}, peer, 1);
  if (!is_first) ranks().send({mine.data(), 4000}, peer, 1);
  EXPECT_EQ(read(theirs, 1000), values_of(peer, 1000));
}

TEST_F(NcclTest, ExchangesMemoryOfTheGpuBothWaysAtOnce) {
  const Rank next = (ranks().rank() + 1) % ranks().size();
  const Rank before = (ranks().rank() + ranks().size() - 1) % ranks().size();
  if (next == ranks().rank()) GTEST_SKIP() << "nobody to send to";
  Collectives collectives(ranks());
  GpuMemory mine = collectives.allocate(8000);
  GpuMemory theirs = collectives.allocate(8000);
  mine.write(bytes(values_of(ranks().rank(), 2000)));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (const std::size_t at : {std::size_t{0}, std::size_t{4000}}) {
    out.push_back({{mine.data() + at, 4000}, next, 1});
    in.push_back({{theirs.data() + at, 4000}, before, 1});
  }
  ranks().exchange(out, in);
  EXPECT_EQ(read(theirs, 2000), values_of(before, 2000));
}

TEST_F(NcclTest, ADuplicateWorksOnAnotherThreadAtTheSameTime) {
  const std::unique_ptr<Communicator> other = ranks().duplicate();
  Collectives collectives(ranks());
  const auto work = [&](Communicator& communicator, GpuMemory& memory) {
    for (int round = 0; round < 10; ++round) {
      memory.write(bytes(values_of(communicator.rank(), 5000)));
      communicator.all_reduce(floats(memory, 5000), Reduction::sum);
      EXPECT_EQ(read(memory, 5000), sum_over(communicator.size(), 5000));
    }
  };
  GpuMemory mine = collectives.allocate(5000 * sizeof(float));
  GpuMemory theirs = collectives.allocate(5000 * sizeof(float));
  std::jthread helper([&] { work(*other, theirs); });
  work(ranks(), mine);
}

/// Does `exchange` with whole numbers in f32 and returns what arrives.
std::vector<float> carry_out(Collectives& collectives, Communicator& ranks,
                             const Exchange& exchange) {
  const Footprint sides = footprint(exchange, ranks.rank(), ranks.size());
  GpuMemory from = collectives.allocate(sides.from);
  GpuMemory to = collectives.allocate(sides.to);
  from.write(bytes(values_of(ranks.rank(), sides.from / sizeof(float))));
  collectives.enqueue(exchange, from.data(), to.data(), collectives.stream());
  collectives.wait(collectives.stream());
  return read(to, sides.to / sizeof(float));
}

TEST_F(NcclTest, CollectivesDoWhatTheirNamesSay) {
  Collectives collectives(ranks());
  const auto n = static_cast<std::size_t>(ranks().size());
  const Rank last = ranks().size() - 1;
  const std::size_t count = 997;
  EXPECT_EQ(carry_out(collectives, ranks(), {.collective = Collective::all_reduce, .count = count}),
            sum_over(ranks().size(), count));
  const auto reduced = carry_out(collectives, ranks(),
                                 {.collective = Collective::reduce, .count = count, .peer = last});
  if (ranks().rank() == last) {
    EXPECT_EQ(reduced, sum_over(ranks().size(), count));
  }
  EXPECT_EQ(carry_out(collectives, ranks(),
                      {.collective = Collective::broadcast, .count = count, .peer = last}),
            values_of(last, count));
  const auto gathered =
      carry_out(collectives, ranks(), {.collective = Collective::all_gather, .count = count});
  for (std::size_t rank = 0; rank < n; ++rank) {
    const auto part = values_of(static_cast<Rank>(rank), count);
    EXPECT_TRUE(std::equal(part.begin(), part.end(),
                           gathered.begin() + static_cast<std::ptrdiff_t>(rank * count)));
  }
  const auto whole = sum_over(ranks().size(), count * n);
  const auto mine = whole.begin() + static_cast<std::ptrdiff_t>(count) * ranks().rank();
  EXPECT_EQ(
      carry_out(collectives, ranks(), {.collective = Collective::reduce_scatter, .count = count}),
      std::vector<float>(mine, mine + static_cast<std::ptrdiff_t>(count)));
}

TEST_F(NcclTest, AllToAllSendsEachRankItsPart) {
  Collectives collectives(ranks());
  const std::size_t count = 101;
  const auto came =
      carry_out(collectives, ranks(), {.collective = Collective::all_to_all, .count = count});
  for (Rank from = 0; from < ranks().size(); ++from) {
    const auto sent = values_of(from, count * static_cast<std::size_t>(ranks().size()));
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(came[static_cast<std::size_t>(from) * count + i],
                sent[static_cast<std::size_t>(ranks().rank()) * count + i]);
    }
  }
}

TEST_F(NcclTest, SendsAndReceivesMeetTheirPeer) {
  Collectives collectives(ranks());
  const Rank peer = ranks().size() - 1 - ranks().rank();
  EXPECT_EQ(carry_out(collectives, ranks(),
                      {.collective = Collective::send_receive, .count = 77, .peer = peer}),
            values_of(peer, 77));
}

TEST_F(NcclTest, TakesEveryElementAndOperator) {
  Collectives collectives(ranks());
  GpuMemory block = collectives.allocate(8192);
  block.write(std::vector<std::byte>(8192));
  for (const Element element : elements) {
    for (const Operator op : operators) {
      const Exchange exchange{.element = element,
                              .op = op,
                              .placement = Placement::in_place,
                              .count = 8192 / element_bytes(element)};
      collectives.enqueue(exchange, block.data(), block.data(), collectives.stream());
    }
  }
  collectives.wait(collectives.stream());
  for (const float value : read(block, 2048)) ASSERT_EQ(value, 0.0F);
}

TEST_F(NcclTest, TheAverageIsTheSumOverTheRanks) {
  Collectives collectives(ranks());
  const auto average = carry_out(collectives, ranks(), {.op = Operator::average, .count = 500});
  const auto sum = sum_over(ranks().size(), 500);
  for (std::size_t i = 0; i < 500; ++i) {
    EXPECT_FLOAT_EQ(average[i], sum[i] / static_cast<float>(ranks().size()));
  }
}

TEST_F(NcclTest, TimesWhatIsEnqueued) {
  Collectives collectives(ranks());
  const std::size_t count = std::size_t{4} << 20U;
  GpuMemory from = collectives.allocate(count * sizeof(float));
  GpuMemory to = collectives.allocate(count * sizeof(float));
  const Seconds time = collectives.time(collectives.stream(), [&] {
    collectives.enqueue({.count = count}, from.data(), to.data(), collectives.stream());
  });
  EXPECT_GT(time, Seconds(0.0));
}

TEST_F(NcclTest, EstimatesAndChoicesAreThereForSeveralRanksOnly) {
  Collectives collectives(ranks());
  const Exchange exchange{.count = 1'000'000};
  const bool several = ranks().size() > 1;
  GpuMemory from = collectives.allocate(4'000'000);
  GpuMemory to = collectives.allocate(4'000'000);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(collectives.estimate(exchange).has_value(), several);
    // What was simulated must not run, nor spoil what does.
    from.write(bytes(values_of(ranks().rank(), 1'000'000)));
    const auto choice = collectives.choice(exchange, from.data(), to.data(), collectives.stream());
    EXPECT_EQ(read(to, 1'000'000), sum_over(ranks().size(), 1'000'000));
    ASSERT_EQ(choice.has_value(), several);
    if (!several) continue;
    EXPECT_FALSE(choice->algorithm.empty());
    EXPECT_FALSE(choice->protocol.empty());
    EXPECT_GT(choice->channels, 0);
  }
  EXPECT_FALSE(collectives.estimate({.collective = Collective::send_receive, .count = 5}));
}

TEST_F(NcclTest, GroupsAreOneOperation) {
  Collectives collectives(ranks());
  GpuMemory first = collectives.allocate(4000);
  GpuMemory second = collectives.allocate(4000);
  first.write(bytes(values_of(ranks().rank(), 1000)));
  second.write(bytes(values_of(ranks().rank(), 1000)));
  const Exchange exchange{.placement = Placement::in_place, .count = 1000};
  collectives.group([&] {
    collectives.enqueue(exchange, first.data(), first.data(), collectives.stream());
    collectives.enqueue(exchange, second.data(), second.data(), collectives.stream());
  });
  collectives.wait(collectives.stream());
  EXPECT_EQ(read(first, 1000), sum_over(ranks().size(), 1000));
  EXPECT_EQ(read(second, 1000), sum_over(ranks().size(), 1000));
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
