#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/compute/cuda/context.hpp"
#include "backend/compute/cuda/convolution_pass.hpp"
#include "backend/compute/cuda/plan.hpp"

namespace dlscale::backend::cuda {

/// The most memory a plan may ask for to work in: what the fastest plans of the layers of ImageNet
/// networks at batch 256 need, and under 1 % of an H200's memory.
constexpr std::size_t workspace_limit = std::size_t{1} << 30;

/// The most plans of each form that are timed for one pass. The heuristics put the fastest among
/// their first few, and some engines are compiled for their first run, which takes a second.
constexpr std::size_t most_candidates = 10;

/// The graphs that can do one pass of a problem: with bias and ReLU fused, as far as the layer has
/// them, and without, with the weight gradient in f32 and in the operation's precision.
std::vector<GraphForm> forms_of(const ConvolutionProblem& problem, Pass pass);

/// The plans to be timed for a graph, best first as the heuristics of cuDNN have it: those that
/// keep the precision of the problem, stay within workspace_limit, and are deterministic, if there
/// are such.
std::vector<std::shared_ptr<const Plan>> candidates(const std::shared_ptr<const Graph>& graph,
                                                    const ConvolutionProblem& problem);

/// A pass by a plan of cuDNN; what the plan's graph leaves out is done by kernels of ours.
std::unique_ptr<ConvolutionPass> make_graph_pass(const Context& context,
                                                 const ConvolutionProblem& problem,
                                                 std::shared_ptr<const Plan> plan);

/// The fastest way to run a pass, by trial on the device, in this process or an earlier one: a plan
/// of cuDNN or an algorithm of ours, if it may be faster. Throws Unsupported if there is none.
std::unique_ptr<ConvolutionPass> make_tuned_pass(const Context& context,
                                                 const ConvolutionProblem& problem, Pass pass);

}  // namespace dlscale::backend::cuda
