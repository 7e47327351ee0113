#include "backend/comm/local/collective.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// The spans that the ranks publish, by rank.
using Shown = std::vector<std::span<const std::byte>>;

std::span<const std::byte> shown(const CollectiveCall& call) {
  if (call.collective == Collective::broadcast) return call.to;
  return call.from;
}

void expect_equal_sizes(Collective collective, const Shown& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].size() == all[0].size()) continue;
    throw LibraryError(
        fmt::format("{} of a local group: rank {} brings {} bytes, rank 0 brings {}.",
                    to_string(collective), rank, all[rank].size(), all[0].size()));
  }
}

std::vector<std::byte> reduced(const CollectiveCall& call, const Shown& all, std::size_t offset,
                               std::size_t bytes) {
  const std::span<const std::byte> first = all[0].subspan(offset, bytes);
  std::vector<std::byte> result(first.begin(), first.end());
  for (std::size_t from = 1; from < all.size(); ++from) {
    combine(call.type, call.op, all[from].subspan(offset, bytes), result);
  }
  return result;
}

std::vector<std::byte> gathered(const Shown& all, std::size_t offset, std::size_t bytes) {
  std::vector<std::byte> result;
  for (const std::span<const std::byte> each : all) {
    const std::span<const std::byte> part = each.subspan(offset, bytes);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

/// The result of `rank`.
std::vector<std::byte> put_together(const CollectiveCall& call, Rank rank, const Shown& all) {
  const std::size_t whole = all[0].size();
  const std::size_t block = whole / all.size();
  const std::size_t own = block * static_cast<std::size_t>(rank);
  switch (call.collective) {
    case Collective::all_reduce:
      return reduced(call, all, 0, whole);
    case Collective::reduce:
      return rank == call.root ? reduced(call, all, 0, whole) : std::vector<std::byte>{};
    case Collective::broadcast: {
      const std::span<const std::byte> from = all[static_cast<std::size_t>(call.root)];
      return {from.begin(), from.end()};
    }
    case Collective::all_gather:
      return gathered(all, 0, whole);
    case Collective::reduce_scatter:
      return reduced(call, all, own, block);
    case Collective::all_to_all:
      return gathered(all, own, block);
  }
  fail_expectation("a known Collective");
}

/// Executes the collective for all ranks. Results are first built elsewhere: in place, writing one
/// would overwrite data that others still read.
void carry_out_for_all(const std::vector<CollectiveCall>& calls) {
  Shown all;
  for (const CollectiveCall& call : calls) all.push_back(shown(call));
  expect_equal_sizes(calls.front().collective, all);
  std::vector<std::vector<std::byte>> results;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    results.push_back(put_together(calls[rank], static_cast<Rank>(rank), all));
  }
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    std::ranges::copy(results[rank], calls[rank].to.begin());
  }
}

/// Published spans are writable for all_reduce(); these are only read.
std::span<std::byte> to_publish(const CollectiveCall& call) {
  const std::span<const std::byte> bytes = shown(call);
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

class BlockingCollective : public PreparedCollective {
 public:
  BlockingCollective(std::shared_ptr<Group> group, Rank rank, const CollectiveCall& call)
      : group_(std::move(group)), rank_(rank), call_(call) {}

  /// As carry_out_for_all(), but each rank for itself.
  void start() override {
    group_->publish(rank_, to_publish(call_));
    group_->barrier(WaitPolicy::sleep);
    Shown all;
    for (Rank from = 0; from < group_->size(); ++from) all.push_back(group_->published(from));
    expect_equal_sizes(call_.collective, all);
    const std::vector<std::byte> result = put_together(call_, rank_, all);
    group_->barrier(WaitPolicy::sleep);
    std::ranges::copy(result, call_.to.begin());
  }
  void wait() override {}

 private:
  std::shared_ptr<Group> group_;
  Rank rank_;
  CollectiveCall call_;
};

class BegunCollective : public PreparedCollective {
 public:
  BegunCollective(std::shared_ptr<Group> group, Rank rank, const CollectiveCall& call)
      : group_(std::move(group)), rank_(rank), call_(call) {}
  ~BegunCollective() override {
    if (begun_) group_->leave(*begun_);
  }
  BegunCollective(const BegunCollective&) = delete;
  BegunCollective& operator=(const BegunCollective&) = delete;

  void start() override {
    EXPECT(!begun_);
    begun_ = group_->begin(rank_, call_, carry_out_for_all);
  }

  void wait() override {
    if (!begun_) return;
    group_->await(*begun_);
    begun_.reset();
  }

  /// Yields, because there may be more threads than cores.
  bool test() override {
    if (begun_ && !group_->is_done(*begun_)) {
      std::this_thread::yield();
      return false;
    }
    begun_.reset();
    return true;
  }

 private:
  std::shared_ptr<Group> group_;
  Rank rank_;
  CollectiveCall call_;
  std::shared_ptr<Begun> begun_;  ///< from start() until it is known to be done
};

}  // namespace

std::unique_ptr<PreparedCollective> prepare_local(std::shared_ptr<Group> group, Rank rank,
                                                  const CollectiveCall& call, Mode mode) {
  expect_well_made(call, rank, group->size());
  EXPECT(call.place == DataPlace::host);
  if (mode == Mode::blocking) {
    return std::make_unique<BlockingCollective>(std::move(group), rank, call);
  }
  return std::make_unique<BegunCollective>(std::move(group), rank, call);
}

}  // namespace dlscale::backend
