#include "core/network/fingerprint.hpp"

#include <fmt/format.h>

#include <variant>

#include "core/base/fnv1a.hpp"
#include "core/network/step.hpp"

namespace dlscale {
namespace {

/// Fields of a layer that affect its result but not its time (kernel_key() has the others).
struct OtherFields {
  template <class Kind>
  std::string operator()(const Kind& /*kind*/) const {
    return "";
  }
  std::string operator()(const Lrn& kind) const {
    return fmt::format(" alpha{} k{}", kind.alpha, kind.k);
  }
  std::string operator()(const BatchNorm& kind) const {
    return fmt::format(" epsilon{}", kind.epsilon);
  }
  std::string operator()(const SoftmaxCrossEntropy& kind) const {
    return fmt::format(" loss_weight{}", kind.loss_weight);
  }
};

}  // namespace

std::string fingerprint(const Network& network) {
  std::string text;
  for (const Layer& layer : network.layers()) {
    text += kernel_key(network, layer.id) + std::visit(OtherFields{}, layer.kind) + " from";
    for (const LayerId input : layer.inputs) text += fmt::format(" {}", input.index());
    text += '\n';
  }
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace dlscale
