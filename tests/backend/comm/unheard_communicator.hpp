#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// Rank 0 of some that it never hears of nor is heard by: its calls leave everything as it was.
/// `called`, which may throw, learns of each that the others would have to join, by any duplicate
/// and on any thread.
class UnheardCommunicator : public Communicator {
 public:
  UnheardCommunicator(int ranks, std::function<void()> called)
      : ranks_(ranks), called_(std::move(called)) {}

  [[nodiscard]] Rank rank() const override { return 0; }
  [[nodiscard]] int size() const override { return ranks_; }
  [[nodiscard]] int node_size() const override { return ranks_; }
  [[nodiscard]] int node_rank() const override { return 0; }
  [[nodiscard]] std::string library() const override { return "unheard"; }
  void send(std::span<const std::byte>, Rank, int) override { called_(); }
  void receive(std::span<std::byte>, Rank, int) override { called_(); }
  void all_reduce(std::span<float>, Reduction) override { called_(); }
  void all_reduce(std::span<double>, Reduction) override { called_(); }
  void broadcast(std::span<std::byte>, Rank) override { called_(); }
  void all_gather(std::span<const std::byte>, std::span<std::byte>) override { called_(); }
  void barrier() override { called_(); }
  void barrier(WaitPolicy) override { called_(); }
  [[nodiscard]] std::unique_ptr<PreparedCollective> prepare(const CollectiveCall&, Mode) override {
    return std::make_unique<Prepared>(called_);
  }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<UnheardCommunicator>(ranks_, called_);
  }

 private:
  class Prepared : public PreparedCollective {
   public:
    explicit Prepared(std::function<void()> called) : called_(std::move(called)) {}
    void start() override { called_(); }
    void wait() override {}

   private:
    std::function<void()> called_;
  };

  int ranks_;
  std::function<void()> called_;
};

}  // namespace dlscale::backend
