#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// Passes everything on to another communicator, which outlives it: what a test watches or spoils
/// is overridden. A duplicate is one of the other, not watched.
class PassingCommunicator : public backend::Communicator {
 public:
  explicit PassingCommunicator(backend::Communicator& to) : to_(&to) {}
  [[nodiscard]] Rank rank() const override { return to_->rank(); }
  [[nodiscard]] int size() const override { return to_->size(); }
  [[nodiscard]] int node_size() const override { return to_->node_size(); }
  [[nodiscard]] int node_rank() const override { return to_->node_rank(); }
  [[nodiscard]] std::string library() const override { return to_->library(); }
  [[nodiscard]] std::string host_library() const override { return to_->host_library(); }
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    to_->send(data, to, tag);
  }
  void receive(std::span<std::byte> data, Rank from, int tag) override {
    to_->receive(data, from, tag);
  }
  void exchange(std::span<const backend::Outgoing> out,
                std::span<const backend::Incoming> in) override {
    to_->exchange(out, in);
  }
  [[nodiscard]] std::unique_ptr<backend::PreparedExchange> prepare_exchange(
      std::span<const backend::Outgoing> out, std::span<const backend::Incoming> in,
      backend::Mode mode) override {
    return to_->prepare_exchange(out, in, mode);
  }
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    to_->all_reduce(data, op);
  }
  void all_reduce(std::span<double> data, backend::Reduction op) override {
    to_->all_reduce(data, op);
  }
  void broadcast(std::span<std::byte> data, Rank root) override { to_->broadcast(data, root); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    to_->all_gather(mine, all);
  }
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override {
    return to_->prepare(call, mode);
  }
  void barrier() override { to_->barrier(); }
  void barrier(backend::WaitPolicy waiting) override { to_->barrier(waiting); }
  [[nodiscard]] std::unique_ptr<backend::Communicator> duplicate() override {
    return to_->duplicate();
  }

 private:
  backend::Communicator* to_;
};

}  // namespace dlscale::bench
