#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// A collective that threads begin without waiting for each other.
struct Begun {
  std::vector<CollectiveCall> calls;  ///< by rank, of those that have begun it
  int missing = 0;                    ///< ranks that have not
  bool done = false;
  std::exception_ptr failure;
};

/// What the threads of a local group share: a barrier, one published span each, mail boxes, and the
/// collectives that some have begun.
class Group {
 public:
  explicit Group(int size)
      : published_(static_cast<std::size_t>(size)), begun_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] int size() const { return static_cast<int>(published_.size()); }

  /// Returns once all threads have called it.
  void meet(Waiting waiting);

  /// Shows `data` to the other threads; valid between two meetings.
  void publish(Rank rank, std::span<std::byte> data);
  [[nodiscard]] std::span<std::byte> published(Rank rank) const;
  /// Throws LibraryError, on all ranks alike, if the published spans differ in size.
  void expect_equal_sizes(const char* call, Rank rank) const;

  void post(Rank from, Rank to, int tag, std::span<const std::byte> data);
  /// Waits for a message; messages of one sender and tag arrive in order. Throws LibraryError if
  /// none is there and the sender will send none.
  std::vector<std::byte> take(Rank from, Rank to, int tag);
  /// The same, but nothing if none is there yet.
  std::optional<std::vector<std::byte>> take_if_there(Rank from, Rank to, int tag);
  /// A thread will send nothing more with that tag, whoever waits for it.
  void leave(Rank from, int tag);

  using CarryOut = std::function<void(const std::vector<CollectiveCall>&)>;
  /// A thread's next collective of those that it does not wait for. The last to begin it does it
  /// for all, by `carry_out`.
  std::shared_ptr<Begun> begin(Rank rank, const CollectiveCall& call, const CarryOut& carry_out);
  /// Rethrows what carry_out threw, on all ranks alike, as await() does.
  [[nodiscard]] bool is_done(const Begun& begun);
  void await(const Begun& begun);
  /// A thread will not wait for it, and takes its memory with it: if it is not done, it fails.
  void leave(Begun& begun);

  /// A group of the same size, made by rank 0 and handed to all. Collective.
  std::shared_ptr<Group> duplicate(Rank rank);

 private:
  using Box = std::deque<std::vector<std::byte>>;

  /// Whether there is a message from that rank, of that tag. Throws as take() does. The mutex is
  /// locked.
  [[nodiscard]] bool is_there(const Box& box, Rank from, int tag) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::atomic<unsigned> generation_ = 0;
  std::vector<std::span<std::byte>> published_;
  std::map<std::tuple<Rank, Rank, int>, Box> mail_;
  std::set<std::pair<Rank, int>> left_;      ///< who sends nothing more, and with which tag
  std::vector<std::size_t> begun_;           ///< by rank: how many
  std::deque<std::shared_ptr<Begun>> open_;  ///< begun by some, not by all
  std::size_t first_open_ = 0;               ///< number of the first of them
  std::shared_ptr<Group> child_;
};

}  // namespace dlscale::backend
