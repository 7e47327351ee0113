#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"
#include "train/exchange/exchange.hpp"
#include "train/exchange/ready_list.hpp"
#include "train/exchange/staging.hpp"

namespace dlscale::train {

/// When a CycleExchange wakes and what it packs.
struct Cycle {
  Seconds period;        ///< from one wake-up to the next, > 0
  Bytes threshold;       ///< the most that is packed
  std::size_t messages;  ///< of an iteration
  ReadyList::Device device;
};

/// Tensor fusion as Horovod does it. A thread wakes once a period; where work outlasts it, when
/// that is done. Between iterations its clock goes on, so that it is anywhere in its period when a
/// gradient comes. At each wake-up the ranks agree on what is ready on all of them; that is packed
/// in order up to the threshold, and each pack all-reduced, one after the other. Gradients become
/// ready in one order on all ranks, so that one number stands for Horovod's bit set; and they lie
/// in memory in that order, so that a pack is one span that nobody has to copy together.
class CycleExchange : public Exchange {
 public:
  CycleExchange(std::unique_ptr<backend::Communicator> communicator, Staging staging,
                backend::Waiting waiting, const Cycle& cycle);
  /// Finishes what a wake-up has begun, if anything, and drops the rest.
  ~CycleExchange() override;

  void post(std::size_t message, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready) override;

 private:
  void run(const std::stop_token& stop);
  bool exchange_iteration(const std::stop_token& stop);
  bool sleep_until_wake(const std::stop_token& stop);
  std::size_t agree_on_ready();
  void send(std::size_t first, std::size_t last);

  std::unique_ptr<backend::Communicator> communicator_;
  Staging staging_;
  backend::Waiting waiting_;
  Bytes threshold_;
  std::size_t messages_;
  Instant::duration period_;
  Instant wake_;
  ReadyList ready_;
  std::mutex sleeping_;
  std::condition_variable_any sleeper_;
  std::jthread thread_;  ///< last: stops before what it uses goes
};

}  // namespace dlscale::train
