#include "model/sgd_iter/graph/progress.hpp"

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

void Progress::want(double cores) {
  if (cores == 0) return;
  wanted_ += cores;
  ++sharers_;
}

void Progress::release(double cores) {
  if (cores == 0) return;
  --sharers_;
  wanted_ = sharers_ == 0 ? 0 : wanted_ - cores;  // exactly 0, without rounding errors
}

void Progress::begin(std::size_t event, double work, double cores) {
  if (cores == 0) {
    alone_.emplace(now_ + work, event);
    return;
  }
  sharing_.emplace(pace_ + work, event);
  want(cores);
}

void Progress::begin_computing(std::size_t event, double work, double cores,
                               std::span<const Contention> beside) {
  EXPECT(!computing_);
  computing_ = Contender{event, work, cores, beside, 0};
  want(cores);
}

void Progress::begin_message(std::size_t event, double work, double cores, std::size_t kind) {
  EXPECT(!message_);
  message_ = Contender{event, work, cores, {}, kind};
  want(cores);
}

/// Null where there is none.
const Contention* Progress::contention() const {
  if (!computing_ || !message_ || computing_->beside.empty()) return nullptr;
  EXPECT(message_->kind < computing_->beside.size());
  return &computing_->beside[message_->kind];
}

double Progress::rate(const Contender& one, double Contention::*slowdown) const {
  const double shared = one.cores == 0 ? 1 : speed();
  const Contention* both = contention();
  if (both == nullptr) return shared;
  const double measured = one.cores == 0 ? 1 : speed(computing_->cores + message_->cores);
  return shared / measured / (both->*slowdown);
}

double Progress::done(const Contenders& one, double Contention::*slowdown) const {
  return one ? now_ + one->left / rate(*one, slowdown) : never;
}

/// Advances both contenders; call before the clocks advance.
void Progress::move_contenders(double to) {
  const auto move = [&](Contenders& one, double per_second) {
    if (one) one->left = std::max(0.0, one->left - (to - now_) * per_second);
  };
  const double computed = computing_ ? rate(*computing_, &Contention::compute) : 0;
  const double sent = message_ ? rate(*message_, &Contention::messages) : 0;
  move(computing_, computed);
  move(message_, sent);
}

std::size_t Progress::take(Contenders& one, double when) {
  move_contenders(when);
  pace_ += (when - now_) * speed();
  now_ = when;
  const std::size_t event = one->event;
  one.reset();
  return event;
}

std::size_t Progress::next() {
  const double computed = done(computing_, &Contention::compute);
  const double sent = done(message_, &Contention::messages);
  const double shared = sharing_.empty() ? never : next_sharing();
  const double other = alone_.empty() ? never : alone_.top().first;
  const double first = std::min({computed, sent, shared, other});
  EXPECT(first < never);
  if (computed == first) return take(computing_, computed);
  if (sent == first) return take(message_, sent);
  const bool from_sharing = shared == first;
  const double when = from_sharing ? std::max(now_, shared) : other;
  move_contenders(when);
  pace_ = from_sharing ? sharing_.top().first : pace_ + (when - now_) * speed();
  now_ = when;
  Finishes& finishes = from_sharing ? sharing_ : alone_;
  const std::size_t event = finishes.top().second;
  finishes.pop();
  return event;
}

}  // namespace dlscale::model
