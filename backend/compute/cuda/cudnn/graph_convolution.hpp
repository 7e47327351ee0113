#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/cudnn/plan.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Most workspace memory of a plan: what the fastest plans of the layers of ImageNet networks at
/// batch 256 need. It is under 1 % of an H200's memory.
constexpr std::size_t workspace_limit = std::size_t{1} << 30;

/// Most plans of each form that are timed for one pass. The heuristics put the fastest among their
/// first few.
constexpr std::size_t most_candidates = 10;

/// Most of these plans whose engines are compiled for the shape, which takes a second each: a
/// network has dozens of shapes.
constexpr std::size_t most_compiled = 3;

/// The graphs that can do one pass of a problem: with bias and ReLU fused, as far as the layer has
/// them, and without. Their weight gradient is in f32 or in the operation's precision.
std::vector<GraphForm> forms_of(const ConvolutionProblem& problem, Pass pass);

/// The form whose plans have this setting_name(); nothing if there is none.
std::optional<GraphForm> form_named(const std::vector<GraphForm>& forms, const std::string& name);

/// Engines with their settings from which to make plans: the recommendations of cuDNN's heuristics,
/// best first, then all others with default settings. Only engines that keep the precision are
/// included, only deterministic ones if there are any, and only the first most_compiled of the
/// compiled ones.
std::vector<Descriptor> configurations_to_try(const Graph& graph, DType dtype);

/// The plans to time for a graph: the first most_candidates of configurations_to_try() that stay
/// within workspace_limit.
std::vector<std::shared_ptr<const Plan>> candidates(const std::shared_ptr<const Graph>& graph,
                                                    const ConvolutionProblem& problem);

/// A pass by a plan of cuDNN; our kernels do what the plan's graph leaves out.
std::unique_ptr<ConvolutionPass> make_graph_pass(const Context& context,
                                                 const ConvolutionProblem& problem,
                                                 std::shared_ptr<const Plan> plan);

/// The fastest algorithm for a pass, by trial on the device in this process or an earlier one. It
/// is a plan of cuDNN or, if it may be faster, an algorithm of ours. It must be recordable as a
/// CUDA graph and agree with the first plan that fuses nothing. Throws Unsupported if there is
/// none.
std::unique_ptr<ConvolutionPass> make_tuned_pass(const Context& context,
                                                 const ConvolutionProblem& problem, Pass pass);

}  // namespace dlscale::backend::cuda
