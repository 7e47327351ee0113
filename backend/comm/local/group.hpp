#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// What the threads of a local group share: a barrier, one published span each, and mail boxes.
class Group {
 public:
  explicit Group(int size) : published_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] int size() const { return static_cast<int>(published_.size()); }

  /// Returns once all threads have called it.
  void meet(Waiting waiting);

  /// Shows `data` to the other threads; valid between two meetings.
  void publish(Rank rank, std::span<std::byte> data);
  [[nodiscard]] std::span<std::byte> published(Rank rank) const;
  /// Throws LibraryError, on all ranks alike, if the published spans differ in size.
  void expect_equal_sizes(const char* call, Rank rank) const;

  void post(Rank from, Rank to, int tag, std::span<const std::byte> data);
  /// Waits for a message; messages of one sender and tag arrive in order.
  std::vector<std::byte> take(Rank from, Rank to, int tag);

  /// A group of the same size, made by rank 0 and handed to all. Collective.
  std::shared_ptr<Group> duplicate(Rank rank);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::atomic<unsigned> generation_ = 0;
  std::vector<std::span<std::byte>> published_;
  std::map<std::tuple<Rank, Rank, int>, std::deque<std::vector<std::byte>>> mail_;
  std::shared_ptr<Group> child_;
};

}  // namespace dlscale::backend
