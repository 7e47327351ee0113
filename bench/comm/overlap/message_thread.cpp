#include "bench/comm/overlap/message_thread.hpp"

#include <utility>

#include "core/base/error.hpp"

namespace dlscale::bench {

MessageThread::MessageThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

MessageThread::~MessageThread() = default;

void MessageThread::begin(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    EXPECT(work && !work_);
    work_ = std::move(work);
  }
  given_.notify_one();
}

void MessageThread::finish() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return !work_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void MessageThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [this] { return static_cast<bool>(work_); })) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_();  // not changed by others until it is done
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    work_ = nullptr;
    done_.notify_one();
  }
}

}  // namespace dlscale::bench
