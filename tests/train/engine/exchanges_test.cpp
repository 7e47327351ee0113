// Exchanges that pack, cut or scatter what is posted.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/exchange/cycle_exchange.hpp"
#include "train/exchange/gradient_reducer.hpp"
#include "train/exchange/priority_exchange.hpp"
#include "train/phases.hpp"

namespace dlscale::train {
namespace {

using backend::WaitPolicy;

/// Messages of odd sizes, one after the other in one array.
class Messages {
 public:
  explicit Messages(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {
    values_.resize(std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0}));
  }
  /// Element i of rank r becomes i + r.
  void fill(Rank rank) { std::iota(values_.begin(), values_.end(), static_cast<float>(rank)); }
  [[nodiscard]] std::span<float> all() { return values_; }
  [[nodiscard]] std::span<float> at(std::size_t message) {
    const auto before = std::accumulate(
        sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(message), std::size_t{0});
    return all().subspan(before, sizes_[message]);
  }
  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }
  void post(Exchange& exchange, std::size_t message) {
    exchange.post(message, at(message), open_backend("reference")->mark());
    if (message + 1 == sizes_.size()) exchange.close();
  }
  void expect_sums(int ranks) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto sum = static_cast<float>(ranks * static_cast<int>(i) + ranks * (ranks - 1) / 2);
      EXPECT_EQ(values_[i], sum) << "element " << i << " of " << ranks << " ranks";
    }
  }

 private:
  std::vector<std::size_t> sizes_;
  std::vector<float> values_;
};

Messages some_messages() {
  return Messages({7, 1, 30, 2, 11});
}

/// Three iterations of all messages; by iteration what travelled.
std::vector<std::vector<Transfer>> exchange_three_times(Exchange& exchange, Messages& messages,
                                                        Rank rank, int ranks) {
  std::vector<std::vector<Transfer>> transfers;
  for (int i = 0; i < 3; ++i) {
    messages.fill(rank);
    for (std::size_t m = 0; m < messages.sizes().size(); ++m) messages.post(exchange, m);
    for (std::size_t m = 0; m < messages.sizes().size(); ++m) exchange.await(m);
    transfers.push_back(exchange.finish());
    messages.expect_sums(ranks);
  }
  return transfers;
}

std::size_t bytes_by(const std::vector<Transfer>& transfers, backend::Collective kind) {
  std::size_t sum = 0;
  for (const Transfer& transfer : transfers) sum += transfer.kind == kind ? transfer.bytes : 0;
  return sum;
}

Cycle cycle_of(Seconds period, Bytes threshold, std::size_t messages) {
  return {.period = period,
          .threshold = threshold,
          .messages = messages,
          .device = ReadyList::Device::is_host};
}

TEST(CycleExchange, AddsUpEveryMessageWhateverItPacks) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Bytes threshold : {0_B, 40_B, 1_MiB}) {
      on_ranks(ranks, [&](backend::Communicator& communicator) {
        Messages messages = some_messages();
        CycleExchange exchange(communicator.duplicate(), Staging(), WaitPolicy::sleep,
                               cycle_of(0.2_ms, threshold, 5));
        for (const auto& transfers :
             exchange_three_times(exchange, messages, communicator.rank(), ranks)) {
          EXPECT_EQ(bytes_by(transfers, backend::Collective::all_reduce),
                    messages.all().size_bytes());
          EXPECT_TRUE(threshold > 0_B || transfers.size() == 5U);
          std::size_t next = 0;
          for (const Transfer& transfer : transfers) {
            EXPECT_EQ(transfer.bucket, next);
            EXPECT_LE(transfer.posted, transfer.start);
            EXPECT_LE(transfer.start, transfer.end);
            next += transfer.buckets;
          }
          EXPECT_EQ(next, 5U);
        }
      });
    }
  }
}

TEST(CycleExchange, SendsOnlyWhatAllRanksHave) {
  on_ranks(2, [](backend::Communicator& communicator) {
    Messages messages = some_messages();
    messages.fill(communicator.rank());
    CycleExchange exchange(communicator.duplicate(), Staging(), WaitPolicy::sleep,
                           cycle_of(0.2_ms, 1_MiB, 5));
    const bool late = communicator.rank() == 1;
    messages.post(exchange, 0);
    if (late) exchange.await(0);
    for (std::size_t m = 1; m < 5; ++m) messages.post(exchange, m);
    const std::vector<Transfer> transfers = exchange.finish();
    EXPECT_EQ(transfers.front().buckets, 1U);
    messages.expect_sums(2);
  });
}

