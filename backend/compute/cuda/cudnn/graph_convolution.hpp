#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_pass.hpp"
#include "backend/compute/cuda/cudnn/plan.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// The most memory a plan may ask for to work in: what the fastest plans of the layers of ImageNet
/// networks at batch 256 need, and under 1 % of an H200's memory.
constexpr std::size_t workspace_limit = std::size_t{1} << 30;

/// The most plans of each form that are timed for one pass. The heuristics put the fastest among
/// their first few.
constexpr std::size_t most_candidates = 10;

/// The most of them by engines that are compiled for the shape, which takes a second each: a
/// network has dozens of shapes.
constexpr std::size_t most_compiled = 3;

/// The graphs that can do one pass of a problem: with bias and ReLU fused, as far as the layer has
/// them, and without, with the weight gradient in f32 and in the operation's precision.
std::vector<GraphForm> forms_of(const ConvolutionProblem& problem, Pass pass);

/// The form whose plans have such a setting_name(); nothing if none has.
std::optional<GraphForm> form_named(const std::vector<GraphForm>& forms, const std::string& name);

/// The engines to make plans of with their settings: what the heuristics of cuDNN recommend, best
/// first, and all others with default settings, as far as they keep the precision and are
/// deterministic, if there are such; of those that are compiled the first most_compiled.
std::vector<Descriptor> configurations_to_try(const Graph& graph, DType dtype);

/// The plans to be timed for a graph: the first most_candidates of configurations_to_try() that
/// stay within workspace_limit.
std::vector<std::shared_ptr<const Plan>> candidates(const std::shared_ptr<const Graph>& graph,
                                                    const ConvolutionProblem& problem);

/// A pass by a plan of cuDNN; what the plan's graph leaves out is done by kernels of ours.
std::unique_ptr<ConvolutionPass> make_graph_pass(const Context& context,
                                                 const ConvolutionProblem& problem,
                                                 std::shared_ptr<const Plan> plan);

/// The fastest way to run a pass, by trial on the device, in this process or an earlier one: a plan
/// of cuDNN or an algorithm of ours, if it may be faster, that can be recorded as a CUDA graph and
/// answers as the first plan that fuses nothing. Throws Unsupported if there is none.
std::unique_ptr<ConvolutionPass> make_tuned_pass(const Context& context,
                                                 const ConvolutionProblem& problem, Pass pass);

}  // namespace dlscale::backend::cuda
