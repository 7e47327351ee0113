#include "train/exchange/ready_list.hpp"

#include <chrono>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::train {

ReadyList::ReadyList(Device device) : device_(device) {
  if (device == Device::is_host) return;
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

void ReadyList::post(std::size_t number, std::span<float> gradients,
                     std::shared_ptr<const backend::Mark> ready) {
  const Instant now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    EXPECT(number == posted_.size());
    posted_.push_back({gradients, now});
    if (device_ == Device::is_host) {
      ++ready_;
    } else {
      marks_.push_back(std::move(ready));
    }
  }
  changed_.notify_all();
}

std::size_t ReadyList::ready() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return ready_;
}

bool ReadyList::wait_ready(std::size_t count, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool came =
      changed_.wait(lock, stop, [&] { return ready_ >= count || failure_ != nullptr; });
  if (failure_) std::rethrow_exception(failure_);
  return came && !stop.stop_requested();
}

ReadyList::Posted ReadyList::posted(std::size_t number) {
  const std::lock_guard lock(mutex_);
  EXPECT(number < ready_);
  return posted_[number];
}

void ReadyList::clear() {
  const std::lock_guard lock(mutex_);
  EXPECT(ready_ == posted_.size());
  posted_.clear();
  ready_ = 0;
}

void ReadyList::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !marks_.empty(); })) {
    if (stop.stop_requested()) return;
    const std::shared_ptr<const backend::Mark> mark = std::move(marks_.front());
    marks_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      mark->wait();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
    } else {
      ++ready_;
    }
    changed_.notify_all();
    if (failure_) return;
  }
}

}  // namespace dlscale::train
