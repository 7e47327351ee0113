#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "backend/comm/collective.hpp"
#include "core/base/ids.hpp"

namespace dlscale::train {

using std::chrono::steady_clock;
using Instant = steady_clock::time_point;

/// One collective for one or more messages. Its times exclude the wait for the last rank before it.
struct Transfer {
  std::size_t bucket = 0;   ///< index of its (first) message
  std::size_t buckets = 1;  ///< number of consecutive messages fused into it
  backend::Collective kind = backend::Collective::all_reduce;
  std::size_t bytes = 0;  ///< size of the collective's message; for a part, the size of the part
  std::optional<Rank> root = {};  ///< set for a reduce or broadcast
  std::size_t under_way = 0;      ///< number of transfers in flight when it started
  /// When the first message was posted. For a step after the exchange of all messages, and for the
  /// training thread's own collectives: when it was begun.
  Instant posted = {};
  Instant start = {};
  Instant end = {};
};

/// Completion of messages, shared by the exchange thread and the thread that waits for them.
class Arrivals {
 public:
  /// Marks a message as expected.
  void expect(std::size_t message);
  /// Records the end of a transfer; `complete`: its messages have arrived.
  void ended(const Transfer& transfer, bool complete);
  /// Marks a message as arrived.
  void arrived(std::size_t message);
  /// Ends all waits with an exception, for ranks that are out of step cannot continue.
  void failed(std::exception_ptr failure);

  /// Returns once the message has arrived, or at once if it is not expected. Rethrows a failure, as
  /// take() and finish() do.
  void await(std::size_t message);
  /// Takes the transfers that ended since the last call.
  std::vector<Transfer> take();
  /// Waits until no message is expected, then takes the transfers.
  std::vector<Transfer> finish();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> expected_;
  std::vector<Transfer> ended_;
  std::exception_ptr failure_;
};

}  // namespace dlscale::train
