#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"

namespace dlscale::train {

/// One rank of two that never talks to the other; all-reduce number `fails_at` (from 0), counted
/// over all duplicates, fails as a library would, and every collective that is prepared.
class FailingCommunicator : public backend::Communicator {
 public:
  explicit FailingCommunicator(int fails_at)
      : left_(std::make_shared<std::atomic<int>>(fails_at)) {}

  [[nodiscard]] Rank rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] int node_size() const override { return 2; }
  [[nodiscard]] int node_rank() const override { return 0; }
  [[nodiscard]] std::string library() const override { return "failing"; }
  void send(std::span<const std::byte>, Rank, int) override {}
  void receive(std::span<std::byte>, Rank, int) override {}
  void all_reduce(std::span<float>, backend::Reduction) override {
    if ((*left_)-- == 0) throw LibraryError("all_reduce failed on rank 0 with code 5.");
  }
  void all_reduce(std::span<double>, backend::Reduction) override {}
  void broadcast(std::span<std::byte>, Rank) override {}
  void all_gather(std::span<const std::byte>, std::span<std::byte>) override {}
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(const backend::CollectiveCall&,
                                                                     backend::Mode) override {
    throw LibraryError("a collective failed on rank 0 with code 5.");
  }
  void barrier() override {}
  void barrier(backend::WaitPolicy) override {}
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<FailingCommunicator>(*this);
  }

 private:
  std::shared_ptr<std::atomic<int>> left_;
};

}  // namespace dlscale::train
