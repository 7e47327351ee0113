#include "backend/compute/cuda/cudnn_layers/layer_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/cuda/cudnn/examination.hpp"
#include "backend/compute/cuda/cudnn/graph_convolution.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_operation.hpp"
#include "backend/compute/cuda/cudnn_layers/pooling_ties.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/noise.hpp"
#include "backend/compute/cuda/runtime/recording.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Device memory for running a layer while an algorithm for it is chosen. Tensors are filled with
/// noise, labels with all classes in turn. The state is zero: a forward pass must precede what
/// reads it.
class LayerTrial {
 public:
  /// Memory for `operation`, and for another of the same layer that needs `least`. All inputs of
  /// `spec` have the order of `context`. Throws ConfigError if memory does not suffice.
  LayerTrial(const Context& context, const OperationSpec& spec, const Operation& operation,
             const WorkingBytes& least = {});

  /// Enqueues both passes.
  void run(Operation& operation) const;
  /// Tensors that both passes write.
  [[nodiscard]] std::vector<Written> written() const;
  /// Runs both passes, waits, and records them as a CUDA graph. A library may refuse only then,
  /// with any code: throws Unsupported with its message, unless the device itself is broken.
  void expect_runs(Operation& operation) const;

 private:
  const Context* context_;
  OperationMemory memory_;
};

LayerTrial::LayerTrial(const Context& context, const OperationSpec& spec,
                       const Operation& operation, const WorkingBytes& least)
    : context_(&context), memory_(*context.opened, spec, operation, least) {
  std::uint64_t seed = 0;
  const auto fill = [&](const Tensor& tensor) {
    fill_with_noise(context.stream, tensor.data, tensor.desc.layout.bytes, tensor.desc.dtype,
                    ++seed);
  };
  for (const auto* tensors : {&memory_.inputs(), &memory_.input_gradients(), &memory_.parameters(),
                              &memory_.parameter_gradients()}) {
    std::ranges::for_each(*tensors, fill);
  }
  fill(memory_.output());
  fill(memory_.output_gradient());
  const std::int64_t classes = spec.layer.input_shapes.front().elements();
  std::vector<std::int32_t>& labels = memory_.labels();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % classes);
  }
}

void LayerTrial::run(Operation& operation) const {
  operation.run(Pass::forward, memory_.operands(0));
  operation.run(Pass::backward_data, memory_.operands(0));
}

std::vector<Written> LayerTrial::written() const {
  std::vector<Written> all;
  const auto add = [&](std::string name, const Tensor& tensor) {
    all.push_back({std::move(name), tensor.data, static_cast<std::size_t>(tensor.desc.elements()),
                   tensor.desc.dtype});
  };
  add("output", memory_.output());
  for (const Tensor& each : memory_.input_gradients()) add("input gradient", each);
  for (const Tensor& each : memory_.parameter_gradients()) add("parameter gradient", each);
  return all;
}

void LayerTrial::expect_runs(Operation& operation) const {
  const auto wait = [&] {
    check(cudaStreamSynchronize(context_->stream), "cudaStreamSynchronize",
          operation.implementation(Pass::forward));
  };
  try {
    run(operation);
    wait();
    static_cast<void>(make_recording(*context_, [&] { run(operation); }));
  } catch (const LibraryError& error) {
    wait();
    throw Unsupported(error.what());
  }
}

bool cudnn_may_do(const OperationSpec& spec, Order order) {
  return graph_layer(spec, order) != nullptr || has_function(spec.layer.kind);
}

bool is_max_pooling(const LayerKind& kind) {
  const auto* pooling = std::get_if<Pooling>(&kind);
  return pooling != nullptr && pooling->kind == PoolingKind::max;
}

/// Whether the fastest is chosen by trial; make_fastest() explains why other kinds always run by
/// our kernels.
bool is_tried(const LayerKind& kind) {
  return !is_max_pooling(kind) && !std::holds_alternative<Relu>(kind);
}

bool is_timed(Pass pass) {
  return pass == Pass::forward || pass == Pass::backward_data;
}

