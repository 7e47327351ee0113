#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/cudnn/descriptor.hpp"
#include "backend/compute/cuda/cudnn/graph.hpp"

namespace dlscale::backend::cuda {

/// A tensor of a graph and its address on the device.
struct Binding {
  TensorId id;
  void* data;
  bool operator==(const Binding&) const = default;
};

/// An execution plan: a graph, the engine chosen for it, and the settings of that engine's knobs.
class Plan {
 public:
  /// Throws Unsupported or LibraryError if the engine cannot do it after all. `graph` has an open
  /// device or a described one. `serialized` comes from serialized() for the same graph and
  /// configuration, on the same kind of device, with the same library; empty: the plan is built
  /// anew.
  Plan(std::shared_ptr<const Graph> graph, std::shared_ptr<const Descriptor> configuration,
       const std::string& serialized = {});

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] const EngineNotes& notes() const { return notes_; }
  [[nodiscard]] const Descriptor& configuration() const { return *configuration_; }
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// "cudnn 9.19 eng45 k2=4 k5=3 [TENSOR_CORE] ws=12.6MB"
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Descriptor& descriptor() const { return plan_; }
  /// The plan with its compiled code, as cuDNN serializes it. Empty for engines that compile
  /// nothing, which cuDNN does not serialize.
  [[nodiscard]] std::string serialized() const;

 private:
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Descriptor> configuration_;
  Descriptor plan_;
  EngineNotes notes_;
  std::size_t workspace_bytes_;
  std::string name_;
};

/// Runs a plan. Reuses the addresses it has passed to cuDNN as long as they stay the same.
class PlanRunner {
 public:
  explicit PlanRunner(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  [[nodiscard]] const Plan& plan() const { return *plan_; }
  /// Enqueues on the stream of the graph's handle. `workspace` has workspace_bytes().
  void run(const std::vector<Binding>& bindings, std::byte* workspace);

 private:
  void bind(const std::vector<Binding>& bindings, std::byte* workspace);

  std::shared_ptr<const Plan> plan_;
  std::vector<Binding> bindings_;
  std::byte* workspace_ = nullptr;
  std::unique_ptr<Descriptor> pack_;
};

/// Restores a plan from its serialized form; builds it anew where that is empty, or cuDNN cannot
/// read it.
std::shared_ptr<const Plan> restored_plan(const std::shared_ptr<const Graph>& graph,
                                          const std::shared_ptr<const Descriptor>& configuration,
                                          const std::string& serialized);

/// Name that distinguishes the plans of a pass: "eng45 k2=4 k5=3 fused-bias".
std::string setting_name(const Descriptor& configuration, const GraphForm& form);

/// The configuration with this setting_name() for the graph's form; nothing if cuDNN does not offer
/// it, or the name is invalid. Asks no heuristics.
std::optional<Descriptor> configuration_named(const Graph& graph, const std::string& name);

/// The configuration of an engine with all its knobs at their defaults; nothing if it does not
/// support the graph after all.
std::optional<Descriptor> default_configuration(const Graph& graph, const Descriptor& engine);

}  // namespace dlscale::backend::cuda
