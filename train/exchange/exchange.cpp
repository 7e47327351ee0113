#include "train/exchange/exchange.hpp"

#include <ranges>
#include <utility>

namespace dlscale::train {

GradientExchange::GradientExchange(std::unique_ptr<backend::Communicator> communicator,
                                   std::unique_ptr<GradientReducer> reducer,
                                   backend::WaitPolicy waiting)
    : communicator_(std::move(communicator)),
      reducer_(std::move(reducer)),
      waiting_(waiting),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

GradientExchange::~GradientExchange() = default;

void GradientExchange::post(std::size_t message, std::span<float> gradients,
                            std::shared_ptr<const backend::Mark> ready) {
  arrivals().expect(message);
  const Instant now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({message, gradients, std::move(ready), now, Message::Phase::reduce});
    if (reducer_->has_second_phase()) {
      unfinished_.push_back({message, gradients, nullptr, now, Message::Phase::finish});
    }
  }
  posted_.notify_one();
}

void GradientExchange::close() {
  const Instant now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    for (Message& message : std::views::reverse(unfinished_)) {
      message.posted = now;
      queue_.push_back(std::move(message));
    }
    unfinished_.clear();
  }
  posted_.notify_one();
}

/// Ends at the first failure, as ranks that are out of step cannot continue.
void GradientExchange::run(const std::stop_token& stop) {
  try {
    std::unique_lock lock(mutex_);
    while (posted_.wait(lock, stop, [this] { return !queue_.empty(); })) {
      if (stop.stop_requested()) return;
      const Message message = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      transfer(message);
      lock.lock();
    }
  } catch (...) {
    arrivals().failed(std::current_exception());
  }
}

void GradientExchange::transfer(const Message& message) {
  if (message.ready) message.ready->wait();
  communicator_->barrier(waiting_);
  const bool reduces = message.phase == Message::Phase::reduce;
  const std::vector<Transfer> transfers =
      reduces ? reducer_->reduce(*communicator_, message.number, message.gradients)
              : reducer_->finish(*communicator_, message.number, message.gradients);
  for (Transfer done : transfers) {
    done.posted = message.posted;
    arrivals().ended(done, false);
  }
  if (!reduces || !reducer_->has_second_phase()) arrivals().arrived(message.number);
}

}  // namespace dlscale::train
