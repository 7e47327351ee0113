#include "backend/comm/local/collective.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace dlscale::backend {
namespace {

class LocalCollective : public PreparedCollective {
 public:
  LocalCollective(std::shared_ptr<Group> group, Rank rank, const CollectiveCall& call, Mode mode)
      : group_(std::move(group)),
        rank_(rank),
        call_(call),
        name_(to_string(call.collective)),
        mode_(mode) {}

  void start() override {
    if (mode_ == Mode::blocking) carry_out();
  }

  void wait() override {
    if (mode_ != Mode::blocking) carry_out();
  }

 private:
  /// What this rank gets is put together elsewhere first: in place, others still read where it
  /// goes.
  void carry_out() {
    group_->publish(rank_, shown());
    group_->meet(Waiting::sleep);
    group_->expect_equal_sizes(name_.c_str(), rank_);
    const std::vector<std::byte> result = put_together();
    group_->meet(Waiting::sleep);
    std::ranges::copy(result, call_.to.begin());
  }

  /// Published spans are writable for all_reduce(); these are only read.
  [[nodiscard]] std::span<std::byte> shown() const {
    if (call_.collective == Collective::broadcast) return call_.to;
    return {const_cast<std::byte*>(call_.from.data()), call_.from.size()};
  }

  [[nodiscard]] std::vector<std::byte> put_together() const {
    const std::size_t whole = shown().size();
    const std::size_t block = whole / static_cast<std::size_t>(group_->size());
    const std::size_t own = block * static_cast<std::size_t>(rank_);
    switch (call_.collective) {
      case Collective::all_reduce:
        return reduced(0, whole);
      case Collective::reduce:
        return rank_ == call_.root ? reduced(0, whole) : std::vector<std::byte>{};
      case Collective::broadcast:
        return piece(call_.root, 0, whole);
      case Collective::all_gather:
        return gathered(0, whole);
      case Collective::reduce_scatter:
        return reduced(own, block);
      case Collective::all_to_all:
        return gathered(own, block);
    }
    fail_expectation("a known Collective");
  }

  [[nodiscard]] std::vector<std::byte> piece(Rank from, std::size_t offset,
                                             std::size_t bytes) const {
    const std::span<std::byte> part = group_->published(from).subspan(offset, bytes);
    return {part.begin(), part.end()};
  }

  [[nodiscard]] std::vector<std::byte> reduced(std::size_t offset, std::size_t bytes) const {
    std::vector<std::byte> result = piece(0, offset, bytes);
    for (Rank from = 1; from < group_->size(); ++from) {
      combine(call_.type, call_.op, group_->published(from).subspan(offset, bytes), result);
    }
    return result;
  }

  [[nodiscard]] std::vector<std::byte> gathered(std::size_t offset, std::size_t bytes) const {
    std::vector<std::byte> result;
    for (Rank from = 0; from < group_->size(); ++from) {
      const std::span<std::byte> part = group_->published(from).subspan(offset, bytes);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

  std::shared_ptr<Group> group_;
  Rank rank_;
  CollectiveCall call_;
  std::string name_;
  Mode mode_;
};

}  // namespace

std::unique_ptr<PreparedCollective> prepare_local(std::shared_ptr<Group> group, Rank rank,
                                                  const CollectiveCall& call, Mode mode) {
  expect_well_made(call, rank, group->size());
  return std::make_unique<LocalCollective>(std::move(group), rank, call, mode);
}

}  // namespace dlscale::backend
