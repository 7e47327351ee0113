#pragma once
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"

namespace dlscale::collective {

/// Which parameter server keeps what: the rules by which frameworks give tensors, or parts of them,
/// to S servers. Each returns the bytes of each server, S ≥ 1 of them.

/// MXNet's kvstore of type dist: key i, counted from 0 in the order of the parameters, goes to
/// server 9973 i mod S as a whole if it has fewer than `bound` elements
/// (MXNET_KVSTORE_BIGARRAY_BOUND, 1,000,000 if it is not set), else a part to each, from round(n s
/// / S) to round(n (s + 1) / S). [EncodeKey() in src/kvstore/kvstore_dist.h at 0012f772]
std::vector<Bytes> mxnet_servers(std::span<const Bytes> tensors, Bytes element, int servers,
                                 double bound = 1e6);

/// TensorFlow's replica_device_setter: variables in turn, whatever their size.
/// [tensorflow/python/training/device_setter.py at 14e5f823, the default strategy]
std::vector<Bytes> tensorflow_servers(std::span<const Bytes> tensors, int servers);

/// tf.contrib's GreedyLoadBalancingStrategy by bytes: each variable to the server that has least,
/// the first of several. [tensorflow/contrib/training/python/training/device_setter.py]
std::vector<Bytes> tensorflow_greedy_servers(std::span<const Bytes> tensors, int servers);

/// By one of these rules; by largest_first (shard_owners()) as if each tensor were a message.
std::vector<Bytes> servers_by(Sharding rule, std::span<const Bytes> tensors, Bytes element,
                              int servers);

/// How much longer the server that keeps most takes than if all kept the same: S max / sum, in
/// [1, S]. The time of (3.19), T = 2 max{m β_w, (N / S) m β_s}, has its second term times this
/// where servers have links of their own. Requires one server or more, and a byte.
double imbalance(std::span<const Bytes> servers);

}  // namespace dlscale::collective
