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

using Instant = std::chrono::steady_clock::time_point;

/// When one or more messages travelled together: their collective, without the wait for the last
/// rank before it.
struct Transfer {
  std::size_t bucket = 0;   ///< number of the (first) message
  std::size_t buckets = 1;  ///< consecutive messages that travelled as one
  backend::Collective kind = backend::Collective::all_reduce;
  std::size_t bytes = 0;  ///< of the message that the collective had; of a part those of the part
  std::optional<Rank> root = {};  ///< of a reduce or broadcast
  std::size_t under_way = 0;      ///< transfers that had started and were not done yet
  /// When the first message was posted; of what follows the exchange of all messages, and of what
  /// the training thread does, when it was begun.
  Instant posted = {};
  Instant start = {};
  Instant end = {};
};

/// What a thread that exchanges gradients tells the one that waits for them.
class Arrivals {
 public:
  /// A message is on its way.
  void expect(std::size_t message);
  /// A transfer has ended; `complete`: what it carried has arrived.
  void ended(const Transfer& transfer, bool complete);
  /// A message has arrived, by whatever transfers.
  void arrived(std::size_t message);
  /// Nothing will arrive any more: ranks that lost step with each other cannot go on.
  void failed(std::exception_ptr failure);

  /// Returns once the message has arrived, or at once if none is expected. Rethrows a failure, as
  /// the others do.
  void await(std::size_t message);
  /// The transfers that ended since they were last taken.
  std::vector<Transfer> take();
  /// The same when nothing is expected any more.
  std::vector<Transfer> finish();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> expected_;
  std::vector<Transfer> ended_;
  std::exception_ptr failure_;
};

}  // namespace dlscale::train
