#include "core/fingerprint.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <variant>

#include "core/step.hpp"

namespace dlscale {
namespace {

/// The fields of a layer that its answer depends on and its time does not (kernel_key() has the
/// others).
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

/// FNV-1a of 64 bits. [G. Fowler, L. C. Noll, K.-P. Vo, RFC 9923]
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 14695981039346656037U;
  for (const char letter : text) {
    value = (value ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  }
  return value;
}

}  // namespace

std::string fingerprint(const Network& network) {
  std::string text;
  for (const Layer& layer : network.layers()) {
    text += kernel_key(network, layer.id) + std::visit(OtherFields{}, layer.kind) + " from";
    for (const LayerId input : layer.inputs) text += fmt::format(" {}", input.index());
    text += '\n';
  }
  return fmt::format("{:016x}", hash(text));
}

}  // namespace dlscale
