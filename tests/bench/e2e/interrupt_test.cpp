// The signal that comes here stays pending, so this program holds nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "core/base/interrupt.hpp"
#include "tests/bench/e2e/setting.hpp"

namespace dlscale::bench {
extern const Benchmark e2e;

namespace {

/// A group of one that raises a signal in its `raises_at`-th all-reduce of doubles (from 1), which
/// is how the ranks of a training run tell each other after every iteration how they are.
class SignallingCommunicator : public backend::Communicator {
 public:
  explicit SignallingCommunicator(int raises_at) : left_(raises_at) {}

  [[nodiscard]] Rank rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] int node_size() const override { return 1; }
  [[nodiscard]] int node_rank() const override { return 0; }
  [[nodiscard]] std::string library() const override { return "signalling"; }
  void send(std::span<const std::byte>, Rank, int) override {}
  void receive(std::span<std::byte>, Rank, int) override {}
  void all_reduce(std::span<float>, backend::Reduction) override {}
  void all_reduce(std::span<double>, backend::Reduction) override {
    if (--left_ == 0) std::raise(SIGINT);
  }
  void broadcast(std::span<std::byte>, Rank) override {}
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::ranges::copy(mine, all.begin());
  }
  void barrier() override {}
  void barrier(backend::WaitPolicy) override {}
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<SignallingCommunicator>(0);
  }

 private:
  int left_;
};

TEST(E2e, KeepsTheIterationsSoFarWhenASignalComes) {
  install_signal_handlers();
  const Setting setting;
  // Two all-reduces come before the training; in the fourth iteration comes the signal, which the
  // fifth is the first to see.
  SignallingCommunicator communicator(6);
  Context context = context_for(
      e2e,
      setting.values(
          {{"data", setting.path("data").string()}, {"iterations", "1000000"}, {"warmup", "2"}}),
      communicator);
  const Measurement m = e2e.cells(context).at(0).measure(Sampler(communicator, {}));
  EXPECT_EQ(m.status, Status::interrupted);
  EXPECT_NE(m.reason.find("5 of 1000002"), std::string::npos) << m.reason;
  EXPECT_EQ(m.at("t_iter").samples.at(0).size(), 3U);

  // The signal is still pending: a run that starts now trains not at all, on all its ranks.
  for (const Measurement& late :
       measure_on(2, e2e, setting.values({{"data", setting.path("data").string()}}))) {
    EXPECT_EQ(late.status, Status::interrupted);
    EXPECT_TRUE(late.series.empty());
  }
}

}  // namespace
}  // namespace dlscale::bench
