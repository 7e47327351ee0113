#include "model/memory/out_of_core/optimal_choices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// A choice for a tensor, and the place of the one before.
struct Chosen {
  std::size_t before;
  std::size_t tensor;
  SpillChoice choice;
};
constexpr std::size_t none = static_cast<std::size_t>(-1);

/// Choices so far, as far as later ones depend on them.
struct State {
  int kept = 0;     ///< parts of memory
  int swapped = 0;  ///< parts, of the tensors of the layer at hand
  Seconds out;
  Seconds in;
  Seconds time;
  std::size_t last = none;
};

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
    std::vector<State> states{State{}};
    drop_too_large(0, states);
    for (std::size_t k = 0; k < training_->layers.size() && !states.empty(); ++k) {
      for (const std::size_t tensor : released_[k]) states = with_choices(states, tensor);
      if (k + 1 < training_->layers.size()) drop_too_large(k + 1, states);
      for (State& state : states) end_layer(k, state);
      keep_best(states);
    }
    if (states.empty()) return {};
    return choices_of(*std::ranges::min_element(states, {}, &State::time));
  }

 private:
  [[nodiscard]] int parts(Bytes size) const {
    constexpr double rounding = 1e-9;
    return static_cast<int>(std::ceil(size / part_ - rounding));
  }

  /// Every state with every choice of a tensor. Of equal ones the quickest stays.
  std::vector<State> with_choices(const std::vector<State>& states, std::size_t index) {
    const SpillTensor& tensor = training_->tensors[index];
    const int size = parts(tensor.size);
    std::vector<State> all;
    const auto add = [&](State state, SpillChoice choice) {
      chosen_.push_back({state.last, index, choice});
      state.last = chosen_.size() - 1;
      all.push_back(state);
    };
    for (const State& state : states) {
      if (state.kept + size <= units_) {
        State kept = state;
        kept.kept += size;
        add(kept, SpillChoice::keep);
      }
      if (tensor.may_move) {
        State swapped = state;
        swapped.swapped += size;
        swapped.out += link_.out(tensor.size);
        swapped.in += link_.in(tensor.size);
        add(swapped, SpillChoice::swap);
      }
      if (tensor.recompute) {
        State anew = state;
        anew.time += *tensor.recompute;
        add(anew, SpillChoice::recompute);
      }
    }
    const auto order = [](const State& s) {
      return std::tuple(s.kept, s.swapped, s.out, s.in, s.time);
    };
    std::ranges::sort(all, {}, order);
    const auto alike = [](const State& s) { return std::tuple(s.kept, s.swapped, s.out, s.in); };
    const auto rest = std::ranges::unique(all, {}, alike);
    all.erase(rest.begin(), rest.end());
    return all;
  }

  /// Drops states with which the steps of a layer do not fit.
  void drop_too_large(std::size_t layer, std::vector<State>& states) const {
    const SpillLayer& at = training_->layers[layer];
    const int forward = parts(at.live_forward + at.still_forward);
    const int backward = parts(at.live_backward);
    std::erase_if(states, [&](const State& state) {
      return state.kept + std::max(forward, backward + state.swapped) > units_;
    });
  }

  void end_layer(std::size_t layer, State& state) const {
    const std::vector<SpillLayer>& layers = training_->layers;
    state.time += std::max(Seconds(), state.out - layers[layer].forward);
    if (layer + 1 < layers.size()) {
      state.time += std::max(Seconds(), state.in - layers[layer + 1].backward);
    }
    state.swapped = 0;
    state.out = state.in = {};
  }

  /// Drops states that keep no less than another and take no less time.
  static void keep_best(std::vector<State>& states) {
    std::ranges::sort(states, {}, [](const State& s) { return std::tuple(s.kept, s.time); });
    std::vector<State> best;
    for (const State& state : states) {
      if (best.empty() || state.time < best.back().time) best.push_back(state);
    }
    states = std::move(best);
  }

  [[nodiscard]] std::vector<SpillChoice> choices_of(const State& state) const {
    std::vector<SpillChoice> choices(training_->tensors.size(), SpillChoice::keep);
    for (std::size_t at = state.last; at != none; at = chosen_[at].before) {
      choices[chosen_[at].tensor] = chosen_[at].choice;
    }
    return choices;
  }

  const SpilledTraining* training_;
  HostLink link_;
  int units_;
  Bytes part_;
  std::vector<std::vector<std::size_t>> released_;  ///< tensors, by the layer that releases them
  std::vector<Chosen> chosen_;
};

}  // namespace

std::optional<std::vector<SpillChoice>> optimal_choices(const SpilledTraining& training,
                                                        const HostLink& link, Bytes budget,
                                                        int units) {
  EXPECT(units >= 1);
  return Programme(training, link, budget, units).solve();
}

}  // namespace dlscale::model
