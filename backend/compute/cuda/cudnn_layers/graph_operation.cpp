#include "backend/compute/cuda/cudnn_layers/graph_operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "backend/compute/cuda/cudnn/graph_convolution.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class GraphOperation final : public LayerOperation {
 public:
  GraphOperation(const Context& context, const OperationSpec& spec,
                 std::shared_ptr<const GraphLayer> layer, const LayerPlans& plans)
      : LayerOperation(tensor_desc(output_dims(spec), spec.dtype, context.order)),
        layer_(std::move(layer)),
        forward_(plans.forward),
        backward_(plans.backward) {
    set_parameters(layer_->parameters());
    set_state(layer_->state_bytes());
    set_scratch(std::max(plans.forward->workspace_bytes(), plans.backward->workspace_bytes()));
  }

  [[nodiscard]] std::string implementation(Pass pass) const override {
    EXPECT(has(pass));
    return (pass == Pass::forward ? forward_ : backward_).plan().name();
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    PlanRunner& runner = pass == Pass::forward ? forward_ : backward_;
    runner.run(layer_->bindings(pass, operands, begin(operands.state)), begin(operands.scratch));
  }

 private:
  std::shared_ptr<const GraphLayer> layer_;
  PlanRunner forward_;
  PlanRunner backward_;
};

void expect_admitted(const OperationSpec& spec, const EngineNotes& notes) {
  const auto refuse = [&](const char* why) {
    throw Unsupported(fmt::format("{}: {} {}.", describe(spec), to_string(notes), why));
  };
  if (!computes_in_f32(notes, spec.dtype)) refuse("computes with less than f32");
  if (!notes.is_deterministic()) refuse("may answer otherwise the next time");
}

/// The parameters of a kind on which its work depends.
std::string numbers_of(const LayerKind& kind) {
  if (const auto* pooling = std::get_if<Pooling>(&kind)) {
    return fmt::format("{}x{} stride{} pad{}", pooling->kernel_h, pooling->kernel_w,
                       pooling->stride, pooling->pad);
  }
  if (const auto* lrn = std::get_if<Lrn>(&kind)) {
    return fmt::format("{} {} {} {}", lrn->size, lrn->alpha, lrn->beta, lrn->k);
  }
  const auto* norm = std::get_if<BatchNorm>(&kind);
  return norm == nullptr ? "" : fmt::format("{}", norm->epsilon);
}

}  // namespace

bool computes_in_f32(const EngineNotes& notes, DType dtype) {
  return keeps_precision(notes, dtype == DType::f32 ? DType::tf32 : dtype);
}

std::vector<Setting> settings(const Graph& graph) {
  std::vector<Setting> found;
  for (Descriptor& configuration : recommended(graph)) {
    if (found.size() == most_settings) break;
    EngineNotes notes = notes_of(engine_of(configuration));
    std::string knobs = knobs_of(configuration);
    found.push_back({std::move(notes), std::move(knobs),
                     std::make_shared<const Descriptor>(std::move(configuration))});
  }
  return found;
}

std::shared_ptr<const Plan> layer_plan(const Context& context, const OperationSpec& spec, Pass pass,
                                       const std::shared_ptr<const Graph>& graph,
                                       const Setting& setting, const WrittenPlan& written) {
  expect_admitted(spec, setting.notes);
  const std::string key =
      fmt::format("layer plan {} {} eng{} {}", pass_name(pass), layer_key(spec, context.order),
                  setting.notes.index, setting.knobs);
  auto plan = context.choices->find_or_make<Plan>(key, [&] {
    const bool known = setting_name(*setting.configuration, graph->form()) == written.setting;
    return restored_plan(graph, setting.configuration, known ? written.text : "");
  });
  if (plan->workspace_bytes() <= workspace_limit) return plan;
  throw Unsupported(fmt::format("{}: {} works in more than {} MiB.", describe(spec), plan->name(),
                                workspace_limit >> 20));
}

std::shared_ptr<const Plan> first_plan(const Context& context, const OperationSpec& spec,
                                       const GraphLayer& layer, Pass pass,
                                       const WrittenPlan& written) {
  const auto graph =
      std::make_shared<const Graph>(layer.graph(Target{.handle = context.cudnn}, pass));
  std::string reason = "there is none";
  for (const Setting& setting : settings(*graph)) {
    try {
      return layer_plan(context, spec, pass, graph, setting, written);
    } catch (const Error& error) {  // what heuristics recommend may still be refused
      reason = error.what();
    }
  }
  throw Unsupported(fmt::format("{}: cuDNN {} has no engine for {}: {}.", describe(spec),
                                cudnnGetVersion(), pass_name(pass), reason));
}

std::unique_ptr<Operation> make_graph_operation(const Context& context, const OperationSpec& spec,
                                                std::shared_ptr<const GraphLayer> layer,
                                                const LayerPlans& plans) {
  return std::make_unique<GraphOperation>(context, spec, std::move(layer), plans);
}

std::string layer_key(const OperationSpec& spec, Order order) {
  return fmt::format("{} {} {} to {} {} {}", kind_name(spec.layer.kind),
                     numbers_of(spec.layer.kind), fmt::join(spec.inputs.front().dims, "x"),
                     fmt::join(output_dims(spec), "x"), dtype_name(spec.dtype),
                     order == Order::nhwc ? "nhwc" : "nchw");
}

}  // namespace dlscale::backend::cuda
