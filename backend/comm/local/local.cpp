#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "backend/comm/collective.hpp"
#include "backend/comm/communicator.hpp"
#include "backend/comm/local/collective.hpp"
#include "backend/comm/local/group.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Copies a message that arrived for `rank` to its destination. Throws LibraryError if the lengths
/// differ.
void deliver(std::span<const std::byte> message, const Incoming& expected, Rank rank) {
  if (message.size() != expected.data.size()) {
    throw LibraryError(
        fmt::format("receive on rank {} from rank {}: {} bytes came, {} were expected.", rank,
                    expected.from, message.size(), expected.data.size()));
  }
  std::ranges::copy(message, expected.data.begin());
}

class LocalExchange : public PreparedExchange {
 public:
  LocalExchange(std::shared_ptr<Group> group, Rank rank, std::span<const Outgoing> out,
                std::span<const Incoming> in)
      : group_(std::move(group)),
        rank_(rank),
        out_(out.begin(), out.end()),
        in_(in.begin(), in.end()),
        received_(in.size()) {}

  void start() override {
    EXPECT(received_ == in_.size());
    received_ = 0;
    for (const Outgoing& message : out_) {
      group_->post(rank_, message.to, message.tag, message.data);
    }
  }

  void wait() override {
    for (; received_ < in_.size(); ++received_) {
      const Incoming& next = in_[received_];
      deliver(group_->take(next.from, rank_, next.tag), next, rank_);
    }
  }

  /// Yields, because there may be more threads than cores.
  bool test() override {
    for (; received_ < in_.size(); ++received_) {
      const Incoming& next = in_[received_];
      const auto message = group_->take_if_there(next.from, rank_, next.tag);
      if (!message) {
        std::this_thread::yield();
        return false;
      }
      deliver(*message, next, rank_);
    }
    return true;
  }

  bool leave() override {
    for (const Outgoing& message : out_) group_->leave(rank_, message.tag);
    for (const Incoming& message : in_) group_->leave(rank_, message.tag);
    return true;
  }

 private:
  std::shared_ptr<Group> group_;
  Rank rank_;
  std::vector<Outgoing> out_;
  std::vector<Incoming> in_;
  std::size_t received_;  ///< messages of in_ received since start()
};

/// Messages between the threads of a group. Data is copied when sent. Once a rank has left, waiting
/// for one of its messages with one of these tags throws LibraryError.
std::unique_ptr<PreparedExchange> prepare_local_exchange(std::shared_ptr<Group> group, Rank rank,
                                                         std::span<const Outgoing> out,
                                                         std::span<const Incoming> in) {
  return std::make_unique<LocalExchange>(std::move(group), rank, out, in);
}

/// Reduces rank `rank`'s share of the elements in rank order and writes it to all ranks, so that
/// the result depends neither on timing nor on the rank.
void reduce_share(const Group& group, Rank rank, ElementType type, Reduction op) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t count = group.published(0).size() / size_of(type);
  const std::size_t begin = count * static_cast<std::size_t>(rank) / ranks;
  const std::size_t end = count * (static_cast<std::size_t>(rank) + 1) / ranks;
  const auto share = [&](Rank from) {
    return group.published(from).subspan(begin * size_of(type), (end - begin) * size_of(type));
  };
  std::vector<std::byte> result(share(0).begin(), share(0).end());
  for (Rank from = 1; from < group.size(); ++from) combine(type, op, share(from), result);
  for (Rank to = 0; to < group.size(); ++to) std::ranges::copy(result, share(to).begin());
}

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, Rank rank)
      : group_(std::move(group)), rank_(rank) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return group_->size(); }
  [[nodiscard]] int node_size() const override { return group_->size(); }
  [[nodiscard]] int node_rank() const override { return rank_; }
  [[nodiscard]] std::string library() const override { return "local"; }

  void send(std::span<const std::byte> data, Rank to, int tag) override {
    EXPECT(to >= 0 && to < size());
    group_->post(rank_, to, tag, data);
  }

  void receive(std::span<std::byte> data, Rank from, int tag) override {
    EXPECT(from >= 0 && from < size());
    deliver(group_->take(from, rank_, tag), {data, from, tag}, rank_);
  }

  /// A send is buffered, so it does not wait for other ranks.
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    for (const Outgoing& message : out) send(message.data, message.to, message.tag);
    for (const Incoming& message : in) receive(message.data, message.from, message.tag);
  }
  [[nodiscard]] std::unique_ptr<PreparedExchange> prepare_exchange(std::span<const Outgoing> out,
                                                                   std::span<const Incoming> in,
                                                                   Mode mode) override {
    EXPECT(mode != Mode::blocking);
    return prepare_local_exchange(group_, rank_, out, in);
  }

  void all_reduce(std::span<float> data, Reduction op) override {
    reduce_all(std::as_writable_bytes(data), ElementType::f32, op);
  }
  void all_reduce(std::span<double> data, Reduction op) override {
    reduce_all(std::as_writable_bytes(data), ElementType::f64, op);
  }

  void broadcast(std::span<std::byte> data, Rank root) override {
    EXPECT(root >= 0 && root < size());
    open_exchange("broadcast", data);
    const std::span<std::byte> from = group_->published(root);
    if (rank_ != root) std::copy(from.begin(), from.end(), data.begin());
    group_->barrier(WaitPolicy::sleep);
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    EXPECT(all.size() == mine.size() * static_cast<std::size_t>(size()));
    // Published spans are writable for all_reduce; here they are only read.
    open_exchange("all_gather", {const_cast<std::byte*>(mine.data()), mine.size()});
    auto out = all.begin();
    for (Rank from = 0; from < size(); ++from) {
      const std::span<std::byte> part = group_->published(from);
      out = std::copy(part.begin(), part.end(), out);
    }
    group_->barrier(WaitPolicy::sleep);
  }

  [[nodiscard]] std::unique_ptr<PreparedCollective> prepare(const CollectiveCall& call,
                                                            Mode mode) override {
    return prepare_local(group_, rank_, call, mode);
  }

  void barrier() override { group_->barrier(WaitPolicy::spin); }
  void barrier(WaitPolicy waiting) override { group_->barrier(waiting); }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    auto duplicate = std::make_unique<LocalCommunicator>(group_->duplicate(rank_), rank_);
    duplicate->take_gpu(gpu());
    return duplicate;
  }

 private:
  void open_exchange(const char* call, std::span<std::byte> data) {
    group_->publish(rank_, data);
    group_->barrier(WaitPolicy::sleep);
    group_->expect_equal_sizes(call, rank_);
  }

  void reduce_all(std::span<std::byte> data, ElementType type, Reduction op) {
    open_exchange("all_reduce", data);
    reduce_share(*group_, rank_, type, op);
    group_->barrier(WaitPolicy::sleep);
  }

  std::shared_ptr<Group> group_;
  Rank rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> local_group(int threads) {
  EXPECT(threads >= 1);
  const auto group = std::make_shared<Group>(threads);
  std::vector<std::unique_ptr<Communicator>> ranks;
  ranks.reserve(static_cast<std::size_t>(threads));
  for (Rank rank = 0; rank < threads; ++rank) {
    ranks.push_back(std::make_unique<LocalCommunicator>(group, rank));
  }
  return ranks;
}

extern const CommBackend local{
    .name = "local",
    .doc = "one rank, in this process",
    .connect = [] { return std::move(local_group(1).front()); },
};

}  // namespace dlscale::backend
