#include "backend/comm/local/group.hpp"

#include <fmt/format.h>

#include <thread>

#include "core/error.hpp"

namespace dlscale::backend {

void Group::meet(Waiting waiting) {
  std::unique_lock lock(mutex_);
  const unsigned generation = generation_.load();
  if (++arrived_ == size()) {
    arrived_ = 0;
    generation_.store(generation + 1);
    changed_.notify_all();
    return;
  }
  if (waiting == Waiting::sleep) {
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
  auto& box = mail_[{from, to, tag}];
  changed_.wait(lock, [&] { return !box.empty(); });
  std::vector<std::byte> message = std::move(box.front());
  box.pop_front();
  return message;
}

std::shared_ptr<Group> Group::duplicate(Rank rank) {
  if (rank == 0) child_ = std::make_shared<Group>(size());
  meet(Waiting::sleep);
  std::shared_ptr<Group> child = child_;
  meet(Waiting::sleep);
  return child;
}

}  // namespace dlscale::backend