/// The implementation that runs a layer.
struct Choice {
  bool own = true;
  LayerPlans plans{};  ///< plans of cuDNN's graphs; empty where it uses a function
};

std::unique_ptr<Operation> make_chosen(const Context& context, const OperationSpec& spec,
                                       const Choice& choice) {
  auto layer = graph_layer(spec, context.order);
  if (layer == nullptr) return make_function_operation(context, spec);
  return make_graph_operation(context, spec, std::move(layer), choice.plans);
}

std::string name_of(const Choice& choice) {
  if (choice.own) return "own";
  if (choice.plans.forward == nullptr) return "cudnn function";
  return fmt::format("{}, {}", choice.plans.forward->name(), choice.plans.backward->name());
}

/// The plans of a choice, in the form in which they are kept.
struct WrittenPlans {
  WrittenPlan forward{};
  WrittenPlan backward{};
};

using Json = nlohmann::ordered_json;

Json to_json(const Plan& plan) {
  return {{"setting", setting_name(plan.configuration(), plan.graph().form())},
          {"plan", plan.serialized()}};
}

std::string written(const Choice& choice) {
  if (choice.plans.forward == nullptr) return "";
  return Json{{"forward", to_json(*choice.plans.forward)},
              {"backward", to_json(*choice.plans.backward)}}
      .dump();
}

WrittenPlan parse_plan(const Json& json) {
  return {json.at("setting").get<std::string>(), json.at("plan").get<std::string>()};
}

/// Empty if it cannot be parsed: the plans are then compiled.
WrittenPlans parse_plans(const std::string& text) {
  if (text.empty()) return {};
  try {
    const Json json = Json::parse(text);
    return {parse_plan(json.at("forward")), parse_plan(json.at("backward"))};
  } catch (const Json::exception&) {
    return {};
  }
}

/// cuDNN's implementation; nothing where it refuses with any code, as ours can run without it.
std::optional<Choice> choice_of_cudnn(const Context& context, const OperationSpec& spec,
                                      const WrittenPlans& plans = {}) {
  try {
    const auto layer = graph_layer(spec, context.order);
    if (layer == nullptr) {  // a function, which may also refuse
      static_cast<void>(make_function_operation(context, spec));
      return Choice{.own = false};
    }
    return Choice{
        .own = false,
        .plans = {
            .forward = first_plan(context, spec, *layer, Pass::forward, plans.forward),
            .backward = first_plan(context, spec, *layer, Pass::backward_data, plans.backward)}};
  } catch (const Error&) {  // layer_algorithms() reports the reason
    return std::nullopt;
  }
}

/// The faster of cuDNN's operation (0) and ours (1); empty if cuDNN's cannot run after all, or
/// memory does not suffice for the trial.
struct Verdict {
  std::optional<Fastest> best{};
  std::string note{};  ///< Trialled::note
};

Verdict compare(const Context& context, const OperationSpec& spec, const Choice& theirs,
                Operation& cudnn, Operation& own) {
  try {
    const LayerTrial trial(context, spec, own, {cudnn.state_bytes(), cudnn.scratch_bytes()});
    trial.expect_runs(cudnn);
    const Candidates candidates{.runs = {[&] { trial.run(cudnn); }, [&] { trial.run(own); }},
                                .names = {name_of(theirs), name_of(Choice{})},
                                .written = trial.written(),
                                .dtype = spec.dtype,
                                .plain = 1};
    Examination examination(context, candidates);
    const auto best = fastest(context.stream, candidates.runs,
                              [&](std::size_t way) { return examination.passes(way); });
    return {best, examination.note()};
  } catch (const Error&) {  // layer_algorithms() reports the reason, unless the device is broken
    check(cudaStreamSynchronize(context.stream), "cudaStreamSynchronize", describe(spec));
    return {};
  }
}

