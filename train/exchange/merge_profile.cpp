#include "train/exchange/merge_profile.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::train {
namespace {

std::vector<double> medians(const std::vector<std::vector<double>>& samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const std::vector<double>& of_one : samples) values.push_back(median(of_one));
  return values;
}

std::vector<Seconds> to_seconds(const std::vector<double>& values) {
  std::vector<Seconds> times;
  times.reserve(values.size());
  for (const double value : values) times.emplace_back(value);
  return times;
}

}  // namespace

MergeProfile::MergeProfile(std::vector<Bytes> gradients)
    : gradients_(std::move(gradients)), ready_(gradients_.size()), messages_(gradients_.size()) {}

void MergeProfile::begin_backward(std::shared_ptr<const backend::Mark> mark) {
  begin_ = std::move(mark);
  marks_.clear();
}

void MergeProfile::add_ready(std::shared_ptr<const backend::Mark> mark) {
  marks_.push_back(std::move(mark));
}

void MergeProfile::end_iteration(std::span<const Transfer> transfers) {
  EXPECT(marks_.size() == gradients_.size() && transfers.size() == gradients_.size());
  ++watched_;
  if (watched_ == 1) return;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    ready_[i].push_back(marks_[i]->since(*begin_).si());
  }
  for (const Transfer& transfer : transfers) {
    const std::chrono::duration<double> time = transfer.end - transfer.start;
    messages_[transfer.bucket].push_back(time.count());
  }
}

MergePlan MergeProfile::agree(backend::Communicator& communicator, Schedule schedule) const {
  EXPECT(is_complete());
  std::vector<double> ready = medians(ready_);
  communicator.all_reduce(std::span<double>(ready), backend::Reduction::max);
  std::vector<ReadyGradient> gradients;
  Seconds latest;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    // Medians and maxima keep the order, within the resolution of a device's clock.
    latest = std::max(latest, Seconds(ready[i]));
    gradients.push_back({latest, gradients_[i]});
  }
  const LinearCost cost = fit_cost(gradients_, to_seconds(medians(messages_)));
  // Rank 0 decides for all, as ranks with other rounding might compute other groups.
  std::vector<double> said{cost.a.si(), cost.b.si()};
  for (const std::size_t group : merge_for(schedule, gradients, cost)) {
    said.push_back(static_cast<double>(group));
  }
  said.resize(gradients.size() + 2);
  communicator.broadcast(std::as_writable_bytes(std::span(said)), 0);
  MergePlan plan{{}, {Seconds(said[0]), SecondsPerByte(said[1])}};
  for (std::size_t i = 2; i < said.size() && said[i] > 0; ++i) {
    plan.groups.push_back(static_cast<std::size_t>(said[i]));
  }
  return plan;
}

}  // namespace dlscale::train
