#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "train/exchange/arrivals.hpp"
#include "train/exchange/staging.hpp"

namespace dlscale::train {

/// Adds up a bucket over all ranks, in place. The way through `staging` counts as transfer.
Transfer all_reduce_bucket(backend::Communicator& communicator, Staging& staging,
                           std::size_t bucket, std::span<float> gradients);

/// Brings the gradients of an iteration to where they are needed, beside what the training thread
/// does. One thread posts and waits.
class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Hands over a message that is complete when the device has passed `ready`; never waits. The
  /// messages of an iteration come in their order, 0 first, on all ranks alike. From here until
  /// await() or finish() has returned the memory belongs to the exchange.
  virtual void post(std::size_t message, std::span<float> gradients,
                    std::shared_ptr<const backend::Mark> ready) = 0;
  /// All messages of the iteration are posted; never waits.
  virtual void close() {}
  /// Waits until a message has arrived, if it was posted. Rethrows what the exchange met, as the
  /// next two do.
  void await(std::size_t message) { arrivals_.await(message); }
  /// What has travelled since it was last asked, first to last.
  std::vector<Transfer> take() { return arrivals_.take(); }
  /// Waits for everything posted (and closed) before it takes.
  std::vector<Transfer> finish() { return arrivals_.finish(); }

 protected:
  Exchange() = default;
  Arrivals& arrivals() { return arrivals_; }

 private:
  Arrivals arrivals_;
};

/// Carries a message by collectives, one after the other; returns them.
using Carry = std::function<std::vector<Transfer>(backend::Communicator&, std::size_t message,
                                                  std::span<float> gradients)>;

/// What becomes of each message: `first` once it is ready; then, if it is given, `second` after the
/// first of all messages, the last message first.
struct Carriage {
  Carry first;
  Carry second = {};
};

/// All-reduces, by way of `staging`.
Carriage by_all_reduce(Staging staging);

/// A thread that carries messages one by one in the order in which they were posted, which must be
/// the same on all ranks. Before each, it waits for the last rank as `waiting` says.
class GradientExchange : public Exchange {
 public:
  GradientExchange(std::unique_ptr<backend::Communicator> communicator, Carriage carriage,
                   backend::Waiting waiting);
  /// By all-reduces.
  GradientExchange(std::unique_ptr<backend::Communicator> communicator, Staging staging,
                   backend::Waiting waiting);
  /// Finishes the transfer under way, if any, and drops those still waiting.
  ~GradientExchange() override;

  void post(std::size_t message, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready) override;
  void close() override;

 private:
  struct Message {
    std::size_t number = 0;
    std::span<float> gradients;
    std::shared_ptr<const backend::Mark> ready;
    Instant posted;
    enum class Trip { only, out, back } trip = Trip::only;
  };

  void run(const std::stop_token& stop);
  void transfer(const Message& message);

  std::unique_ptr<backend::Communicator> communicator_;
  Carriage carriage_;
  backend::Waiting waiting_;
  std::mutex mutex_;
  std::condition_variable_any posted_;
  std::deque<Message> queue_;
  std::vector<Message> to_come_back_;  ///< of the iteration that is not closed yet
  std::jthread thread_;                ///< last: stops before what it uses goes
};

}  // namespace dlscale::train
