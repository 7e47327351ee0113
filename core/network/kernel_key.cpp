#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale {
namespace {

std::string shape_key(ImageShape shape) {
  return fmt::format("c{} h{} w{}", shape.channels, shape.height, shape.width);
}

/// The fields of a layer on which its kernel depends.
struct KernelKey {
  const Layer& layer;

  [[nodiscard]] std::string in() const { return shape_key(layer.input_shapes.front()); }

  /// Suffix of a convolution that is not plain (Convolution::is_plain()).
  static std::string uneven(const Convolution& kind) {
    if (kind.is_plain()) return "";
    return fmt::format(" stridew{} padw{} dilation{}", kind.stride_along_width(),
                       kind.pad_along_width(), kind.dilation);
  }

  template <class Kind>
  std::string operator()(const Kind& /*kind*/) const {
    return in();
  }
  std::string operator()(const Input& /*kind*/) const { return shape_key(layer.output); }
  std::string operator()(const Convolution& kind) const {
    return fmt::format("{} k{} r{} s{} stride{} pad{} groups{}{}{}", in(), kind.out_channels,
                       kind.kernel_h, kind.kernel_w, kind.stride, kind.pad, kind.groups,
                       kind.bias ? " bias" : "", uneven(kind));
  }
  std::string operator()(const TransposedConvolution& kind) const {
    return fmt::format("{} k{} r{} stride{}{}", in(), kind.out_channels, kind.kernel, kind.stride,
                       kind.bias ? " bias" : "");
  }
  std::string operator()(const Pooling& kind) const {
    return fmt::format("{} r{} s{} stride{} pad{}{}", in(), kind.kernel_h, kind.kernel_w,
                       kind.stride, kind.pad, kind.ceil_mode ? " ceil" : "");
  }
  std::string operator()(const Lrn& kind) const {
    return fmt::format("{} size{} beta{}", in(), kind.size, kind.beta);
  }
  std::string operator()(const FullyConnected& kind) const {
    return fmt::format("{} outputs{}{}", in(), kind.outputs, kind.bias ? " bias" : "");
  }
  std::string operator()(const Dropout& kind) const {
    return fmt::format("{} p{}", in(), kind.probability);
  }
  std::string operator()(const Concat& /*kind*/) const {
    std::vector<int> channels;
    for (const ImageShape& input : layer.input_shapes) channels.push_back(input.channels);
    return fmt::format("c{} h{} w{}", fmt::join(channels, "+"), layer.output.height,
                       layer.output.width);
  }
  std::string operator()(const Sum& /*kind*/) const {
    return fmt::format("{} inputs{}", in(), layer.inputs.size());
  }
  std::string operator()(const Linear& kind) const {
    return fmt::format("{} outputs{}{}", in(), kind.outputs, kind.bias ? " bias" : "");
  }
  std::string operator()(const ExpertLinear& kind) const {
    return fmt::format("{} outputs{} experts{} active{}", in(), kind.outputs,
                       layer.input_shapes.back().channels, kind.active);
  }
  std::string operator()(const Embedding& kind) const {
    return fmt::format("{} rows{} outputs{}", in(), kind.rows, kind.outputs);
  }
  std::string operator()(const PositionEmbedding& kind) const {
    return fmt::format("h{} rows{} outputs{}", layer.output.height, kind.rows, kind.outputs);
  }
  std::string operator()(const RelativePositions& kind) const {
    return fmt::format("h{} buckets{} heads{}", layer.output.height, kind.buckets, kind.heads);
  }
  std::string operator()(const AttentionMemory& kind) const {
    return fmt::format("{} tokens{}", in(), kind.tokens);
  }
  std::string operator()(const RelativeScores& kind) const {
    return fmt::format("{} keys{} heads{}", in(), layer.output.width, kind.heads);
  }
  std::string operator()(const ToTokens& kind) const {
    return fmt::format("{}{}{}", in(), kind.class_token ? " class" : "",
                       kind.positions ? " positions" : "");
  }
  std::string operator()(const AttentionScores& kind) const {
    return fmt::format("{} keys{} heads{} kv{}{}", in(), layer.output.width, kind.heads,
                       kind.kv_heads, kind.causal ? " causal" : "");
  }
  std::string operator()(const AttentionSoftmax& /*kind*/) const {
    return fmt::format("{}{}", in(), layer.inputs.size() > 1 ? " bias" : "");
  }
  std::string operator()(const AttentionContext& kind) const {
    return fmt::format("{} outputs{} kv{}", in(), layer.output.channels, kind.kv_heads);
  }
};

}  // namespace

std::string kernel_key(const Network& network, LayerId id) {
  const Layer& layer = network.layer(id);
  const std::size_t consumers = network.consumers(id).size();
  return fmt::format("{} {}{}{}", kind_name(layer.kind), std::visit(KernelKey{layer}, layer.kind),
                     layer.relu ? " relu" : "",
                     consumers > 1 ? fmt::format(" consumers{}", consumers) : "");
}

}  // namespace dlscale
