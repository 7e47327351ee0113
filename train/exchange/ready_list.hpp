#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "backend/compute/compute.hpp"
#include "train/exchange/arrivals.hpp"

namespace dlscale::train {

/// The gradients of an iteration in the order in which they are posted, and how many of them the
/// device has completed. One thread posts, another asks.
class ReadyList {
 public:
  /// Where a device runs beside the host, a thread waits for its marks; else what is posted is
  /// ready.
  enum class Device { is_host, runs_beside };
  explicit ReadyList(Device device);

  /// `number` is 0 for the first after clear(), then 1, ….
  void post(std::size_t number, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready);
  /// How many, from the first on, are ready. Rethrows what a mark threw, as wait_ready() does.
  [[nodiscard]] std::size_t ready();
  /// Waits until `count` are ready; false if `stop` comes first.
  [[nodiscard]] bool wait_ready(std::size_t count, const std::stop_token& stop);
  /// Of one that is ready: where it lies, and when it was posted.
  struct Posted {
    std::span<float> gradients;
    Instant when;
  };
  [[nodiscard]] Posted posted(std::size_t number);
  /// Before the first of the next iteration is posted; all must be ready.
  void clear();

 private:
  void watch(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Posted> posted_;
  std::size_t ready_ = 0;
  std::deque<std::shared_ptr<const backend::Mark>> marks_;
  std::exception_ptr failure_;
  Device device_;
  std::jthread watcher_;  ///< last: stops before what it uses goes
};

}  // namespace dlscale::train
