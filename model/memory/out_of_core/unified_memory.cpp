#include "model/memory/out_of_core/unified_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <list>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Bytes that move for a step.
struct Moved {
  Bytes in;
  Bytes out;
};

/// Pages of tensors on the device, the least recently used first to leave.
class Pages {
 public:
  Pages(const SpilledTraining& training, Bytes capacity)
      : training_(&training), capacity_(capacity), here_(training.tensors.size()) {}

  /// Makes all of a tensor present. `fresh`: its old pages hold nothing of worth.
  void use(std::size_t tensor, bool fresh, Moved& moved) {
    order_.remove(tensor);
    order_.push_back(tensor);
    const Bytes missing = training_->tensors[tensor].size - here_[tensor];
    if (missing <= Bytes()) return;
    if (!fresh) moved.in += missing;
    make_room(missing, moved);
    here_[tensor] += missing;
    used_ += missing;
  }

  /// Forgets a tensor that no step reads again.
  void drop(std::size_t tensor) {
    used_ -= here_[tensor];
    here_[tensor] = {};
    order_.remove(tensor);
  }

 private:
  /// Evicted pages were all written on the device, so that they move.
  void make_room(Bytes size, Moved& moved) {
    for (auto at = order_.begin(); at != order_.end() && used_ + size > capacity_; ++at) {
      const Bytes leaves = std::min(here_[*at], used_ + size - capacity_);
      here_[*at] -= leaves;
      used_ -= leaves;
      moved.out += leaves;
    }
  }

  const SpilledTraining* training_;
  Bytes capacity_;
  Bytes used_;
  std::vector<Bytes> here_;       ///< by tensor
  std::list<std::size_t> order_;  ///< the least recently used first
};

/// The moves of an iteration: forward steps in order, then backward steps in theirs.
std::vector<Moved> moves_of(const SpilledTraining& training, ManagedUse use, Pages& pages) {
  const bool advised = use == ManagedUse::advised;
  std::vector<Moved> moves;
  for (std::size_t k = 0; k < training.layers.size(); ++k) {
    Moved& moved = moves.emplace_back();
    for (const std::size_t tensor : training.layers[k].forward_uses) {
      pages.use(tensor, advised && training.tensors[tensor].produced == k, moved);
    }
  }
  for (std::size_t k = training.layers.size(); k-- > 0;) {
    Moved& moved = moves.emplace_back();
    for (const std::size_t tensor : training.layers[k].backward_uses) {
      pages.use(tensor, false, moved);
    }
    if (!advised) continue;
    for (const std::size_t tensor : training.layers[k].backward_uses) {
      if (training.tensors[tensor].last_backward == k) pages.drop(tensor);
    }
  }
  return moves;
}

/// What the steps need beside tensors that may leave.
Bytes never_moved(const SpilledTraining& training) {
  Bytes most;
  for (std::size_t k = 0; k < training.layers.size(); ++k) {
    Bytes tensors;
    for (const SpillTensor& tensor : training.tensors) {
      if (tensor.last_backward <= k && k <= tensor.released) tensors += tensor.size;
    }
    most = std::max(most, training.layers[k].live_backward - tensors);
  }
  return most;
}

Bytes largest_step(const SpilledTraining& training) {
  Bytes most;
  for (const SpillLayer& layer : training.layers) {
    for (const auto* uses : {&layer.forward_uses, &layer.backward_uses}) {
      Bytes sum;
      for (const std::size_t tensor : *uses) sum += training.tensors[tensor].size;
      most = std::max(most, sum);
    }
  }
  return most;
}

}  // namespace

ManagedTime managed_time(const SpilledTraining& training, const HostLink& link, Bytes budget,
                         ManagedUse use) {
  const Bytes capacity = budget - training.fixed - never_moved(training);
  if (capacity < largest_step(training)) {
    throw ConfigError(fmt::format(
        "training {} needs {:.4g} GB for the largest of its steps, and the device has {:.4g} GB. "
        "Ask for a smaller batch.",
        training.name, (budget - capacity + largest_step(training)).si() / 1e9, budget.si() / 1e9));
  }
  Pages pages(training, capacity);
  moves_of(training, use, pages);
  const std::vector<Moved> moves = moves_of(training, use, pages);
  const std::size_t count = training.layers.size();
  ManagedTime time;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Seconds step =
        i < count ? training.layers[i].forward : training.layers[2 * count - 1 - i].backward;
    time.in += moves[i].in;
    time.out += moves[i].out;
    if (use == ManagedUse::on_demand) {
      time.total += std::max(step, moves[i].in / link.by_faults);
    } else {
      const Bytes next = moves[(i + 1) % moves.size()].in;
      time.total += std::max({step, next / link.to_device, moves[i].out / link.to_host});
    }
  }
  time.total += training.update;
  time.stall = std::max(Seconds(), time.total - training.compute());
  return time;
}

}  // namespace dlscale::model
