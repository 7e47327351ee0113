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

namespace dlscale::train {

/// Period and fusion threshold of a CycleExchange.
struct Cycle {
  Seconds period;        ///< time from one wake-up to the next, > 0
  Bytes threshold;       ///< largest fused message
  std::size_t messages;  ///< messages per iteration
  ReadyList::Device device;
};

/// Tensor fusion as in Horovod. A thread wakes once a period, or when its work is done if that
/// takes longer. Its clock continues between iterations, so a gradient may come at any point of the
/// period. At each wake-up the ranks agree on the gradients that are ready on all of them. The
/// thread packs these in order up to the threshold and all-reduces the packs one after the other.
/// Gradients become ready in the same order on all ranks, so one number replaces Horovod's bit set.
/// They are contiguous in memory in that order, so a pack is one span and needs no copy.
class CycleExchange : public Exchange {
 public:
  CycleExchange(std::unique_ptr<backend::Communicator> communicator, Staging staging,
                backend::WaitPolicy waiting, const Cycle& cycle);
  /// Finishes the current cycle, if any, and drops the rest.
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
  AllReduceReducer reducer_;
  backend::WaitPolicy waiting_;
  Bytes threshold_;
  std::size_t messages_;
  Instant::duration period_;
  Instant wake_;
  ReadyList ready_;
  std::mutex sleeping_;
  std::condition_variable_any sleeper_;
  std::jthread thread_;  ///< last: it stops before the members it uses are destroyed
};

}  // namespace dlscale::train