/// Chooses by trial. Leaves the time zero if it tried nothing.
Trialled<Choice> choose(const Context& context, const OperationSpec& spec,
                        const MakeOperation& make_own) {
  const Choice ours;
  auto theirs = choice_of_cudnn(context, spec);
  if (!theirs) return {ours, name_of(ours)};
  const auto own = make_own();
  const auto other = make_chosen(context, spec, *theirs);
  auto [best, note] = compare(context, spec, *theirs, *other, *own);
  const Choice& choice = best && best->index == 0 ? *theirs : ours;
  return {choice, name_of(choice), best ? best->time : Seconds(), written(choice), std::move(note)};
}

/// Recalls ours, which needs no compilation, or cuDNN's if it still runs by the same plans.
std::optional<Choice> recall_choice(const Context& context, const OperationSpec& spec,
                                    const KeptChoice& kept) {
  const Choice ours;
  if (kept.name == name_of(ours)) return ours;
  auto theirs = choice_of_cudnn(context, spec, parse_plans(kept.data));
  if (!theirs || name_of(*theirs) != kept.name) return std::nullopt;
  const auto made = make_chosen(context, spec, *theirs);
  LayerTrial(context, spec, *made).expect_runs(*made);
  return theirs;
}

/// An operation with the origin of its choice.
class ChosenOperation final : public Operation {
 public:
  ChosenOperation(std::unique_ptr<Operation> operation, std::string remark)
      : operation_(std::move(operation)), remark_(std::move(remark)) {}

  [[nodiscard]] const TensorDesc& output() const override { return operation_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return operation_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return operation_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return operation_->scratch_bytes(); }
  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    return operation_->pass_scratch_bytes(pass);
  }
  [[nodiscard]] bool has(Pass pass) const override { return operation_->has(pass); }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    return operation_->implementation(pass) + remark_;
  }
  void run(Pass pass, const Operands& operands) override { operation_->run(pass, operands); }

 private:
  std::unique_ptr<Operation> operation_;
  std::string remark_;
};

/// Makes the list for one pass of one layer.
class Lister {
 public:
  Lister(const Context& context, const OperationSpec& spec, Pass pass, const MakeOperation& own)
      : context_(&context),
        spec_(spec),
        pass_(pass),
        own_(own),
        layer_(graph_layer(spec, context.order)) {}

  std::vector<Algorithm> list() && {
    all_.push_back({"own", own_});
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

  /// Tries what it makes: cuDNN refuses some of it only then.
  void add(std::string name, MakeOperation make) {
    all_.push_back({std::move(name), [context = context_, spec = spec_, pass = pass_, own = own_,
                                      make = std::move(make)] {
                      return offered([&] {
                        auto made = make();
                        LayerTrial(*context, spec, *made).expect_runs(*made);
                        if (pass == Pass::backward_data && is_max_pooling(spec.layer.kind)) {
                          expect_same_ties(*context->opened, spec, *own(), *made);
                        }
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
  MakeOperation own_;
  std::shared_ptr<const GraphLayer> layer_;
  std::vector<Algorithm> all_;
};

}  // namespace

std::unique_ptr<Operation> make_fastest(const Context& context, const OperationSpec& spec,
                                        const MakeOperation& own) {
  if (!is_tried(spec.layer.kind) || !cudnn_may_do(spec, context.order)) return own();
  const auto recall = [&](const KeptChoice& kept) { return recall_choice(context, spec, kept); };
  const auto chosen = context.choices->recall_or_choose<Choice>(
      fmt::format("layer {} in {}", layer_key(spec, context.order), workspace_limit), recall,
      [&] { return choose(context, spec, own); });
  auto made = chosen->choice.own ? own() : make_chosen(context, spec, chosen->choice);
  if (chosen->origin.empty()) return made;
  return std::make_unique<ChosenOperation>(std::move(made), chosen->remark());
}

std::vector<Algorithm> layer_algorithms(const Context& context, const OperationSpec& spec,
                                        Pass pass, const MakeOperation& own) {
  if (!is_timed(pass) || !cudnn_may_do(spec, context.order)) return {};
  return Lister(context, spec, pass, own).list();
}

}  // namespace dlscale::backend::cuda
