#include "backend/comm/local/group.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

constexpr const char* left_it = "a rank of a local group left a collective.";

std::vector<std::byte> pop(std::deque<std::vector<std::byte>>& box) {
  std::vector<std::byte> message = std::move(box.front());
  box.pop_front();
  return message;
}

}  // namespace

void Group::barrier(WaitPolicy waiting) {
  std::unique_lock lock(mutex_);
  const unsigned generation = generation_.load();
  if (++arrived_ == size()) {
    arrived_ = 0;
    generation_.store(generation + 1);
    changed_.notify_all();
    return;
  }
  if (waiting == WaitPolicy::sleep) {
    changed_.wait(lock, [&] { return generation_.load() != generation; });
    return;
  }
  lock.unlock();
  while (generation_.load() == generation) std::this_thread::yield();
}

void Group::publish(Rank rank, std::span<std::byte> data) {
  published_[static_cast<std::size_t>(rank)] = data;
}

std::span<std::byte> Group::published(Rank rank) const {
  return published_[static_cast<std::size_t>(rank)];
}

void Group::expect_equal_sizes(const char* call, Rank rank) const {
  for (Rank other = 0; other < size(); ++other) {
    if (published(other).size() == published(0).size()) continue;
    throw LibraryError(
        fmt::format("{} on rank {} of a local group: rank {} brings {} bytes, rank 0 brings {}.",
                    call, rank, other, published(other).size(), published(0).size()));
  }
}

void Group::post(Rank from, Rank to, int tag, std::span<const std::byte> data) {
  const std::lock_guard lock(mutex_);
  mail_[{from, to, tag}].emplace_back(data.begin(), data.end());
  changed_.notify_all();
}

std::vector<std::byte> Group::take(Rank from, Rank to, int tag) {
  std::unique_lock lock(mutex_);
  Box& box = mail_[{from, to, tag}];
  changed_.wait(lock, [&] { return is_there(box, from, tag); });
  return pop(box);
}

std::optional<std::vector<std::byte>> Group::take_if_there(Rank from, Rank to, int tag) {
  const std::lock_guard lock(mutex_);
  Box& box = mail_[{from, to, tag}];
  if (!is_there(box, from, tag)) return std::nullopt;
  return pop(box);
}

bool Group::is_there(const Box& box, Rank from, int tag) const {
  if (!box.empty()) return true;
  if (left_.contains({from, tag})) throw LibraryError(left_it);
  return false;
}

void Group::leave(Rank from, int tag) {
  const std::lock_guard lock(mutex_);
  left_.emplace(from, tag);
  changed_.notify_all();
}

/// A rank that has begun a collective has begun all before it, so the first open one is the first
/// that all have begun.
std::shared_ptr<Begun> Group::begin(Rank rank, const CollectiveCall& call,
                                    const CarryOut& carry_out) {
  std::unique_lock lock(mutex_);
  const std::size_t place = begun_[static_cast<std::size_t>(rank)]++ - first_open_;
  if (place == open_.size()) {
    open_.push_back(std::make_shared<Begun>());
    open_.back()->calls.resize(published_.size());
    open_.back()->missing = size();
  }
  std::shared_ptr<Begun> begun = open_[place];
  begun->calls[static_cast<std::size_t>(rank)] = call;
  if (--begun->missing > 0) return begun;
  open_.pop_front();
  ++first_open_;
  std::exception_ptr failure = begun->failure;
  lock.unlock();
  try {
    if (!failure) carry_out(begun->calls);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  begun->failure = failure;
  begun->done = true;
  changed_.notify_all();
  return begun;
}

bool Group::is_done(const Begun& begun) {
  const std::lock_guard lock(mutex_);
  if (begun.failure) std::rethrow_exception(begun.failure);
  return begun.done;
}

void Group::await(const Begun& begun) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return begun.done || begun.failure; });
  if (begun.failure) std::rethrow_exception(begun.failure);
}

void Group::leave(Begun& begun) {
  std::unique_lock lock(mutex_);
  if (begun.missing == 0) {  // the last rank is executing it
    changed_.wait(lock, [&] { return begun.done; });
    return;
  }
  begun.failure = std::make_exception_ptr(LibraryError(left_it));
  changed_.notify_all();
}

std::shared_ptr<Group> Group::duplicate(Rank rank) {
  if (rank == 0) child_ = std::make_shared<Group>(size());
  barrier(WaitPolicy::sleep);
  std::shared_ptr<Group> child = child_;
  barrier(WaitPolicy::sleep);
  return child;
}

}  // namespace dlscale::backend
