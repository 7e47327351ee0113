#include "train/exchange.hpp"

#include <utility>

namespace dlscale::train {

using std::chrono::steady_clock;

Transfer all_reduce_bucket(backend::Communicator& communicator, std::size_t bucket,
                           std::span<float> gradients) {
  const Instant start = steady_clock::now();
  communicator.all_reduce(gradients, backend::Reduction::sum);
  return {bucket, start, steady_clock::now()};
}

GradientExchange::GradientExchange(std::unique_ptr<backend::Communicator> communicator,
                                   backend::Waiting waiting)
    : communicator_(std::move(communicator)),
      waiting_(waiting),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

GradientExchange::~GradientExchange() = default;

void GradientExchange::post(std::size_t bucket, std::span<float> gradients) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({bucket, gradients});
    ++unfinished_;
  }
  posted_.notify_one();
}

std::vector<Transfer> GradientExchange::finish() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return unfinished_ == 0 || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(finished_, {});
}

/// Ends at the first failure: ranks that lost step with each other cannot go on.
void GradientExchange::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (posted_.wait(lock, stop, [this] { return !queue_.empty(); }) && !failure_) {
    if (stop.stop_requested()) return;
    const Message message = queue_.front();
    queue_.pop_front();
    lock.unlock();
    transfer(message);
    lock.lock();
  }
}

void GradientExchange::transfer(const Message& message) {
  try {
    communicator_->meet(waiting_);
    const Transfer done = all_reduce_bucket(*communicator_, message.bucket, message.gradients);
    const std::lock_guard lock(mutex_);
    finished_.push_back(done);
    --unfinished_;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  done_.notify_one();
}

}  // namespace dlscale::train
