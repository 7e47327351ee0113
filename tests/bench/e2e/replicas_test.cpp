#include "bench/e2e/rank_agreement.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/backend/comm/unheard_communicator.hpp"
#include "tests/bench/e2e/setting.hpp"

namespace dlscale::bench {
extern const Benchmark e2e;

namespace {

using backend::Communicator;

std::string difference_of(const std::vector<std::uint64_t>& checksums) {
  return difference(checksums);
}

TEST(Difference, NamesTheRanksThatDoNotHaveWhatMostHave) {
  EXPECT_EQ(difference_of({7}), "");
  EXPECT_EQ(difference_of({7, 7, 7}), "");
  EXPECT_EQ(difference_of({7, 8, 7}),
            "the parameters of rank 1 differ from those of the other 2 ranks");
  EXPECT_EQ(difference_of({9, 7, 7, 8, 7}),
            "the parameters of ranks 0, 3 differ from those of the other 3 ranks");
}

TEST(Difference, NamesAllWhereNobodyKnowsWhoIsRight) {
  EXPECT_EQ(difference_of({7, 8}), "the parameters of ranks 0, 1 differ from each other");
  EXPECT_EQ(difference_of({7, 8, 8, 7}),
            "the parameters of ranks 0, 1, 2, 3 differ from each other");
}

/// Passes everything on, but spoils an element of each sum of floats that the last rank gets.
class SpoilingCommunicator : public Communicator {
 public:
  explicit SpoilingCommunicator(Communicator& right) : right_(&right) {}
  explicit SpoilingCommunicator(std::unique_ptr<Communicator> right)
      : right_(right.get()), owned_(std::move(right)) {}
  [[nodiscard]] Rank rank() const override { return right_->rank(); }
  [[nodiscard]] int size() const override { return right_->size(); }
  [[nodiscard]] int node_size() const override { return right_->node_size(); }
  [[nodiscard]] int node_rank() const override { return right_->node_rank(); }
  [[nodiscard]] std::string library() const override { return "spoiling"; }
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    right_->send(data, to, tag);
  }
  void receive(std::span<std::byte> data, Rank from, int tag) override {
    right_->receive(data, from, tag);
  }
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    right_->all_reduce(data, op);
    if (rank() == size() - 1) data.front() += 1.0F;
  }
  void all_reduce(std::span<double> data, backend::Reduction op) override {
    right_->all_reduce(data, op);
  }
  void broadcast(std::span<std::byte> data, Rank root) override { right_->broadcast(data, root); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    right_->all_gather(mine, all);
  }
  void barrier() override { right_->barrier(); }
  void barrier(backend::WaitPolicy waiting) override { right_->barrier(waiting); }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<SpoilingCommunicator>(right_->duplicate());
  }

 private:
  Communicator* right_;
  std::unique_ptr<Communicator> owned_;
};

TEST(E2e, GivesNoTimesWhereTheParametersOfARankWentAstray) {
  const Setting setting;
  const auto values =
      setting.values({{"data", setting.path("data").string()}, {"iterations", "2"}});
  backend::run_on_threads(3, [&](Communicator& ranks) {
    SpoilingCommunicator spoiling(ranks);
    Context context = context_for(e2e, values, spoiling);
    const Measurement m = e2e.cells(context).at(0).measure(Sampler(spoiling, {}));
    EXPECT_EQ(m.status, Status::wrong);
    EXPECT_TRUE(m.series.empty());
    EXPECT_NE(m.reason.find("the parameters of rank 2 differ from those of the other 2 ranks"),
              std::string::npos)
        << m.reason;
  });
}

/// Calls that the others would have to join, of one rank of three that throws `error` in work of
/// all.
template <class E>
int calls_after(const E& error) {
  int calls = 0;
  backend::UnheardCommunicator ranks(3, [&calls] { ++calls; });
  EXPECT_THROW(run_jointly(ranks, [&error] { throw E(error); }), E);
  return calls;
}

TEST(RunJointly, SaysNothingToRanksThatMayStillBeInWhatFailed) {
  EXPECT_EQ(calls_after(LibraryError("cudaStreamQuery failed for rank 1's messages.")), 0);
  EXPECT_EQ(calls_after(std::bad_alloc()), 0);
  EXPECT_EQ(calls_after(std::logic_error("a bug in dlscale")), 0);
}

TEST(RunJointly, TellsTheOthersOfWhatLeavesThemInStep) {
  int calls = 0;
  backend::UnheardCommunicator ranks(3, [&calls] { ++calls; });
  const auto wrong = [] { throw WrongResult("the loss is not finite"); };
  EXPECT_EQ(run_jointly(ranks, wrong).answer, JointEnd::Answer::wrong);
  EXPECT_GT(calls, 0);
  EXPECT_GT(calls_after(ConfigError("picture.jpg is truncated.")), 0);
}

}  // namespace
}  // namespace dlscale::bench