TEST(CycleExchange, PacksWhatCameWithinACycle) {
  on_ranks(2, [](backend::Communicator& communicator) {
    Messages messages = some_messages();
    messages.fill(communicator.rank());
    // The clock may tick between two posts, but not twice.
    CycleExchange exchange(communicator.duplicate(), Staging(), WaitPolicy::sleep,
                           cycle_of(0.5_s, 1_MiB, 5));
    for (std::size_t m = 0; m < 5; ++m) messages.post(exchange, m);
    EXPECT_LE(exchange.finish().size(), 2U);
    messages.expect_sums(2);
  });
}

TEST(CycleExchange, EndsWhileItSleeps) {
  const auto start = std::chrono::steady_clock::now();
  {
    Messages messages = some_messages();
    CycleExchange exchange(std::move(backend::local_group(1).front()), Staging(), WaitPolicy::sleep,
                           cycle_of(600.0_s, 1_MiB, 5));
    messages.post(exchange, 0);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(300));
}

TEST(CycleExchange, BringsAFailureOfItsThreadToTheCaller) {
  Messages messages = some_messages();
  CycleExchange exchange(std::make_unique<FailingCommunicator>(0), Staging(), WaitPolicy::sleep,
                         cycle_of(0.1_ms, 1_MiB, 5));
  messages.post(exchange, 0);
  EXPECT_THROW(exchange.await(0), LibraryError);
  EXPECT_THROW(exchange.finish(), LibraryError);
}

Partition partition_of(const Messages& messages, Bytes most, std::size_t credit) {
  return {.most = most,
          .credit = credit,
          .messages = messages.sizes(),
          .device = ReadyList::Device::is_host};
}

TEST(PriorityExchange, AddsUpEveryMessageWhateverItsParts) {
  const auto device = open_backend("reference");
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Bytes most : {4_B, 20_B, 1_MiB}) {
      for (const std::size_t credit : {1U, 3U}) {
        on_ranks(ranks, [&](backend::Communicator& communicator) {
          Messages messages = some_messages();
          PriorityExchange exchange(communicator.duplicate(), HostMirror(*device, messages.all()),
                                    WaitPolicy::sleep, partition_of(messages, most, credit));
          for (const auto& transfers :
               exchange_three_times(exchange, messages, communicator.rank(), ranks)) {
            EXPECT_EQ(bytes_by(transfers, backend::Collective::all_reduce),
                      messages.all().size_bytes());
            for (const Transfer& transfer : transfers) {
              EXPECT_LE(Bytes(static_cast<double>(transfer.bytes)), most);
              EXPECT_LE(transfer.posted, transfer.start);
            }
          }
        });
      }
    }
  }
}

/// A collective of floats that waits with its start until it may.
class HeldUp : public backend::PreparedCollective {
 public:
  HeldUp(std::unique_ptr<backend::PreparedCollective> right, std::shared_future<void> gate)
      : right_(std::move(right)), gate_(std::move(gate)) {}
  void start() override {
    gate_.wait();
    right_->start();
  }
  void wait() override { right_->wait(); }
  bool test() override { return right_->test(); }

 private:
  std::unique_ptr<backend::PreparedCollective> right_;
  std::shared_future<void> gate_;
};

class HoldingCommunicator : public FailingCommunicator {
 public:
  HoldingCommunicator(std::unique_ptr<Communicator> right, std::shared_future<void> gate)
      : FailingCommunicator(-1), right_(std::move(right)), gate_(std::move(gate)) {}
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override {
    auto right = right_->prepare(call, mode);
    if (call.type != backend::ElementType::f32) return right;
    return std::make_unique<HeldUp>(std::move(right), gate_);
  }

 private:
  std::unique_ptr<Communicator> right_;
  std::shared_future<void> gate_;
};

TEST(PriorityExchange, SendsWhatIsNeededFirstFirst) {
  const auto device = open_backend("reference");
  for (const WaitPolicy waiting : {WaitPolicy::sleep, WaitPolicy::spin}) {
    on_ranks(2, [&](backend::Communicator& communicator) {
      Messages messages = some_messages();
      messages.fill(communicator.rank());
      std::promise<void> gate;
      PriorityExchange exchange(
          std::make_unique<HoldingCommunicator>(communicator.duplicate(), gate.get_future()),
          HostMirror(*device, messages.all()), waiting, partition_of(messages, 8_B, 1));
      for (std::size_t m = 0; m < 5; ++m) messages.post(exchange, m);
      gate.set_value();
      std::vector<Transfer> transfers = exchange.finish();
      messages.expect_sums(2);
      // Whatever was ready when the first was chosen, all was when the others were.
      transfers.erase(transfers.begin());
      EXPECT_TRUE(std::ranges::is_sorted(transfers, std::ranges::greater(), &Transfer::bucket));
    });
  }
}

