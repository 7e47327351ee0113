#include "backend/comm/collective.hpp"

#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/backend/comm/trial.hpp"

/// Every collective of every element type and operator, in and out of place, in every mode, on
/// groups of threads and of processes.
namespace dlscale::backend {
namespace {

template <class Ranks>
class CollectiveTest : public testing::Test {};
using AllRanks = testing::Types<Threads, Processes>;
TYPED_TEST_SUITE(CollectiveTest, AllRanks);

void try_out(Communicator& ranks, const Trial& trial) {
  Block block(trial, ranks.rank(), ranks.size());
  const auto prepared = ranks.prepare(block.call(), trial.mode);
  for (int repeat = 0; repeat < 2; ++repeat) {
    block.fill();
    prepared->start();
    prepared->wait();
    block.check();
  }
}

void try_all(Communicator& ranks, Collective collective, ElementType type) {
  for (const Mode mode : modes) {
    for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
      for (const Reduction op : reductions) {
        if (!reduces(collective) && op != Reduction::sum) continue;
        for (const std::size_t block :
             {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{101}}) {
          const Rank root = static_cast<Rank>(block) % ranks.size();
          try_out(ranks, {collective, type, op, placement, mode, block, root});
        }
      }
    }
  }
}

TYPED_TEST(CollectiveTest, EveryTypeOperatorPlacementAndModeGivesTheRightResult) {
  TypeParam::run([](Communicator& ranks) {
    for (const Collective collective : all_collectives) {
      for (const ElementType type : element_types) try_all(ranks, collective, type);
    }
  });
}

TYPED_TEST(CollectiveTest, LargeMessagesOfHalvesAreReducedPieceByPieceToo) {
  TypeParam::run([](Communicator& ranks) {
    for (const ElementType type : {ElementType::bf16, ElementType::f16}) {
      for (const Mode mode : modes) {
        try_out(ranks, {Collective::all_reduce, type, Reduction::sum, Placement::in_place, mode,
                        40'003, 0});
      }
    }
  });
}

TYPED_TEST(CollectiveTest, SeveralAreUnderWayAtOnce) {
  TypeParam::run([](Communicator& ranks) {
    const Trial sum{Collective::all_reduce,
                    ElementType::f32,
                    Reduction::sum,
                    Placement::in_place,
                    Mode::nonblocking,
                    1001,
                    0};
    Trial gather = sum;
    gather.collective = Collective::all_gather;
    Block first(sum, ranks.rank(), ranks.size());
    Block second(gather, ranks.rank(), ranks.size());
    const auto one = ranks.prepare(first.call(), Mode::nonblocking);
    const auto other = ranks.prepare(second.call(), Mode::nonblocking);
    first.fill();
    second.fill();
    one->start();
    other->start();
    one->wait();
    other->wait();
    first.check();
    second.check();
  });
}

TYPED_TEST(CollectiveTest, OneThatDoesNotBlockTellsWhenItIsDone) {
  TypeParam::run([](Communicator& ranks) {
    const auto beside = ranks.duplicate();
    const Rank last = ranks.size() - 1;
    for (const Mode mode : {Mode::nonblocking, Mode::persistent}) {
      Block block({Collective::all_reduce, ElementType::f32, Reduction::sum, Placement::in_place,
                   mode, 1001, 0},
                  ranks.rank(), ranks.size());
      const auto sum = ranks.prepare(block.call(), mode);
      for (int repeat = 0; repeat < 2; ++repeat) {
        block.fill();
        if (ranks.rank() != last) {
          sum->start();
          EXPECT_FALSE(sum->test());
        }
        beside->barrier();
        if (ranks.rank() == last) sum->start();
        while (!sum->test()) {
        }
        block.check();
      }
    }
  });
}

TYPED_TEST(CollectiveTest, NobodyButTheRootOfAReduceNeedsRoomForTheResult) {
  TypeParam::run([](Communicator& ranks) {
    const Rank root = ranks.size() - 1;
    for (const Mode mode : modes) {
      std::vector<float> mine(77, static_cast<float>(ranks.rank() + 1));
      std::vector<float> sum(ranks.rank() == root ? 77 : 0);
      const auto prepared = ranks.prepare({.collective = Collective::reduce,
                                           .type = ElementType::f32,
                                           .op = Reduction::sum,
                                           .root = root,
                                           .from = std::as_bytes(std::span(mine)),
                                           .to = std::as_writable_bytes(std::span(sum))},
                                          mode);
      prepared->start();
      prepared->wait();
      const auto total = static_cast<float>(ranks.size() * (ranks.size() + 1) / 2);
      for (const float value : sum) EXPECT_EQ(value, total);
    }
  });
}

TYPED_TEST(CollectiveTest, MessagesInBothDirectionsPassEachOther) {
  TypeParam::run([](Communicator& ranks) {
    const Rank next = (ranks.rank() + 1) % ranks.size();
    const Rank previous = (ranks.rank() + ranks.size() - 1) % ranks.size();
    // Larger than what a library sends before the other side asks for it.
    std::vector<int> up(300'000, ranks.rank());
    std::vector<int> down(300'000, -1 - ranks.rank());
    std::vector<int> from_previous(up.size());
    std::vector<int> from_next(down.size());
    const auto out = [](std::vector<int>& values, Rank to, int tag) {
      return Outgoing{std::as_bytes(std::span(values)), to, tag};
    };
    const auto in = [](std::vector<int>& values, Rank from, int tag) {
      return Incoming{std::as_writable_bytes(std::span(values)), from, tag};
    };
    const std::vector<Outgoing> sent{out(up, next, 1), out(down, previous, 2)};
    const std::vector<Incoming> received{in(from_next, next, 2), in(from_previous, previous, 1)};
    ranks.exchange(sent, received);
    EXPECT_EQ(from_previous, std::vector<int>(up.size(), previous));
    EXPECT_EQ(from_next, std::vector<int>(down.size(), -1 - next));
    ranks.exchange({}, {});
  });
}

TYPED_TEST(CollectiveTest, MessagesOfOneTagKeepTheirOrder) {
  TypeParam::run([](Communicator& ranks) {
    const Rank next = (ranks.rank() + 1) % ranks.size();
    const Rank previous = (ranks.rank() + ranks.size() - 1) % ranks.size();
    std::vector<int> sent(50);
    std::vector<int> received(50);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      sent[i] = static_cast<int>(i);
      out.push_back(
          {std::as_bytes(std::span(sent)).subspan(i * sizeof(int), sizeof(int)), next, 5});
      in.push_back(
          {std::as_writable_bytes(std::span(received)).subspan(i * sizeof(int), sizeof(int)),
           previous, 5});
    }
    ranks.exchange(out, in);
    EXPECT_EQ(received, sent);
  });
}

TYPED_TEST(CollectiveTest, AMessageOfAnotherLengthIsNoneOfAnExchange) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.size() < 2) return;
    std::array<std::byte, 16> data{};
    const Outgoing out{std::span(data).first(8), 1, 3};
    const Incoming in{data, 0, 3};
    if (ranks.rank() == 0) ranks.exchange(std::span(&out, 1), {});
    if (ranks.rank() == 1) {
      EXPECT_THROW(ranks.exchange({}, std::span(&in, 1)), LibraryError);
    }
  });
}

