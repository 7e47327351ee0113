#include "core/network/step.hpp"

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

template <class Kind>
bool is(const Layer& layer) {
  return std::holds_alternative<Kind>(layer.kind);
}

/// By layer: whether the gradient of its output leads to any parameter.
std::vector<bool> find_trained(const Network& network) {
  std::vector<bool> trained(network.layers().size());
  for (const Layer& layer : network.layers()) {
    trained[layer.id.index()] =
        layer.parameter_count() > 0 || layer.read_weight_count() > 0 ||
        std::any_of(layer.inputs.begin(), layer.inputs.end(),
                    [&](LayerId input) -> bool { return trained[input.index()]; });
  }
  return trained;
}

bool returns_gradient(const Layer& layer, const std::vector<bool>& trained) {
  if (is_norm(layer.kind)) return true;
  const bool hands_on = is<Sum>(layer) && !layer.relu;
  return !hands_on && std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                  [&](LayerId input) -> bool { return trained[input.index()]; });
}

/// The backward pass that computes the gradients of a layer's parameters.
Pass completing_pass(const Layer& layer) {
  return is_norm(layer.kind) ? Pass::backward_data : Pass::backward_filter;
}

Bucket one_layer(const Layer& layer) {
  return {{layer.id}, layer.parameter_count()};
}

/// Closes a bucket once it reaches its limit.
std::vector<Bucket> fill_buckets(const std::vector<Bucket>& layers,
                                 const ScheduleSettings& settings) {
  constexpr double gradient_bytes = 4;  // gradients are f32
  std::vector<Bucket> buckets;
  bool is_open = false;
  for (const Bucket& layer : layers) {
    if (!is_open) buckets.emplace_back();
    Bucket& bucket = buckets.back();
    bucket.layers.push_back(layer.layers.front());
    bucket.elements += layer.elements;
    const Bytes limit = buckets.size() == 1 ? settings.first_bucket : settings.bucket;
    is_open = Bytes(gradient_bytes * static_cast<double>(bucket.elements)) < limit;
  }
  return buckets;
}

}  // namespace

std::string_view pass_name(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward_data:
      return "backward_data";
    case Pass::backward_filter:
      return "backward_filter";
    case Pass::accumulate:
      return "accumulate";
  }
  fail_expectation("pass is a Pass");
}

std::vector<Step> forward_steps(const Network& network) {
  std::vector<Step> steps;
  for (const Layer& layer : network.layers()) {
    if (!is<Input>(layer)) steps.push_back({layer.id, Pass::forward});
  }
  return steps;
}

std::vector<Step> backward_steps(const Network& network) {
  const std::vector<bool> trained = find_trained(network);
  std::vector<Step> steps;
  for (auto layer = network.layers().rbegin(); layer != network.layers().rend(); ++layer) {
    const LayerId id = layer->id;
    if (trained[id.index()] && network.consumers(id).size() > 1) {
      steps.push_back({id, Pass::accumulate});
    }
    if (layer->read_weight_count() > 0 && !is_norm(layer->kind)) {
      steps.push_back({id, Pass::backward_filter});
    }
    if (returns_gradient(*layer, trained)) steps.push_back({id, Pass::backward_data});
  }
  return steps;
}

std::vector<Bucket> gradient_buckets(const Network& network, Schedule schedule,
                                     const ScheduleSettings& settings) {
  std::vector<Bucket> by_layer;
  for (auto layer = network.layers().rbegin(); layer != network.layers().rend(); ++layer) {
    if (layer->parameter_count() > 0) by_layer.push_back(one_layer(*layer));
  }
  switch (schedule) {
    case Schedule::sequential:
    case Schedule::wait_free:
    case Schedule::merged_greedy:
    case Schedule::merged:
    case Schedule::horovod:
    case Schedule::priority:
      return by_layer;
    case Schedule::bucketed:
    case Schedule::reduce_scatter_overlap:
      return fill_buckets(by_layer, settings);
  }
  fail_expectation("schedule is a Schedule");
}

std::size_t ready_after(const Network& network, std::span<const Step> steps, const Bucket& bucket) {
  std::size_t last = 0;
  for (const LayerId layer : bucket.layers) {
    const Pass completes = completing_pass(network.layer(layer));
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const Step& candidate) {
      return candidate.layer == layer && candidate.pass == completes;
    });
    EXPECT(step != steps.end());
    last = std::max(last, static_cast<std::size_t>(step - steps.begin()));
  }
  return last;
}

}  // namespace dlscale