/// Of one rank: is done once it may be.
class DoneWhenTold : public backend::PreparedCollective {
 public:
  explicit DoneWhenTold(std::shared_future<void> gate) : gate_(std::move(gate)) {}
  void start() override {}
  void wait() override { gate_.wait(); }
  bool test() override {
    std::this_thread::yield();
    return gate_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

 private:
  std::shared_future<void> gate_;
};

/// One rank, of whose messages those of one element stay under way until they may arrive.
class DelayingCommunicator : public FailingCommunicator {
 public:
  explicit DelayingCommunicator(std::shared_future<void> gate)
      : FailingCommunicator(-1), gate_(std::move(gate)) {
    std::promise<void> now;
    now.set_value();
    open_ = now.get_future();
  }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode) override {
    return std::make_unique<DoneWhenTold>(call.to.size() == sizeof(float) ? gate_ : open_);
  }

 private:
  std::shared_future<void> gate_;
  std::shared_future<void> open_;
};

TEST(PriorityExchange, BringsWhatIsDoneThoughOlderPartsStillTravel) {
  const auto device = open_backend("reference");
  Messages messages({1, 2});
  std::promise<void> gate;
  PriorityExchange exchange(std::make_unique<DelayingCommunicator>(gate.get_future()),
                            HostMirror(*device, messages.all()), WaitPolicy::sleep,
                            partition_of(messages, 8_B, 2));
  messages.post(exchange, 0);
  messages.post(exchange, 1);
  exchange.await(1);
  const Instant told = std::chrono::steady_clock::now();
  gate.set_value();
  const std::vector<Transfer> transfers = exchange.finish();
  ASSERT_EQ(transfers.size(), 2U);
  EXPECT_EQ(transfers[0].bucket, 1U);
  EXPECT_LE(transfers[0].end, told);
  EXPECT_GE(transfers[1].end, told);
}

TEST(PriorityExchange, BringsAFailureOfItsThreadToTheCaller) {
  const auto device = open_backend("reference");
  Messages messages = some_messages();
  PriorityExchange exchange(std::make_unique<FailingCommunicator>(-1),
                            HostMirror(*device, messages.all()), WaitPolicy::sleep,
                            partition_of(messages, 8_B, 1));
  messages.post(exchange, 0);
  EXPECT_THROW(exchange.await(0), LibraryError);
}

/// What travels of a message of so many elements, as (collective, bytes).
using Travels = std::vector<std::pair<backend::Collective, std::size_t>>;

Travels scattered(std::size_t elements, std::size_t ranks) {
  const std::size_t rest = elements % ranks;
  Travels travels;
  if (elements > rest) {
    travels.emplace_back(backend::Collective::reduce_scatter, 4 * (elements - rest));
  }
  if (rest > 0) travels.emplace_back(backend::Collective::all_reduce, 4 * rest);
  return travels;
}

std::unique_ptr<GradientReducer> scattered_sum(backend::ComputeDevice& device,
                                               const backend::Communicator& ranks,
                                               Messages& messages) {
  return std::make_unique<ShardedReducer>(CollectiveMemory(device, ranks, messages.all()),
                                          messages.sizes().size(), ranks.size());
}

TEST(ScatteredSum, TellsWhatIsNoEqualBlocksApart) {
  const auto device = open_backend("reference");
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [&](backend::Communicator& communicator) {
      Messages messages = some_messages();
      GradientExchange exchange(communicator.duplicate(),
                                scattered_sum(*device, communicator, messages), WaitPolicy::sleep);
      const auto count = static_cast<std::size_t>(ranks);
      Travels expected;
      for (const std::size_t elements : messages.sizes()) {
        for (const auto& each : scattered(elements, count)) expected.push_back(each);
      }
      for (std::size_t m = 5; m-- > 0;) {
        const std::size_t whole = messages.sizes()[m] / count * count;
        if (whole > 0) expected.emplace_back(backend::Collective::all_gather, 4 * whole);
      }
      for (const auto& transfers :
           exchange_three_times(exchange, messages, communicator.rank(), ranks)) {
        Travels found;
        Instant before;
        for (const Transfer& transfer : transfers) {
          found.emplace_back(transfer.kind, transfer.bytes);
          EXPECT_LE(before, transfer.start);
          EXPECT_LE(transfer.posted, transfer.start);
          before = transfer.end;
        }
        EXPECT_EQ(found, expected) << ranks;
      }
    });
  }
}

