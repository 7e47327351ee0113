// Runs alone and under mpirun. What needs a GPU for each rank is skipped, with the reason, where
// there is none.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl/call.hpp"
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

/// Memory of the GPU of this rank, for any thread.
class GpuMemory {
 public:
  explicit GpuMemory(std::size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    use_device(world().communicator->gpu());
    check(cudaMalloc(&data, bytes), "cudaMalloc", "a test");
    data_ = static_cast<std::byte*>(data);
  }
  ~GpuMemory() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::span<std::byte> whole() const { return {data_, bytes_}; }
  [[nodiscard]] std::span<float> floats() const {
    return {reinterpret_cast<float*>(data_), bytes_ / sizeof(float)};
  }
  void write(const std::vector<float>& values) const {
    copy(values.data(), data_, values.size(), cudaMemcpyHostToDevice);
  }
  [[nodiscard]] std::vector<float> read() const {
    std::vector<float> values(floats().size());
    copy(data_, values.data(), values.size(), cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  /// The links' streams do not wait for the default stream, which copies.
  static void copy(const void* from, void* to, std::size_t count, cudaMemcpyKind kind) {
    use_device(world().communicator->gpu());
    check(cudaMemcpy(to, from, count * sizeof(float), kind), "cudaMemcpy", "a test");
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize", "a test");
  }

  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

TEST_F(NcclTest, SaysWhatItIs) {
  EXPECT_EQ(ranks().library().rfind("NCCL 2.", 0), 0U) << ranks().library();
  EXPECT_EQ(ranks().library().find("host memory"), std::string::npos);
  EXPECT_TRUE(ranks().takes_device_memory());
  EXPECT_LT(ranks().node_rank(), ranks().node_size());
}

TEST_F(NcclTest, ReducesMemoryOfTheGpuInPlace) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{1'000'003}}) {
    const GpuMemory memory(count * sizeof(float));
    const auto reduced = [&](Reduction op) {
      memory.write(values_of(ranks().rank(), count));
      ranks().all_reduce(memory.floats(), op);
      return memory.read();
    };
    EXPECT_EQ(reduced(Reduction::sum), sum_over(ranks().size(), count)) << count;
    EXPECT_EQ(reduced(Reduction::max), values_of(ranks().size() - 1, count));
    EXPECT_EQ(reduced(Reduction::min), values_of(0, count));
  }
}

TEST_F(NcclTest, BroadcastsMemoryOfTheGpu) {
  const GpuMemory memory(1003 * sizeof(float));
  for (Rank root = 0; root < ranks().size(); ++root) {
    memory.write(values_of(ranks().rank(), 1003));
    ranks().broadcast(memory.whole(), root);
    EXPECT_EQ(memory.read(), values_of(root, 1003)) << root;
  }
}

TEST_F(NcclTest, PreparesCollectivesOfMemoryOfTheGpu) {
  const auto n = static_cast<std::size_t>(ranks().size());
  const std::size_t block = 997;
  const Rank last = ranks().size() - 1;
  const GpuMemory all(n * block * sizeof(float));
  const GpuMemory other(n * block * sizeof(float));
  const GpuMemory mine(block * sizeof(float));
  const auto fill = [&] { all.write(values_of(ranks().rank(), n * block)); };
  const auto sums = sum_over(ranks().size(), n * block);
  const auto run = [&](Collective collective, std::span<std::byte> from, std::span<std::byte> to) {
    backend::carry_out(ranks(), {.collective = collective,
                                 .root = last,
                                 .from = from,
                                 .to = to,
                                 .place = DataPlace::device});
  };
  fill();
  run(Collective::reduce_scatter, all.whole(), mine.whole());
  all.write(std::vector<float>(n * block));
  run(Collective::all_gather, mine.whole(), all.whole());
  EXPECT_EQ(all.read(), sums);
  fill();
  run(Collective::all_reduce, all.whole(), other.whole());
  EXPECT_EQ(other.read(), sums);
  run(Collective::broadcast, {}, all.whole());
  EXPECT_EQ(all.read(), values_of(last, n * block));
  fill();
  run(Collective::reduce, all.whole(),
      ranks().rank() == last ? all.whole() : std::span<std::byte>());
  if (ranks().rank() == last) {
    EXPECT_EQ(all.read(), sums);
  }
  fill();
  run(Collective::all_to_all, all.whole(), other.whole());
  const std::vector<float> came = other.read();
  for (std::size_t from = 0; from < n; ++from) {
    const auto sent = values_of(static_cast<Rank>(from), n * block);
    const auto part = sent.begin() + static_cast<std::ptrdiff_t>(block) * ranks().rank();
    EXPECT_TRUE(std::equal(part, part + static_cast<std::ptrdiff_t>(block),
                           came.begin() + static_cast<std::ptrdiff_t>(from * block)));
  }
}