TEST(Collectives, HaveNames) {
  std::set<std::string_view> names;
  for (const Collective collective : all_collectives) names.insert(to_string(collective));
  for (const Mode mode : modes) names.insert(to_string(mode));
  EXPECT_EQ(names.size(), all_collectives.size() + modes.size());
}

TYPED_TEST(CollectiveTest, OfADevicesMemoryAreForWhoTakesItAlone) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.takes_device_memory()) return;
    std::vector<std::byte> memory(8);
    EXPECT_THROW(carry_out(ranks, {.from = memory, .to = memory, .place = DataPlace::device}),
                 std::logic_error);
  });
}

TEST(Collectives, OfSidesThatDoNotFitAreRefused) {
  const auto alone = std::move(local_group(1).front());
  std::vector<std::byte> four(4);
  std::vector<std::byte> eight(8);
  CollectiveCall call{.collective = Collective::all_reduce,
                      .type = ElementType::f32,
                      .op = Reduction::sum,
                      .root = 0,
                      .from = four,
                      .to = eight};
  EXPECT_THROW(static_cast<void>(alone->prepare(call, Mode::blocking)), std::logic_error);
  call.to = four;
  call.type = ElementType::f64;  // half of one
  EXPECT_THROW(static_cast<void>(alone->prepare(call, Mode::blocking)), std::logic_error);
  call.type = ElementType::f32;
  call.root = 1;
  EXPECT_THROW(static_cast<void>(alone->prepare(call, Mode::blocking)), std::logic_error);
  call.root = 0;
  EXPECT_NO_THROW(static_cast<void>(alone->prepare(call, Mode::blocking)));
}

