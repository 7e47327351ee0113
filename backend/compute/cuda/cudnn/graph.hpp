#pragma once
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/cudnn/descriptor.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend::cuda {

/// Where a graph is to run: an open device, or one that is only described. A description (cuDNN 9.8
/// and later) needs no GPU, but its plans cannot be executed.
struct Target {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const Descriptor> description{};
};

/// A target from the JSON that cuDNN itself writes for a device.
Target described_target(const std::string& json);

/// The type in memory.
cudnnDataType_t data_type(DType dtype);

/// The tensors of a graph, by the unique ids that cuDNN gets.
enum class TensorId : std::int64_t {
  input = 1,
  weights,
  output,
  bias,
  sum,
  biased,
  // Those that only other layers than convolutions have.
  input_gradient = 100,
  output_gradient,
  places,  ///< of the largest elements of windows
  scale,
  shift,
  scale_gradient,
  shift_gradient,
  mean,
  inverse_deviation,
  epsilon,
};

/// What else a convolution's graph does.
enum class Fusion {
  none,
  bias,  ///< forward: adds the bias before it rounds to the output's precision
  relu,  ///< forward: adds the bias, if the layer has one, and takes the ReLU before it rounds
};

/// How the weight gradient is written: as our parameters' gradients are, or in the precision of
/// the operation, for kernels that write no other.
enum class GradientPrecision { f32, low };

/// The graph of one pass; output and weights stand for their gradients in backward passes.
struct GraphForm {
  Pass pass = Pass::forward;
  Fusion fusion = Fusion::none;
  GradientPrecision weight_gradient = GradientPrecision::f32;
};

/// " fused-bias", " fused-relu", " low-gradient": what tells forms of a pass apart.
std::string words_of(const GraphForm& form);

/// A finalized operation graph of cuDNN.
class Graph {
 public:
  /// Throws Unsupported or LibraryError.
  Graph(const Target& target, const ConvolutionProblem& problem, const GraphForm& form);
  /// Of other operations than convolutions: finalized descriptors, and which of them are the
  /// operations. Throws likewise.
  Graph(const Target& target, std::vector<Descriptor> parts,
        std::span<const std::size_t> operations);

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Descriptor& descriptor() const { return operation_graph_; }
  /// Of a convolution's graph.
  [[nodiscard]] const GraphForm& form() const { return form_; }
  /// Engines that cuDNN knows for graphs of this kind; few support a given one.
  [[nodiscard]] std::int64_t engine_count() const;

 private:
  Target target_;
  GraphForm form_;
  std::vector<Descriptor> parts_;  ///< what the graph refers to
  Descriptor operation_graph_;
};

/// What cuDNN says of an engine.
struct EngineNotes {
  std::int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> numerical;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  [[nodiscard]] bool has(cudnnBackendNumericalNote_t note) const;
  /// Whether the same tensors give the same answer each time, to the bit.
  [[nodiscard]] bool is_deterministic() const;
  /// Whether its kernel is compiled when a plan is made.
  [[nodiscard]] bool is_compiled() const;
};

/// "eng45 [TENSOR_CORE RUNTIME_COMPILATION]"
std::string to_string(const EngineNotes& notes);

/// Engine `index` with all its knobs at their defaults; nothing if it does not support the graph.
std::optional<Descriptor> engine(const Graph& graph, std::int64_t index);
EngineNotes notes_of(const Descriptor& engine);

/// All engines that support the graph.
std::vector<EngineNotes> census(const Graph& graph);

/// Whether an engine computes as `dtype` promises. f32: products of f32, so no tensor cores. tf32
/// and less: tensor cores, but operands not rounded to less than that. Sums in f32 always.
bool keeps_precision(const EngineNotes& notes, DType dtype);

/// Engine configurations that the heuristics of cuDNN recommend, best first, without repetitions:
/// those of mode A, then B, then the fallback.
std::vector<Descriptor> recommended(const Graph& graph);

/// The engine of a configuration, and "k2=13 k5=0", its knobs.
Descriptor engine_of(const Descriptor& configuration);
std::string knobs_of(const Descriptor& configuration);

}  // namespace dlscale::backend::cuda
