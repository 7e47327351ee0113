#include "model/memory/out_of_core/optimal_choices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Choices for the tensors that a layer releases, and what they take.
struct Combination {
  int kept = 0;     ///< parts of memory
  int swapped = 0;  ///< parts
  Seconds out;
  Seconds in;
  Seconds time;  ///< of computing anew; at the end, stalls too
  std::vector<SpillChoice> choices = {};
};

/// The way to a number of kept parts: those before, and the combination of the layer.
struct Way {
  int before = 0;
  int combination = 0;
};

/// Whether `a` takes no more of anything than `b`.
bool dominates(const Combination& a, const Combination& b) {
  return a.kept <= b.kept && a.swapped <= b.swapped && a.out <= b.out && a.in <= b.in &&
         a.time <= b.time;
}

std::vector<Combination> without_dominated(std::vector<Combination> all) {
  std::ranges::stable_sort(all, {}, [](const Combination& one) {
    return std::tuple(one.kept, one.swapped, one.out, one.in, one.time);
  });
  std::vector<Combination> best;
  for (Combination& one : all) {
    const auto worse = [&](const Combination& other) { return dominates(other, one); };
    if (std::ranges::none_of(best, worse)) best.push_back(std::move(one));
  }
  return best;
}

constexpr Seconds never(std::numeric_limits<double>::infinity());

class Programme {
 public:
  Programme(const SpilledTraining& training, const HostLink& link, Bytes budget, int units)
      : training_(&training), link_(link), units_(units) {
    part_ = (budget - training.fixed) / units;
    released_.resize(training.layers.size());
    for (std::size_t i = 0; i < training.tensors.size(); ++i) {
      released_[training.tensors[i].released].push_back(i);
    }
  }

  std::optional<std::vector<SpillChoice>> solve() {
    if (part_ <= Bytes()) return {};
    std::vector<Seconds> least(static_cast<std::size_t>(units_) + 1, never);
    if (room(0, 0) >= 0) least.front() = Seconds();
    for (std::size_t layer = 0; layer < training_->layers.size(); ++layer) {
      least = after(layer, least);
    }
    const auto best = std::ranges::min_element(least);
    if (*best == never) return {};
    return choices_to(static_cast<int>(best - least.begin()));
  }

 private:
  /// At most one more than all parts, which is too much already.
  [[nodiscard]] int parts(Bytes size) const {
    constexpr double rounding = 1e-9;
    return static_cast<int>(std::min(std::ceil(size / part_ - rounding), units_ + 1.0));
  }

  /// The most parts that earlier layers may have kept when the steps of a layer begin.
  [[nodiscard]] int room(std::size_t layer, int swapped) const {
    if (layer >= training_->layers.size()) return units_;
    const SpillLayer& at = training_->layers[layer];
    const int forward = parts(at.live_forward + at.still_forward);
    return units_ - std::max(forward, parts(at.live_backward) + swapped);
  }

  void extend(const Combination& before, const SpillTensor& tensor,
              std::vector<Combination>& all) const {
    const auto add = [&](SpillChoice choice) -> Combination& {
      Combination& next = all.emplace_back(before);
      next.choices.push_back(choice);
      return next;
    };
    const int size = parts(tensor.size);
    if (before.kept + size <= units_) add(SpillChoice::keep).kept += size;
    if (tensor.may_move && before.swapped + size <= units_) {
      Combination& swapped = add(SpillChoice::swap);
      swapped.swapped += size;
      swapped.out += link_.out(tensor.size);
      swapped.in += link_.in(tensor.size);
    }
    if (tensor.recompute) add(SpillChoice::recompute).time += *tensor.recompute;
  }

  /// All choices for the tensors that a layer releases, each with its stalls.
  [[nodiscard]] std::vector<Combination> combinations(std::size_t layer) const {
    std::vector<Combination> all{Combination{}};
    for (const std::size_t tensor : released_[layer]) {
      std::vector<Combination> longer;
      for (const Combination& one : all) extend(one, training_->tensors[tensor], longer);
      all = without_dominated(std::move(longer));
    }
    const std::vector<SpillLayer>& layers = training_->layers;
    for (Combination& one : all) {
      one.time += std::max(Seconds(), one.out - layers[layer].forward);
      if (layer + 1 < layers.size()) {
        one.time += std::max(Seconds(), one.in - layers[layer + 1].backward);
      }
      one.out = one.in = {};
    }
    return without_dominated(std::move(all));
  }

  /// The least time by kept parts after a layer, from that before it.
  std::vector<Seconds> after(std::size_t layer, const std::vector<Seconds>& before) {
    std::vector<Seconds> least(before.size(), never);
    std::vector<Way>& ways = ways_.emplace_back(before.size());
    const std::vector<Combination>& all = combinations_.emplace_back(combinations(layer));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int most = std::min(units_, room(layer + 1, all[i].swapped)) - all[i].kept;
      for (int kept = 0; kept <= most; ++kept) {
        const Seconds time = before[static_cast<std::size_t>(kept)] + all[i].time;
        const auto to = static_cast<std::size_t>(kept + all[i].kept);
        if (time >= least[to]) continue;
        least[to] = time;
        ways[to] = {kept, static_cast<int>(i)};
      }
    }
    return least;
  }

  [[nodiscard]] std::vector<SpillChoice> choices_to(int kept) const {
    std::vector<SpillChoice> choices(training_->tensors.size(), SpillChoice::keep);
    for (std::size_t layer = ways_.size(); layer-- > 0;) {
      const Way& way = ways_[layer][static_cast<std::size_t>(kept)];
      const Combination& taken = combinations_[layer][static_cast<std::size_t>(way.combination)];
      for (std::size_t i = 0; i < taken.choices.size(); ++i) {
        choices[released_[layer][i]] = taken.choices[i];
      }
      kept = way.before;
    }
    return choices;
  }

  const SpilledTraining* training_;
  HostLink link_;
  int units_;
  Bytes part_;
  std::vector<std::vector<std::size_t>> released_;  ///< tensors, by the layer that releases them
  std::vector<std::vector<Combination>> combinations_;  ///< by layer
  std::vector<std::vector<Way>> ways_;                  ///< by layer, then by kept parts after it
};

}  // namespace

std::optional<std::vector<SpillChoice>> optimal_choices(const SpilledTraining& training,
                                                        const HostLink& link, Bytes budget,
                                                        int units) {
  EXPECT(units >= 1);
  return Programme(training, link, budget, units).solve();
}

}  // namespace dlscale::model
