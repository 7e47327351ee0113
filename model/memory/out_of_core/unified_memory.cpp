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
  explicit Pages(const SpilledTraining& training)
      : training_(&training), here_(training.tensors.size()) {}

  /// The memory that a step leaves to tensors.
  void limit(Bytes capacity, Moved& moved) {
    capacity_ = capacity;
    make_room({}, moved);
  }

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

/// Tensors that a step uses, and bytes beside them, as gradients.
struct ManagedStep {
  std::size_t layer;
  const std::vector<std::size_t>* uses;
  Bytes beside;
  Seconds time;
  bool forward;
};

/// Forward steps in order, then backward steps in theirs.
std::vector<ManagedStep> steps_of(const SpilledTraining& training) {
  const std::size_t count = training.layers.size();
  std::vector<Bytes> forward(count);  // tensors that are live in a step
  std::vector<Bytes> backward(count);
  for (const SpillTensor& tensor : training.tensors) {
    for (std::size_t at = tensor.produced; at <= tensor.released; ++at) {
      forward[at] += tensor.size;
      if (at >= tensor.last_backward) backward[at] += tensor.size;
    }
  }
  std::vector<ManagedStep> steps;
  for (std::size_t k = 0; k < count; ++k) {
    const SpillLayer& at = training.layers[k];
    steps.push_back({k, &at.forward_uses, at.live_forward - forward[k], at.forward, true});
  }
  for (std::size_t k = count; k-- > 0;) {
    const SpillLayer& at = training.layers[k];
    steps.push_back({k, &at.backward_uses, at.live_backward - backward[k], at.backward, false});
  }
  return steps;
}

/// The moves of an iteration, by step.
std::vector<Moved> moves_of(const SpilledTraining& training, const std::vector<ManagedStep>& steps,
                            Bytes capacity, ManagedUse use, Pages& pages) {
  const bool advised = use == ManagedUse::advised;
  std::vector<Moved> moves;
  for (const ManagedStep& step : steps) {
    Moved& moved = moves.emplace_back();
    pages.limit(capacity - step.beside, moved);
    for (const std::size_t tensor : *step.uses) {
      const bool first = step.forward && training.tensors[tensor].produced == step.layer;
      pages.use(tensor, advised && first, moved);
    }
    if (!advised || step.forward) continue;
    for (const std::size_t tensor : *step.uses) {
      if (training.tensors[tensor].last_backward == step.layer) pages.drop(tensor);
    }
  }
  return moves;
}

Bytes largest_of(const SpilledTraining& training, const std::vector<ManagedStep>& steps) {
  Bytes most;
  for (const ManagedStep& step : steps) {
    Bytes sum = step.beside;
    for (const std::size_t tensor : *step.uses) sum += training.tensors[tensor].size;
    most = std::max(most, sum);
  }
  return training.fixed + most;
}

}  // namespace

ManagedTime managed_time(const SpilledTraining& training, const HostLink& link, Bytes budget,
                         ManagedUse use) {
  const std::vector<ManagedStep> steps = steps_of(training);
  if (const Bytes largest = largest_of(training, steps); largest > budget) {
    throw ConfigError(fmt::format(
        "training {} needs {:.4g} GB for the largest of its steps, and the device has {:.4g} GB. "
        "Ask for a smaller batch.",
        training.name, largest.si() / 1e9, budget.si() / 1e9));
  }
  const Bytes capacity = budget - training.fixed;
  Pages pages(training);
  moves_of(training, steps, capacity, use, pages);
  const std::vector<Moved> moves = moves_of(training, steps, capacity, use, pages);
  ManagedTime time;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    time.in += moves[i].in;
    time.out += moves[i].out;
    if (use == ManagedUse::on_demand) {
      time.total += std::max(steps[i].time, moves[i].in / link.by_faults);
    } else {
      const Bytes next = moves[(i + 1) % moves.size()].in;
      time.total += std::max({steps[i].time, next / link.to_device, moves[i].out / link.to_host});
    }
  }
  time.total += training.update;
  time.stall = std::max(Seconds(), time.total - training.compute());
  return time;
}

}  // namespace dlscale::model