/// A communicator that has the plain functions alone.
class PlainCommunicator : public Communicator {
 public:
  explicit PlainCommunicator(Communicator& whole) : whole_(&whole) {}
  [[nodiscard]] Rank rank() const override { return whole_->rank(); }
  [[nodiscard]] int size() const override { return whole_->size(); }
  [[nodiscard]] int node_size() const override { return whole_->node_size(); }
  [[nodiscard]] int node_rank() const override { return whole_->node_rank(); }
  [[nodiscard]] std::string library() const override { return "plain 1.0"; }
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    whole_->send(data, to, tag);
  }
  void receive(std::span<std::byte> data, Rank from, int tag) override {
    whole_->receive(data, from, tag);
  }
  void all_reduce(std::span<float> data, Reduction op) override { whole_->all_reduce(data, op); }
  void all_reduce(std::span<double> data, Reduction op) override { whole_->all_reduce(data, op); }
  void broadcast(std::span<std::byte> data, Rank root) override { whole_->broadcast(data, root); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    whole_->all_gather(mine, all);
  }
  void barrier() override { whole_->barrier(); }
  void barrier(WaitPolicy waiting) override { whole_->barrier(waiting); }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override { return whole_->duplicate(); }

 private:
  Communicator* whole_;
};

TEST(PlainFunctions, ServeTheCollectivesThatTheyCan) {
  run_on_threads(3, [](Communicator& whole) {
    PlainCommunicator ranks(whole);
    const auto in = Placement::in_place;
    const auto out = Placement::out_of_place;
    const auto sum = Reduction::sum;
    for (const ElementType type : {ElementType::f32, ElementType::f64}) {
      for (const Reduction op : reductions) {
        try_out(ranks, {Collective::all_reduce, type, op, in, Mode::blocking, 100, 0});
      }
    }
    for (const ElementType type : element_types) {
      try_out(ranks, {Collective::broadcast, type, sum, in, Mode::blocking, 100, 2});
      try_out(ranks, {Collective::all_gather, type, sum, out, Mode::blocking, 100, 0});
    }
  });
}

TEST(PlainFunctions, AreSaidToLackTheOthers) {
  run_on_threads(2, [](Communicator& whole) {
    PlainCommunicator ranks(whole);
    const auto complaint = [&](const Trial& trial) -> std::string {
      Block block(trial, ranks.rank(), ranks.size());
      try {
        static_cast<void>(ranks.prepare(block.call(), trial.mode));
      } catch (const Unsupported& error) {
        return error.what();
      }
      return "";
    };
    const Trial scatter{Collective::reduce_scatter,
                        ElementType::bf16,
                        Reduction::max,
                        Placement::out_of_place,
                        Mode::blocking,
                        4,
                        0};
    EXPECT_NE(complaint(scatter).find(
                  "plain 1.0, as dlscale uses it, offers no blocking reduce_scatter of bf16 (max) "
                  "out of place"),
              std::string::npos);
    Trial started = scatter;
    started.collective = Collective::broadcast;
    started.mode = Mode::persistent;
    EXPECT_NE(complaint(started).find("no persistent broadcast of bf16."), std::string::npos);
    EXPECT_THROW(ranks.exchange({}, {}), Unsupported);
    EXPECT_THROW(static_cast<void>(ranks.prepare_exchange({}, {}, Mode::nonblocking)), Unsupported);
  });
}

}  // namespace
}  // namespace dlscale::backend
