#include "backend/comm/local/exchange.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

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

}  // namespace

void deliver(std::span<const std::byte> message, const Incoming& expected, Rank rank) {
  if (message.size() != expected.data.size()) {
    throw LibraryError(
        fmt::format("receive on rank {} from rank {}: {} bytes came, {} were expected.", rank,
                    expected.from, message.size(), expected.data.size()));
  }
  std::ranges::copy(message, expected.data.begin());
}

std::unique_ptr<PreparedExchange> prepare_local_exchange(std::shared_ptr<Group> group, Rank rank,
                                                         std::span<const Outgoing> out,
                                                         std::span<const Incoming> in) {
  return std::make_unique<LocalExchange>(std::move(group), rank, out, in);
}

}  // namespace dlscale::backend
