#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/cudnn/plan.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

/// Most settings of a graph's engines that are listed: those that cuDNN recommends first. An engine
/// for batch norm has dozens.
constexpr std::size_t most_settings = 2;

/// Whether an engine computes in f32, whatever the precision of the tensors. Possible use of tensor
/// cores does not matter to layers that multiply no matrices.
bool computes_in_f32(const EngineNotes& notes, DType dtype);

/// An engine setting that can run a graph.
struct Setting {
  EngineNotes notes;
  std::string knobs;
  std::shared_ptr<const Descriptor> configuration;
};

/// The first most_settings that cuDNN recommends for a graph.
std::vector<Setting> settings(const Graph& graph);

/// A plan as an earlier process stored it.
struct WrittenPlan {
  std::string setting;  ///< setting_name()
  std::string text;     ///< Plan::serialized()
};

/// The plan for a pass of a layer by one setting. Compilation takes about a second; it happens once
/// for layers that do the same work, and not at all if `written` is of that setting. `graph` is the
/// layer's for the pass on the device of `context`. Throws Unsupported with the reason if the
/// setting does not compute in f32, is not deterministic or needs more than workspace_limit, and
/// what Plan throws.
std::shared_ptr<const Plan> layer_plan(const Context& context, const OperationSpec& spec, Pass pass,
                                       const std::shared_ptr<const Graph>& graph,
                                       const Setting& setting, const WrittenPlan& written = {});

/// The plan by the first setting that works. Throws Unsupported with the last one's reason.
std::shared_ptr<const Plan> first_plan(const Context& context, const OperationSpec& spec,
                                       const GraphLayer& layer, Pass pass,
                                       const WrittenPlan& written = {});

/// A plan for each pass of a layer.
struct LayerPlans {
  std::shared_ptr<const Plan> forward;
  std::shared_ptr<const Plan> backward;
};

/// The layer by these plans. All inputs of `spec` have the order of `context`.
std::unique_ptr<Operation> make_graph_operation(const Context& context, const OperationSpec& spec,
                                                std::shared_ptr<const GraphLayer> layer,
                                                const LayerPlans& plans);

/// Key that is equal for layers that do the same work, whatever their names; for kinds that cuDNN
/// may do.
std::string layer_key(const OperationSpec& spec, Order order);

}  // namespace dlscale::backend::cuda
