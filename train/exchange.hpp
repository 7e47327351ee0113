#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "train/staging.hpp"

namespace dlscale::train {

using Instant = std::chrono::steady_clock::time_point;

/// When one bucket travelled: its collective, without the wait for the last rank before it.
struct Transfer {
  std::size_t bucket = 0;
  backend::Collective kind = backend::Collective::all_reduce;
  std::size_t bytes = 0;  ///< of the message, counted as core/bandwidths.hpp does
  Instant posted = {};    ///< when it was handed over to be sent
  Instant start = {};
  Instant end = {};
};

/// Adds up a bucket over all ranks, in place. The way through `staging` counts as transfer.
Transfer all_reduce_bucket(backend::Communicator& communicator, Staging& staging,
                           std::size_t bucket, std::span<float> gradients);

/// A thread that adds up gradients over all ranks while the caller goes on. Buckets travel one by
/// one in the order in which they were posted, which must be the same on all ranks. Before each,
/// the thread waits for the last rank as `waiting` says.
class GradientExchange {
 public:
  GradientExchange(std::unique_ptr<backend::Communicator> communicator, Staging staging,
                   backend::Waiting waiting);
  /// Finishes the transfer under way, if any, and drops those still waiting.
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Queues a bucket that is complete when the device has passed `ready`; never waits. From here to
  /// the end of finish() the memory belongs to the exchange.
  void post(std::size_t bucket, std::span<float> gradients,
            std::unique_ptr<const backend::Mark> ready);
  /// Waits for everything posted since the last call and says when it travelled. Rethrows what the
  /// thread met.
  std::vector<Transfer> finish();

 private:
  struct Message {
    std::size_t bucket;
    std::span<float> gradients;
    std::unique_ptr<const backend::Mark> ready;
    Instant posted;
  };

  void run(const std::stop_token& stop);
  void transfer(const Message& message);

  std::unique_ptr<backend::Communicator> communicator_;
  Staging staging_;
  backend::Waiting waiting_;
  std::mutex mutex_;
  std::condition_variable_any posted_;
  std::condition_variable done_;
  std::deque<Message> queue_;
  std::size_t unfinished_ = 0;
  std::vector<Transfer> finished_;
  std::exception_ptr failure_;
  std::jthread thread_;  ///< last: stops before what it uses goes
};

}  // namespace dlscale::train
