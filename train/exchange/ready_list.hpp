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

/// The gradients of an iteration in the order of posting, and how many the device has completed.
/// One thread posts, another queries.
class ReadyList {
 public:
  /// runs_beside: the device is asynchronous, so a thread waits for its marks. is_host: a posted
  /// gradient is ready.
  enum class Device { is_host, runs_beside };
  explicit ReadyList(Device device);

  /// Posts gradient `number`: 0 for the first after clear(), then 1, ….
  void post(std::size_t number, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready);
  /// Number of leading gradients that are ready. Rethrows the exception of a mark, as wait_ready()
  /// does.
  [[nodiscard]] std::size_t ready();
  /// Waits until `count` are ready; returns false if `stop` comes first.
  [[nodiscard]] bool wait_ready(std::size_t count, const std::stop_token& stop);
  /// Memory and posting time of a ready gradient.
  struct Posted {
    std::span<float> gradients;
    Instant when;
  };
  [[nodiscard]] Posted posted(std::size_t number);
  /// Clears the list before the next iteration. All gradients must be ready.
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
  std::jthread watcher_;  ///< last: it stops before the members it uses are destroyed
};

}  // namespace dlscale::train
