#include "train/exchange/arrivals.hpp"

#include <utility>

namespace dlscale::train {

void Arrivals::expect(std::size_t message) {
  const std::lock_guard lock(mutex_);
  expected_.insert(message);
}

void Arrivals::ended(const Transfer& transfer, bool complete) {
  {
    const std::lock_guard lock(mutex_);
    ended_.push_back(transfer);
    for (std::size_t i = 0; complete && i < transfer.buckets; ++i) {
      expected_.erase(transfer.bucket + i);
    }
  }
  changed_.notify_all();
}

void Arrivals::arrived(std::size_t message) {
  {
    const std::lock_guard lock(mutex_);
    expected_.erase(message);
  }
  changed_.notify_all();
}

void Arrivals::failed(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
  }
  changed_.notify_all();
}

void Arrivals::await(std::size_t message) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !expected_.contains(message) || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<Transfer> Arrivals::take() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(ended_, {});
}

std::vector<Transfer> Arrivals::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return expected_.empty() || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(ended_, {});
}

}  // namespace dlscale::train
