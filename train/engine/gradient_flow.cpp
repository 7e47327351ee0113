#include "train/engine/gradient_flow.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::train {
namespace {

using BufferId = GradientFlow::BufferId;
using Kind = GradientFlow::Move::Kind;

/// One consumer's contribution to the gradient of an output.
struct Part {
  BufferId buffer;
  enum class Ownership { exclusive, shared } ownership;
};

/// By layer: whether the gradient of its output is read, by its own steps or, through a Sum, by
/// those of its producers.
std::vector<char> find_needed(const Network& network, std::span<const Step> steps) {
  std::vector<char> needed(network.layers().size());
  for (const Step& step : steps) needed[step.layer.index()] = 1;
  for (const Layer& layer : network.layers()) {
    if (!std::holds_alternative<Sum>(layer.kind)) continue;
    const bool any = std::ranges::any_of(layer.inputs,
                                         [&](LayerId input) { return needed[input.index()] != 0; });
    needed[layer.id.index()] = any ? 1 : 0;
  }
  return needed;
}

/// Walks the backward steps in order and records what each reads and writes.
class FlowPlanner {
 public:
  FlowPlanner(const Network& network, std::span<const backend::TensorDesc> outputs,
              std::span<const Step> steps)
      : outputs_(outputs),
        steps_(steps),
        needed_(find_needed(network, steps)),
        parts_(network.layers().size()) {
    flow_.output.resize(network.layers().size());
    flow_.inputs.resize(network.layers().size());
    flow_.moves.resize(steps.size());
  }

  void visit(const Layer& layer) {
    if (needed_[layer.id.index()] == 0) return;
    gather(layer);
    if (at(layer) && steps_[now_].pass == Pass::accumulate) ++now_;
    const bool is_sum = std::holds_alternative<Sum>(layer.kind);
    if (is_sum && !layer.relu) share(layer, layer.id, flow_.output[layer.id.index()].value());
    for (; at(layer); ++now_) {
      if (flow_.output[layer.id.index()]) use(*flow_.output[layer.id.index()]);
      if (steps_[now_].pass == Pass::backward_data) write_inputs(layer);
    }
    if (is_sum && layer.relu) {
      share(layer, layer.inputs.front(), flow_.inputs[layer.id.index()].front());
    }
  }

  GradientFlow finish() && {
    EXPECT(now_ == steps_.size());
    return std::move(flow_);
  }

 private:
  [[nodiscard]] bool at(const Layer& layer) const {
    return now_ < steps_.size() && steps_[now_].layer == layer.id;
  }

  BufferId make_buffer(LayerId like) {
    flow_.like.push_back(like);
    flow_.live.push_back({outputs_[like.index()].layout.bytes, now_, now_});
    return BufferId(flow_.like.size() - 1);
  }

  void use(BufferId buffer) { flow_.live[buffer.index()].last = now_; }

  void move(Kind kind, BufferId from, BufferId to) {
    EXPECT(now_ < steps_.size());
    flow_.moves[now_].push_back({kind, from, to});
    use(from);
    use(to);
  }

  /// Chooses the buffer that sums up the parts of an output's gradient: the first that nothing else
  /// reads.
  BufferId choose_sum(const Layer& layer) {
    const std::vector<Part>& parts = parts_[layer.id.index()];
    if (parts.size() == 1 && !layer.relu) return parts.front().buffer;
    const auto own = std::ranges::find(parts, Part::Ownership::exclusive, &Part::ownership);
    if (own != parts.end()) return own->buffer;
    const BufferId sum = make_buffer(layer.id);
    move(Kind::copy, parts.front().buffer, sum);
    return sum;
  }

  void gather(const Layer& layer) {
    const std::vector<Part>& parts = parts_[layer.id.index()];
    if (parts.empty()) return;
    const BufferId sum = choose_sum(layer);
    const bool copied = !std::ranges::count(parts, sum, &Part::buffer);
    for (const Part& part : std::span(parts).subspan(copied ? 1 : 0)) {
      if (part.buffer != sum) move(Kind::add, part.buffer, sum);
    }
    flow_.output[layer.id.index()] = sum;
  }

  void write_inputs(const Layer& layer) {
    if (std::holds_alternative<Sum>(layer.kind)) return write_shared(layer);
    for (const LayerId producer : layer.inputs) {
      const BufferId buffer = make_buffer(producer);
      flow_.inputs[layer.id.index()].push_back(buffer);
      parts_[producer.index()].push_back({buffer, Part::Ownership::exclusive});
    }
  }

  /// Plans a Sum with a ReLU: one gradient for all inputs.
  void write_shared(const Layer& sum) {
    flow_.inputs[sum.id.index()].push_back(make_buffer(sum.inputs.front()));
  }

  /// Shares one gradient among all inputs of a Sum, in the layout of the output of `like`.
  void share(const Layer& sum, LayerId like, BufferId gradient) {
    for (const LayerId producer : sum.inputs) {
      if (needed_[producer.index()] == 0) continue;
      std::vector<Part>& parts = parts_[producer.index()];
      if (same_memory(producer, like)) {
        parts.push_back({gradient, Part::Ownership::shared});
      } else {
        const BufferId own = make_buffer(producer);
        move(Kind::copy, gradient, own);
        parts.push_back({own, Part::Ownership::exclusive});
      }
    }
  }

  [[nodiscard]] bool same_memory(LayerId a, LayerId b) const {
    return outputs_[a.index()].layout == outputs_[b.index()].layout &&
           outputs_[a.index()].dtype == outputs_[b.index()].dtype;
  }

  std::span<const backend::TensorDesc> outputs_;
  std::span<const Step> steps_;
  std::vector<char> needed_;
  std::vector<std::vector<Part>> parts_;  ///< by producer
  GradientFlow flow_;
  std::size_t now_ = 0;
};

}  // namespace

GradientFlow plan_gradient_flow(const Network& network,
                                std::span<const backend::TensorDesc> outputs,
                                std::span<const Step> steps) {
  FlowPlanner planner(network, outputs, steps);
  const std::vector<Layer>& layers = network.layers();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) planner.visit(*layer);
  return std::move(planner).finish();
}

}  // namespace dlscale::train
