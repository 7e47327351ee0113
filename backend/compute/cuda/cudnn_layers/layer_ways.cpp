#include "backend/compute/cuda/cudnn_layers/layer_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_operation.hpp"
#include "backend/compute/cuda/cudnn_layers/layer_key.hpp"
#include "backend/compute/cuda/cudnn_layers/layer_trial.hpp"
#include "backend/compute/cuda/offered.hpp"
#include "backend/compute/cuda/tuning.hpp"
#include "backend/compute/specification.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

bool cudnn_may_do(const OperationSpec& spec, Order order) {
  return graph_layer(spec, order) != nullptr || has_function(spec.layer.kind);
}

/// When the fastest is chosen; make_fastest() says why others are ours.
bool is_tried(const LayerKind& kind) {
  if (const auto* pooling = std::get_if<Pooling>(&kind)) return pooling->kind != PoolingKind::max;
  return !std::holds_alternative<Relu>(kind);
}

bool is_timed(Pass pass) {
  return pass == Pass::forward || pass == Pass::backward_data;
}

/// Who runs a layer.
struct Choice {
  bool own = true;
  LayerPlans plans{};  ///< of cuDNN's graphs; none where it has a function
};

std::unique_ptr<Operation> make_chosen(const Context& context, const OperationSpec& spec,
                                       const Choice& choice) {
  auto layer = graph_layer(spec, context.order);
  if (layer == nullptr) return make_function_operation(context, spec);
  return make_graph_operation(context, spec, std::move(layer), choice.plans);
}

/// What cuDNN can do; nothing where it refuses, by whatever code: ours can do it without.
std::optional<Choice> choice_of_cudnn(const Context& context, const OperationSpec& spec) {
  try {
    const auto layer = graph_layer(spec, context.order);
    if (layer == nullptr) {  // a function, which may refuse, too
      static_cast<void>(make_function_operation(context, spec));
      return Choice{.own = false};
    }
    return Choice{.own = false,
                  .plans = {.forward = first_plan(context, spec, *layer, Pass::forward),
                            .backward = first_plan(context, spec, *layer, Pass::backward_data)}};
  } catch (const Error&) {  // layer_algorithms() tells the reason
    return std::nullopt;
  }
}

/// Whether cuDNN's operation takes no more time than ours; not if it cannot run after all, or there
/// is no memory to try it in.
bool is_as_fast(const Context& context, const OperationSpec& spec, Operation& cudnn,
                Operation& own) {
  try {
    const LayerTrial trial(context, spec, own, std::max(own.state_bytes(), cudnn.state_bytes()),
                           std::max(own.scratch_bytes(), cudnn.scratch_bytes()));
    trial.expect_runs(context, cudnn);
    return fastest(context.stream, {[&] { trial.run(cudnn); }, [&] { trial.run(own); }}) == 0;
  } catch (const Error&) {  // layer_algorithms() tells the reason, unless the device is broken
    check(cudaStreamSynchronize(context.stream), "cudaStreamSynchronize", describe(spec));
    return false;
  }
}

std::shared_ptr<const Choice> choose(const Context& context, const OperationSpec& spec,
                                     const MakeOperation& make_own) {
  auto ours = std::make_shared<const Choice>();
  const auto theirs = choice_of_cudnn(context, spec);
  if (!theirs) return ours;
  const auto own = make_own();
  const auto other = make_chosen(context, spec, *theirs);
  return is_as_fast(context, spec, *other, *own) ? std::make_shared<const Choice>(*theirs) : ours;
}

/// Makes the list for one pass of one layer.
class Lister {
 public:
  Lister(const Context& context, const OperationSpec& spec, Pass pass)
      : context_(&context), spec_(spec), pass_(pass), layer_(graph_layer(spec, context.order)) {}

  std::vector<Algorithm> list(const MakeOperation& own) && {
    all_.push_back({"own", own});
    if (layer_ == nullptr) {
      add_function();
    } else {
      add_graph();
    }
    return std::move(all_);
  }

 private:
  void add_function() {
    add("cudnn function",
        [context = context_, spec = spec_] { return make_function_operation(*context, spec); });
  }

  void add_graph() {
    try {
      const auto graph =
          std::make_shared<const Graph>(layer_->graph(Target{.handle = context_->cudnn}, pass_));
      const std::vector<Setting> found = settings(*graph);
      if (found.empty()) add_refusal(describe(spec_) + ": cuDNN has no engine for this graph.");
      for (const Setting& setting : found) add_setting(graph, setting);
    } catch (const Error& refusal) {
      add_refusal(refusal.what());
    }
  }

  void add_refusal(const std::string& reason) {
    all_.push_back(
        {"graph", [reason]() -> std::unique_ptr<Operation> { throw Unsupported(reason); }});
  }

  /// What is made is tried: some of what cuDNN refuses shows only then.
  void add(std::string name, MakeOperation make) {
    all_.push_back({std::move(name), [context = context_, spec = spec_, make = std::move(make)] {
                      return offered([&] {
                        auto made = make();
                        const LayerTrial trial(*context, spec, *made, made->state_bytes(),
                                               made->scratch_bytes());
                        trial.expect_runs(*context, *made);
                        return made;
                      });
                    }});
  }

  void add_setting(const std::shared_ptr<const Graph>& graph, const Setting& setting) {
    add(fmt::format("eng{} {}", setting.notes.index, setting.knobs),
        [context = context_, spec = spec_, pass = pass_, layer = layer_, graph, setting] {
          const bool forward = pass == Pass::forward;
          const auto plan = layer_plan(*context, spec, pass, graph, setting);
          const auto other =
              first_plan(*context, spec, *layer, forward ? Pass::backward_data : Pass::forward);
          return make_graph_operation(
              *context, spec, layer,
              {.forward = forward ? plan : other, .backward = forward ? other : plan});
        });
  }

  const Context* context_;
  OperationSpec spec_;
  Pass pass_;
  std::shared_ptr<const GraphLayer> layer_;
  std::vector<Algorithm> all_;
};

}  // namespace

std::unique_ptr<Operation> make_fastest(const Context& context, const OperationSpec& spec,
                                        const MakeOperation& own) {
  if (!is_tried(spec.layer.kind) || !cudnn_may_do(spec, context.order)) return own();
  const auto choice = context.choices->find_or_make<Choice>(
      "layer " + layer_key(spec, context.order), [&] { return choose(context, spec, own); });
  return choice->own ? own() : make_chosen(context, spec, *choice);
}

std::vector<Algorithm> layer_algorithms(const Context& context, const OperationSpec& spec,
                                        Pass pass, const MakeOperation& own) {
  if (!is_timed(pass) || !cudnn_may_do(spec, context.order)) return {};
  return Lister(context, spec, pass).list(own);
}

}  // namespace dlscale::backend::cuda