TEST_F(NcclTest, TakesEveryElementAndOperator) {
  const GpuMemory block(8192);
  block.write(std::vector<float>(2048));
  for (const ElementType type : element_types) {
    for (const Reduction op : reductions) {
      backend::carry_out(ranks(), {.type = type,
                                   .op = op,
                                   .from = block.whole(),
                                   .to = block.whole(),
                                   .place = DataPlace::device});
    }
  }
  EXPECT_EQ(block.read(), std::vector<float>(2048));
}

TEST_F(NcclTest, PreparesCollectivesOfTheHostOverTheHostsCommunicator) {
  auto values = values_of(ranks().rank(), 1001);
  const auto memory = std::as_writable_bytes(std::span(values));
  backend::carry_out(ranks(), {.from = memory, .to = memory});
  EXPECT_EQ(values, sum_over(ranks().size(), 1001));
}

TEST_F(NcclTest, RefusesCollectivesOfTheGpuThatDoNotBlock) {
  const GpuMemory memory(64);
  const CollectiveCall call{
      .from = memory.whole(), .to = memory.whole(), .place = DataPlace::device};
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
  const GpuMemory memory(64);
  const std::span<double> doubles(reinterpret_cast<double*>(memory.data()), 8);
  EXPECT_THROW(ranks().all_reduce(doubles, Reduction::sum), std::logic_error);
  EXPECT_THROW(ranks().all_gather({memory.data(), 8}, {memory.data(), 64}), std::logic_error);
}

TEST_F(NcclTest, SendsMemoryOfTheGpuToAnotherRank) {
  const Rank last = ranks().size() - 1;
  if (last == 0) GTEST_SKIP() << "nobody to send to";
  const bool is_first = ranks().rank() == 0;
  if (!is_first && ranks().rank() != last) return;
  const Rank peer = is_first ? last : 0;
  const GpuMemory mine(4000);
  const GpuMemory theirs(4000);
  mine.write(values_of(ranks().rank(), 1000));
  if (is_first) ranks().send({mine.data(), 4000}, peer, 1);
  ranks().receive({theirs.data(), 4000}, peer, 1);
  if (!is_first) ranks().send({mine.data(), 4000}, peer, 1);
  EXPECT_EQ(theirs.read(), values_of(peer, 1000));
}

TEST_F(NcclTest, ExchangesMemoryOfTheGpuBothWaysAtOnce) {
  const Rank next = (ranks().rank() + 1) % ranks().size();
  const Rank before = (ranks().rank() + ranks().size() - 1) % ranks().size();
  if (next == ranks().rank()) GTEST_SKIP() << "nobody to send to";
  const GpuMemory mine(8000);
  const GpuMemory theirs(8000);
  mine.write(values_of(ranks().rank(), 2000));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (const std::size_t at : {std::size_t{0}, std::size_t{4000}}) {
    out.push_back({{mine.data() + at, 4000}, next, 1});
    in.push_back({{theirs.data() + at, 4000}, before, 1});
  }
  ranks().exchange(out, in);
  EXPECT_EQ(theirs.read(), values_of(before, 2000));
}

TEST_F(NcclTest, ADuplicateWorksOnAnotherThreadAtTheSameTime) {
  const std::unique_ptr<Communicator> other = ranks().duplicate();
  const auto work = [&](Communicator& communicator, const GpuMemory& memory) {
    for (int round = 0; round < 10; ++round) {
      memory.write(values_of(communicator.rank(), 5000));
      communicator.all_reduce(memory.floats(), Reduction::sum);
      EXPECT_EQ(memory.read(), sum_over(communicator.size(), 5000));
    }
  };
  const GpuMemory mine(5000 * sizeof(float));
  const GpuMemory theirs(5000 * sizeof(float));
  std::jthread helper([&] { work(*other, theirs); });
  work(ranks(), mine);
}

TEST_F(NcclTest, EstimatesAndChoicesAreThereForSeveralRanksOnly) {
  const bool several = ranks().size() > 1;
  const GpuMemory memory(4'000'000);
  const CollectiveCall call{
      .from = memory.whole(), .to = memory.whole(), .place = DataPlace::device};
  for (int again = 0; again < 3; ++again) {
    memory.write(values_of(ranks().rank(), 1'000'000));
    const auto facts = ranks().facts_of(call);
    ASSERT_TRUE(facts.has_value());
    EXPECT_EQ(facts->expected.has_value(), several);
    EXPECT_EQ(facts->choice.find(" channel") != std::string::npos, several) << facts->choice;
    EXPECT_EQ(facts->unknown, "");
    // What was simulated must not run, nor spoil what does.
    EXPECT_EQ(memory.read(), sum_over(ranks().size(), 1'000'000));
  }
  const GpuMemory other(4'000'000);
  CollectiveCall in_messages = call;
  in_messages.collective = Collective::all_to_all;
  in_messages.to = other.whole();
  EXPECT_FALSE(ranks().facts_of(in_messages)->expected.has_value());
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