TEST(ScatteredSum, IsGatheredLastMessageFirst) {
  const auto device = open_backend("reference");
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [&](backend::Communicator& communicator) {
      Messages messages({12, 24, 12, 36, 12});  // equal blocks on all these ranks
      GradientExchange exchange(communicator.duplicate(),
                                scattered_sum(*device, communicator, messages), WaitPolicy::sleep);
      for (const auto& transfers :
           exchange_three_times(exchange, messages, communicator.rank(), ranks)) {
        ASSERT_EQ(transfers.size(), 10U);
        for (std::size_t i = 0; i < 5; ++i) {
          EXPECT_EQ(transfers[i].kind, backend::Collective::reduce_scatter);
          EXPECT_EQ(transfers[i].bucket, i);
          EXPECT_EQ(transfers[5 + i].kind, backend::Collective::all_gather);
          EXPECT_EQ(transfers[5 + i].bucket, 4 - i);
        }
      }
    });
  }
}

TEST(Reduce, GivesEachOwnerItsSum) {
  const auto device = open_backend("reference");
  on_ranks(3, [&](backend::Communicator& communicator) {
    Messages messages = some_messages();
    Messages sums = some_messages();
    messages.fill(communicator.rank());
    for (std::size_t i = 0; i < sums.all().size(); ++i) {
      sums.all()[i] = static_cast<float>(3 * i + 3);
    }
    const std::vector<Rank> owners{0, 1, 1, 2, 0};
    CollectiveMemory memory(*device, communicator, messages.all());
    GradientExchange exchange(communicator.duplicate(),
                              std::make_unique<ParameterServerReducer>(std::move(memory), owners),
                              WaitPolicy::sleep);
    for (std::size_t m = 0; m < 5; ++m) messages.post(exchange, m);
    EXPECT_EQ(bytes_by(exchange.finish(), backend::Collective::reduce),
              messages.all().size_bytes());
    for (std::size_t m = 0; m < 5; ++m) {
      if (owners[m] != communicator.rank()) continue;
      EXPECT_TRUE(std::ranges::equal(messages.at(m), sums.at(m))) << "message " << m;
    }
  });
}

/// A mark that is passed when it is told.
class ToldMark : public backend::Mark {
 public:
  void pass() { passed_.set_value(); }
  void wait() const override { future_.wait(); }
  [[nodiscard]] Seconds since(const Mark&) const override { return {}; }

 private:
  std::promise<void> passed_;
  std::shared_future<void> future_ = passed_.get_future().share();
};

TEST(ReadyList, CountsWhatADeviceHasPassed) {
  ReadyList list(ReadyList::Device::runs_beside);
  std::vector<float> values(6);
  std::vector<std::shared_ptr<ToldMark>> marks;
  for (std::size_t i = 0; i < 3; ++i) {
    marks.push_back(std::make_shared<ToldMark>());
    list.post(i, std::span(values).subspan(2 * i, 2), marks.back());
  }
  EXPECT_EQ(list.ready(), 0U);
  EXPECT_THROW((void)list.posted(0), std::logic_error);
  EXPECT_THROW(list.post(5, values, marks.back()), std::logic_error);
  const std::stop_source stop;
  marks[0]->pass();
  EXPECT_TRUE(list.wait_ready(1, stop.get_token()));
  EXPECT_EQ(list.posted(0).gradients.data(), values.data());
  EXPECT_THROW(list.clear(), std::logic_error);
  marks[1]->pass();
  marks[2]->pass();
  EXPECT_TRUE(list.wait_ready(3, stop.get_token()));
  list.clear();
  EXPECT_EQ(list.ready(), 0U);
}

TEST(ReadyList, StopsWaitingWhenToldTo) {
  ReadyList list(ReadyList::Device::is_host);
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_FALSE(list.wait_ready(1, stop.get_token()));
}

Instant at(int milliseconds) {
  return Instant(std::chrono::milliseconds(milliseconds));
}

Transfer between(int start, int end) {
  Transfer transfer;
  transfer.start = at(start);
  transfer.end = at(end);
  return transfer;
}

TEST(BusyTime, CountsWhatRunsAtOnceOnceAndWaitsNot) {
  const std::vector<Transfer> transfers{between(30, 40), between(0, 10), between(5, 20),
                                        between(8, 9)};
  EXPECT_NEAR(busy_outside(transfers, {}).si(), 0.030, 1e-9);
  const std::vector<Interval> waits{{at(8), at(12)}, {at(18), at(35)}};
  EXPECT_NEAR(busy_outside(transfers, waits).si(), 0.030 - 0.004 - 0.002 - 0.005, 1e-9);
  EXPECT_EQ(busy_outside({}, waits), Seconds());
  EXPECT_NEAR(busy_before(std::vector{between(0, 10), between(20, 30)}, at(25)).si(), 0.015, 1e-9);
}

}  // namespace
}  // namespace dlscale::train
