#pragma once
#include <cstdint>
#include <vector>

#include "core/network/network.hpp"

namespace dlscale {

/// Whether backward of a layer reads its inputs, and its own output.
struct BackwardReads {
  bool inputs = false;
  bool output = false;
};
BackwardReads backward_reads(const Layer& layer);

/// By layer: whether backward reads its output, so that training keeps it from forward on.
/// Products, normalisations, LRN, GELU, SiLU, gates and losses read their inputs. ReLU, sigmoid and
/// softmax read their own outputs, which may stand in place of their inputs. Sums, concatenations,
/// average pooling, rotations and copies read neither; max pooling and dropout keep places and
/// masks instead.
std::vector<bool> kept_outputs(const Network& network);

/// Elements of the outputs that training keeps of one sample.
std::int64_t kept_elements(const Network& network);

}  // namespace dlscale
