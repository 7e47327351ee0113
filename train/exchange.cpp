#include "train/exchange.hpp"

#include <utility>

namespace dlscale::train {

using std::chrono::steady_clock;

Transfer all_reduce_bucket(backend::Communicator& communicator, Staging& staging,
                           std::size_t bucket, std::span<float> gradients) {
  const Instant start = steady_clock::now();
  staging.with(gradients, [&](std::span<float> elements) {
    communicator.all_reduce(elements, backend::Reduction::sum);
  });
  return {.bucket = bucket,
          .bytes = gradients.size_bytes(),
          .posted = start,
          .start = start,
          .end = steady_clock::now()};
}

GradientExchange::GradientExchange(std::unique_ptr<backend::Communicator> communicator,
                                   Staging staging, backend::Waiting waiting)
    : communicator_(std::move(communicator)),
      staging_(std::move(staging)),
      waiting_(waiting),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

GradientExchange::~GradientExchange() = default;

void GradientExchange::post(std::size_t bucket, std::span<float> gradients,
                            std::unique_ptr<const backend::Mark> ready) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({bucket, gradients, std::move(ready), steady_clock::now()});
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
    const Message message = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    transfer(message);
    lock.lock();
  }
}

void GradientExchange::transfer(const Message& message) {
  try {
    message.ready->wait();
    communicator_->meet(waiting_);
    Transfer done = all_reduce_bucket(*communicator_, staging_, message.bucket, message.gradients);
    done.posted = message.posted;
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
