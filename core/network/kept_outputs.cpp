#include "core/network/kept_outputs.hpp"

#include <variant>

namespace dlscale {
namespace {

/// backward_reads() by kind.
struct ReadsOfKind {
  using Reads = BackwardReads;
  template <class Kind>
  Reads operator()(const Kind& /*kind*/) const {
    return {.inputs = true};
  }
  Reads operator()(const Relu& /*kind*/) const { return {.output = true}; }
  Reads operator()(const Activation& kind) const {
    const bool sigmoid = kind.function == ActivationFunction::sigmoid;
    return {.inputs = !sigmoid, .output = sigmoid};
  }
  Reads operator()(const AttentionSoftmax& /*kind*/) const { return {.output = true}; }
  Reads operator()(const Route& /*kind*/) const { return {.output = true}; }
  Reads operator()(const Input& /*kind*/) const { return {}; }
  Reads operator()(const Pooling& /*kind*/) const { return {}; }
  Reads operator()(const Dropout& /*kind*/) const { return {}; }
  Reads operator()(const Concat& /*kind*/) const { return {}; }
  Reads operator()(const Sum& /*kind*/) const { return {}; }
  Reads operator()(const PositionEmbedding& /*kind*/) const { return {}; }
  Reads operator()(const RelativePositions& /*kind*/) const { return {}; }
  Reads operator()(const AttentionMemory& /*kind*/) const { return {}; }
  Reads operator()(const ToTokens& /*kind*/) const { return {}; }
  Reads operator()(const FirstToken& /*kind*/) const { return {}; }
  Reads operator()(const Rope& /*kind*/) const { return {}; }
};

}  // namespace

BackwardReads backward_reads(const Layer& layer) {
  BackwardReads reads = std::visit(ReadsOfKind{}, layer.kind);
  reads.output |= layer.relu;
  return reads;
}

std::vector<bool> kept_outputs(const Network& network) {
  std::vector<bool> kept(network.layers().size());
  for (const Layer& layer : network.layers()) {
    const BackwardReads reads = backward_reads(layer);
    if (reads.output) kept[layer.id.index()] = true;
    if (!reads.inputs) continue;
    for (const LayerId input : layer.inputs) kept[input.index()] = true;
  }
  return kept;
}

std::int64_t kept_elements(const Network& network) {
  const std::vector<bool> kept = kept_outputs(network);
  std::int64_t elements = 0;
  for (const Layer& layer : network.layers()) {
    if (kept[layer.id.index()]) elements += layer.output.elements();
  }
  return elements;
}

}  // namespace dlscale
