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
  std::vector<CollectiveCall> calls;  ///< by rank, for the ranks that have begun it
  int missing = 0;                    ///< number of ranks that have not begun it
  bool done = false;
  std::exception_ptr failure;
};

/// State shared by the threads of a local group: a barrier, one published span per rank, mail
/// boxes, and the collectives under way.
class Group {
 public:
  explicit Group(int size)
      : published_(static_cast<std::size_t>(size)), begun_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] int size() const { return static_cast<int>(published_.size()); }

  /// Returns once all threads have called it.
  void barrier(WaitPolicy waiting);

  /// Makes `data` visible to the other threads; valid between two barriers.
  void publish(Rank rank, std::span<std::byte> data);
  [[nodiscard]] std::span<std::byte> published(Rank rank) const;
  /// Throws LibraryError, on all ranks alike, if the published spans differ in size.
  void expect_equal_sizes(const char* call, Rank rank) const;

  void post(Rank from, Rank to, int tag, std::span<const std::byte> data);
  /// Waits for a message; messages of one sender and tag arrive in order. Throws LibraryError if
  /// there is none and the sender has left.
  std::vector<std::byte> take(Rank from, Rank to, int tag);
  /// As take(), but returns nothing if none has arrived yet.
  std::optional<std::vector<std::byte>> take_if_there(Rank from, Rank to, int tag);
  /// Declares that rank `from` sends nothing more with that tag.
  void leave(Rank from, int tag);

  using CarryOut = std::function<void(const std::vector<CollectiveCall>&)>;
  /// Begins the thread's next nonblocking collective. The last thread to begin it executes it for
  /// all, by `carry_out`.
  std::shared_ptr<Begun> begin(Rank rank, const CollectiveCall& call, const CarryOut& carry_out);
  /// Rethrows the exception of carry_out, on all ranks alike, as await() does.
  [[nodiscard]] bool is_done(const Begun& begun);
  void await(const Begun& begun);
  /// Withdraws a thread that will not wait for the collective, and its memory: if it is not done,
  /// it fails.
  void leave(Begun& begun);

  /// A group of the same size, which rank 0 creates and shares with all. Collective.
  std::shared_ptr<Group> duplicate(Rank rank);

 private:
  using Box = std::deque<std::vector<std::byte>>;

  /// Whether there is a message from that rank with that tag. Throws as take() does. The caller
  /// holds the mutex.
  [[nodiscard]] bool is_there(const Box& box, Rank from, int tag) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::atomic<unsigned> generation_ = 0;
  std::vector<std::span<std::byte>> published_;
  std::map<std::tuple<Rank, Rank, int>, Box> mail_;
  std::set<std::pair<Rank, int>> left_;      ///< ranks that send nothing more, with the tag
  std::vector<std::size_t> begun_;           ///< number of collectives begun, by rank
  std::deque<std::shared_ptr<Begun>> open_;  ///< begun by some ranks, not by all
  std::size_t first_open_ = 0;               ///< number of the first open one
  std::shared_ptr<Group> child_;
};

}  // namespace dlscale::backend
