#include "train/exchange/exchange.hpp"

#include <ranges>
#include <utility>

namespace dlscale::train {

Transfer all_reduce_bucket(backend::Communicator& communicator, Staging& staging,
                           std::size_t bucket, std::span<float> gradients) {
  const Instant start = steady_clock::now();
  staging.with(gradients, [&](std::span<float> elements) {
    communicator.all_reduce(elements, backend::Reduction::sum);
  });
  return {.bucket = bucket,
          .buckets = 1,
          .kind = backend::Collective::all_reduce,
          .bytes = gradients.size_bytes(),
          .start = start,
          .end = steady_clock::now()};
}

/// Shares the staging, as a function must be copyable and a staging is not.
Carriage by_all_reduce(Staging staging) {
  auto shared = std::make_shared<Staging>(std::move(staging));
  return {.first = [shared](backend::Communicator& communicator, std::size_t message,
                            std::span<float> gradients) {
    return std::vector{all_reduce_bucket(communicator, *shared, message, gradients)};
  }};
}

GradientExchange::GradientExchange(std::unique_ptr<backend::Communicator> communicator,
                                   Carriage carriage, backend::Waiting waiting)
    : communicator_(std::move(communicator)),
      carriage_(std::move(carriage)),
      waiting_(waiting),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

GradientExchange::GradientExchange(std::unique_ptr<backend::Communicator> communicator,
                                   Staging staging, backend::Waiting waiting)
    : GradientExchange(std::move(communicator), by_all_reduce(std::move(staging)), waiting) {}

GradientExchange::~GradientExchange() = default;

void GradientExchange::post(std::size_t message, std::span<float> gradients,
                            std::shared_ptr<const backend::Mark> ready) {
  arrivals().expect(message);
  const Instant now = steady_clock::now();
  const bool returns = static_cast<bool>(carriage_.second);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({message, gradients, std::move(ready), now,
                      returns ? Message::Trip::out : Message::Trip::only});
    if (returns) to_come_back_.push_back({message, gradients, nullptr, now, Message::Trip::back});
  }
  posted_.notify_one();
}

void GradientExchange::close() {
  const Instant now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    for (Message& message : std::views::reverse(to_come_back_)) {
      message.posted = now;
      queue_.push_back(std::move(message));
    }
    to_come_back_.clear();
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
  communicator_->meet(waiting_);
  const bool back = message.trip == Message::Trip::back;
  const Carry& carry = back ? carriage_.second : carriage_.first;
  for (Transfer& done : carry(*communicator_, message.number, message.gradients)) {
    done.posted = message.posted;
    arrivals().ended(done, false);
  }
  if (message.trip != Message::Trip::out) arrivals().arrived(message.number);
}

}  // namespace dlscale::train
