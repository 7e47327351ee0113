#include "train/exchange/priority_exchange.hpp"

#include <numeric>
#include <utility>

#include "backend/comm/sleeping_wait.hpp"
#include "core/base/error.hpp"
#include "core/network/merge.hpp"

namespace dlscale::train {

namespace {

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
                                   HostMirror gradients, backend::WaitPolicy waiting,
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
      if (!vote_) prepare_vote();
      if (!exchange_iteration(stop)) return;
    }
  } catch (...) {
    arrivals().failed(std::current_exception());
  }
}

/// Prepares the vote. This is collective, so it runs only when there is something to send: then all
/// ranks have an exchange.
void PriorityExchange::prepare_vote() {
  const auto bytes = std::as_writable_bytes(std::span(&agreed_, 1));
  vote_ = communicator_->prepare({.collective = backend::Collective::all_reduce,
                                  .type = backend::ElementType::f64,
                                  .op = backend::Reduction::min,
                                  .from = bytes,
                                  .to = bytes},
                                 backend::Mode::nonblocking);
}

/// Exchanges one iteration. Returns false if stopped with nothing to send or in flight. While
/// something is in flight it polls, which is what makes messages progress.
bool PriorityExchange::exchange_iteration(const std::stop_token& stop) {
  started_.assign(parts_.size(), 0);
  arrived_.assign(parts_.size(), 0);
  left_ = std::accumulate(parts_.begin(), parts_.end(), std::size_t{0},
                          [](std::size_t sum, const auto& parts) { return sum + parts.size(); });
  while (true) {
    finish_parts();
    if (left_ == 0) return true;
    if (voting_) {
      end_vote();
    } else if (!begin_vote() && under_way_.empty()) {
      const bool came = ready_.wait_ready(known_ + 1, stop);
      if (!came && ready_.ready() == known_) return false;
    }
  }
}

/// The last of the first `ready` messages that has unstarted parts.
std::optional<std::size_t> PriorityExchange::most_urgent(std::size_t ready) const {
  for (std::size_t message = ready; message-- > 0;) {
    if (started_[message] < parts_[message].size()) return message;
  }
  return std::nullopt;
}

/// Begins a vote if there is credit and something to send. All ranks have started the same parts,
/// so any message ready on the slowest rank is ready on all.
bool PriorityExchange::begin_vote() {
  if (under_way_.size() >= credit_) return false;
  known_ = ready_.ready();
  if (!most_urgent(known_)) return false;
  agreed_ = static_cast<double>(known_);
  vote_->start();
  voting_ = true;
  return true;
}

/// Ends the vote if all ranks have voted. With nothing in flight it waits for them.
void PriorityExchange::end_vote() {
  if (!under_way_.empty()) {
    if (!vote_->test()) return;
  } else if (waiting_ == backend::WaitPolicy::spin) {
    vote_->wait();
  } else {
    backend::SleepingWait wait;
    while (!vote_->test()) wait.once();
  }
  voting_ = false;
  const std::optional<std::size_t> message = most_urgent(static_cast<std::size_t>(agreed_));
  EXPECT(message.has_value());
  start_part(*message);
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

void PriorityExchange::finish_parts() {
  for (auto part = under_way_.begin(); part != under_way_.end();) {
    if (!part->sum->test()) {
      ++part;
      continue;
    }
    arrive(*part);
    part = under_way_.erase(part);
  }
}

void PriorityExchange::arrive(const Part& part) {
  mirror_.store(part.elements);
  const bool complete = ++arrived_[part.message] == parts_[part.message].size();
  // The next iteration may post its first gradient as soon as this one's last has arrived.
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
