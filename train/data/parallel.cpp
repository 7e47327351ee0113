#include "train/data/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/interrupt.hpp"

namespace dlscale::train {
namespace {

class Loop {
 public:
  Loop(std::int64_t n, const std::function<void(std::int64_t)>& work) : n_(n), work_(work) {}

  void run() noexcept {
    try {
      for (std::int64_t i = next_++; i < n_; i = next_++) {
        throw_if_interrupted();
        work_(i);
      }
    } catch (...) {
      next_ = n_;
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::int64_t n_;
  const std::function<void(std::int64_t)>& work_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void for_each_index(std::int64_t n, const std::function<void(std::int64_t)>& work) {
  Loop loop(n, work);
  {
    const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    std::vector<std::jthread> helpers;
    for (std::int64_t i = 1; i < std::min(n, cores); ++i) helpers.emplace_back([&] { loop.run(); });
    loop.run();
  }
  loop.rethrow();
}

}  // namespace dlscale::train
