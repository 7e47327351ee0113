#pragma once
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"

namespace dlscale::collective {

/// Placement of tensors, or of their parts, on S parameter servers, by the rules of frameworks.
/// Each function returns the bytes on each server, S ≥ 1 of them.

/// MXNet's kvstore of type dist. Key i, counted from 0 in the order of the parameters, goes to
/// server 9973 i mod S as a whole if it has fewer than `bound` elements
/// (MXNET_KVSTORE_BIGARRAY_BOUND, default 1,000,000). Otherwise each server gets a part, from
/// round(n s / S) to round(n (s + 1) / S). [EncodeKey() in src/kvstore/kvstore_dist.h at 0012f772]
std::vector<Bytes> mxnet_servers(std::span<const Bytes> tensors, Bytes element, int servers,
                                 double bound = 1e6);

/// TensorFlow's replica_device_setter: variables round-robin, whatever their size.
/// [tensorflow/python/training/device_setter.py at 14e5f823, the default strategy]
std::vector<Bytes> tensorflow_servers(std::span<const Bytes> tensors, int servers);

/// tf.contrib's GreedyLoadBalancingStrategy by bytes: each variable goes to the server with the
/// fewest bytes, the first of several.
/// [tensorflow/contrib/training/python/training/device_setter.py]
std::vector<Bytes> tensorflow_greedy_servers(std::span<const Bytes> tensors, int servers);

/// Applies one of these rules; largest_first (shard_owners()) treats each tensor as a message.
std::vector<Bytes> servers_by(Sharding rule, std::span<const Bytes> tensors, Bytes element,
                              int servers);

/// Slowdown by the most loaded server, compared with equal loads: S max / sum, in [1, S]. If
/// servers have their own links, it multiplies the second term of T = 2 max{m β_w, (N / S)
/// m β_s}. Requires one server or more, and a byte.
double imbalance(std::span<const Bytes> servers);

}  // namespace dlscale::collective
