#include "train/priority_exchange.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/merge.hpp"

namespace dlscale::train {

using std::chrono::steady_clock;

namespace {

/// What rank 0 says instead of the number of a message.
constexpr double wait_for_oldest = -1;

std::vector<std::vector<std::size_t>> cut(const Partition& partition) {
  std::vector<std::vector<std::size_t>> parts;
  parts.reserve(partition.messages.size());
  for (const std::size_t elements : partition.messages) {
    parts.push_back(part_sizes(elements, partition.most));
  }
  return parts;
}

}  // namespace

PriorityExchange::PriorityExchange(std::unique_ptr<backend::Communicator> communicator,
                                   HostMirror gradients, backend::Waiting waiting,
                                   Partition partition)
    : communicator_(std::move(communicator)),
      mirror_(std::move(gradients)),
      waiting_(waiting),
      credit_(partition.credit),
      parts_(cut(partition)),
      ready_(partition.device) {
  EXPECT(credit_ >= 1);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

PriorityExchange::~PriorityExchange() = default;

void PriorityExchange::post(std::size_t message, std::span<float> gradients,
                            std::shared_ptr<const backend::Mark> ready) {
  EXPECT(message < parts_.size());
  arrivals().expect(message);
  ready_.post(message, gradients, std::move(ready));
}

void PriorityExchange::run(const std::stop_token& stop) {
  try {
    while (ready_.wait_ready(1, stop)) {
      if (!exchange_iteration(stop)) return;
    }
  } catch (...) {
    arrivals().failed(std::current_exception());
  }
}

/// False if stopped while there was nothing to send and nothing under way.
bool PriorityExchange::exchange_iteration(const std::stop_token& stop) {
  started_.assign(parts_.size(), 0);
  arrived_.assign(parts_.size(), 0);
  left_ = std::accumulate(parts_.begin(), parts_.end(), std::size_t{0},
                          [](std::size_t sum, const auto& parts) { return sum + parts.size(); });
  while (left_ > 0) {
    double decision = wait_for_oldest;
    if (communicator_->rank() == 0) {
      const std::optional<double> made = decide(stop);
      if (!made) return false;
      decision = *made;
    }
    communicator_->meet(waiting_);
    communicator_->broadcast(std::as_writable_bytes(std::span(&decision, 1)), 0);
    if (decision == wait_for_oldest) {
      finish_oldest();
    } else {
      const auto message = static_cast<std::size_t>(decision);
      if (!ready_.wait_ready(message + 1, stop)) return false;
      start_part(message);
    }
  }
  return true;
}

/// The last message that is ready and has parts that have not started.
std::optional<std::size_t> PriorityExchange::most_urgent() {
  for (std::size_t message = ready_.ready(); message-- > 0;) {
    if (started_[message] < parts_[message].size()) return message;
  }
  return std::nullopt;
}

/// On rank 0; nothing if stopped.
std::optional<double> PriorityExchange::decide(const std::stop_token& stop) {
  while (under_way_.size() < credit_) {
    const std::size_t known = ready_.ready();
    if (const auto message = most_urgent()) return static_cast<double>(*message);
    if (!under_way_.empty()) break;
    if (!ready_.wait_ready(known + 1, stop)) return std::nullopt;
  }
  return wait_for_oldest;
}

void PriorityExchange::start_part(std::size_t message) {
  const std::vector<std::size_t>& sizes = parts_[message];
  const std::size_t part = started_[message]++;
  const ReadyList::Posted posted = ready_.posted(message);
  const auto from = std::accumulate(
      sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(part), std::size_t{0});
  const std::span<float> elements = posted.gradients.subspan(from, sizes[part]);
  const Instant start = steady_clock::now();
  const auto bytes = std::as_writable_bytes(mirror_.fetch(elements));
  auto sum = communicator_->prepare(
      {.collective = backend::Collective::all_reduce, .from = bytes, .to = bytes},
      backend::Mode::nonblocking);
  sum->start();
  under_way_.push_back({message, elements, std::move(sum), under_way_.size(), posted.when, start});
}

void PriorityExchange::finish_oldest() {
  const Part part = std::move(under_way_.front());
  under_way_.pop_front();
  part.sum->wait();
  mirror_.store(part.elements);
  const bool complete = ++arrived_[part.message] == parts_[part.message].size();
  // The first gradient of the next iteration may be posted as soon as the last of this has arrived.
  if (--left_ == 0) ready_.clear();
  arrivals().ended({.bucket = part.message,
                    .buckets = 1,
                    .kind = backend::Collective::all_reduce,
                    .bytes = part.elements.size_bytes(),
                    .under_way = part.under_way,
                    .posted = part.posted,
                    .start = part.start,
                    .end = steady_clock::now()},
                   complete);
}

}  // namespace dlscale::train
