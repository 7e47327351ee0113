#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/comm/passing_communicator.hpp"

namespace dlscale::bench {

/// Passes everything on, but adds one to an element of each sum and each message.
class WrongCommunicator : public PassingCommunicator {
 public:
  explicit WrongCommunicator(backend::Communicator& right) : PassingCommunicator(right) {}
  [[nodiscard]] std::string library() const override { return "wrong"; }
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    std::vector<std::byte> changed(data.begin(), data.end());
    changed.back() ^= std::byte{1};
    PassingCommunicator::send(changed, to, tag);
  }
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    PassingCommunicator::all_reduce(data, op);
    if (rank() == size() - 1) data[data.size() / 2] += 1.0F;
  }
  using PassingCommunicator::all_reduce;
  void exchange(std::span<const backend::Outgoing> out,
                std::span<const backend::Incoming> in) override {
    PassingCommunicator::exchange(out, in);
    if (!in.empty()) in.back().data.back() ^= std::byte{1};
  }
  [[nodiscard]] std::unique_ptr<backend::PreparedExchange> prepare_exchange(
      std::span<const backend::Outgoing> out, std::span<const backend::Incoming> in,
      backend::Mode mode) override;
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override;
  [[nodiscard]] std::unique_ptr<backend::Communicator> duplicate() override;
};

class WrongDuplicate : public WrongCommunicator {
 public:
  explicit WrongDuplicate(std::unique_ptr<backend::Communicator> right)
      : WrongCommunicator(*right), owned_(std::move(right)) {}

 private:
  std::unique_ptr<backend::Communicator> owned_;
};

inline std::unique_ptr<backend::Communicator> WrongCommunicator::duplicate() {
  return std::make_unique<WrongDuplicate>(PassingCommunicator::duplicate());
}

/// One that spoils the last message that a rank gets.
class SpoiledExchange : public backend::PreparedExchange {
 public:
  SpoiledExchange(std::unique_ptr<backend::PreparedExchange> right, std::span<std::byte> result)
      : right_(std::move(right)), result_(result) {}
  void start() override { right_->start(); }
  void wait() override {
    right_->wait();
    spoil();
  }
  bool test() override {
    const bool done = right_->test();
    if (done) spoil();
    return done;
  }
  bool leave() override { return right_->leave(); }

 private:
  void spoil() {
    if (!result_.empty()) result_.back() ^= std::byte{1};
  }

  std::unique_ptr<backend::PreparedExchange> right_;
  std::span<std::byte> result_;
};

inline std::unique_ptr<backend::PreparedExchange> WrongCommunicator::prepare_exchange(
    std::span<const backend::Outgoing> out, std::span<const backend::Incoming> in,
    backend::Mode mode) {
  return std::make_unique<SpoiledExchange>(PassingCommunicator::prepare_exchange(out, in, mode),
                                           in.empty() ? std::span<std::byte>() : in.back().data);
}

/// One that spoils what a rank gets.
class Spoiled : public backend::PreparedCollective {
 public:
  Spoiled(std::unique_ptr<backend::PreparedCollective> right, std::span<std::byte> result)
      : right_(std::move(right)), result_(result) {}
  void start() override { right_->start(); }
  void wait() override {
    right_->wait();
    if (!result_.empty()) result_[result_.size() / 2] ^= std::byte{1};
  }

 private:
  std::unique_ptr<backend::PreparedCollective> right_;
  std::span<std::byte> result_;
};

inline std::unique_ptr<backend::PreparedCollective> WrongCommunicator::prepare(
    const backend::CollectiveCall& call, backend::Mode mode) {
  // The root, where only that one gets something.
  const bool spoils = rank() == 0;
  return std::make_unique<Spoiled>(PassingCommunicator::prepare(call, mode),
                                   spoils ? call.to : std::span<std::byte>());
}

}  // namespace dlscale::bench
