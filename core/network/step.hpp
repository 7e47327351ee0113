#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// What an iteration executes, shared by the engine that runs it and the model that predicts it.
enum class Pass {
  forward,
  backward_data,    ///< gradient of the inputs; of batch norm also of scale and shift
  backward_filter,  ///< gradient of weights and bias; convolution and fully connected only
  accumulate,       ///< sum of the gradients that several consumers return for one output
};
std::string_view pass_name(Pass pass);

struct Step {
  LayerId layer;
  Pass pass;
};

/// Operations and the least bytes that must move (each operand once).
struct Work {
  Flops flops;
  Bytes bytes;
};

/// All forward passes, in network order (no step for Input).
std::vector<Step> forward_steps(const Network& network);

/// The backward pass in the order it is executed, last layer first. Per layer: accumulate (if its
/// output has more than one consumer), backward_filter, backward_data. No backward_data or
/// accumulate for gradients that reach no parameters, such as those of the input; batch norm always
/// has backward_data, which makes its parameter gradients. No step where nothing is computed: the
/// backward of Sum hands its gradient on without work, as does fan-out to a single consumer.
///
/// A layer with a ReLU of its own (Layer::relu) lets the gradient of its output through only where
/// that output is positive, in the first of its passes here: a convolution in backward_filter,
/// which leaves it so to backward_data; batch norm in backward_data; and Sum has a backward_data
/// for it alone, which makes the one gradient that all of its inputs share.
std::vector<Step> backward_steps(const Network& network);

/// Declared work of a step for a batch; a multiply-add is two operations, padding counts.
Work work(const Network& network, Step step, int batch, DType dtype);

/// The name of the kernel a step runs, equal for layers that do the same work, such as
/// "convolution c64 h56 w56 k256 r1 s1 stride1 pad0 groups1", with " relu" at its end where the
/// layer has taken one in. The number of consumers is part of it where it is more than one, because
/// accumulate depends on it; batch, pass and precision are not.
std::string kernel_key(const Network& network, LayerId layer);

/// The gradients of one message: layers in the order in which backward finishes them, last layer
/// first. `elements` counts weights and biases.
struct Bucket {
  std::vector<LayerId> layers;
  std::int64_t elements = 0;
};

/// How a schedule cuts the gradients into messages (MODEL 1.1, 2.3). bucketed and
/// reduce_scatter_overlap: a bucket is closed when its size reaches its limit, 1 MiB for the first,
/// 25 MiB for the others, as PyTorch DDP does. The others: one message a layer with parameters,
/// which merged_greedy and merged (once they know their groups) and horovod put together
/// (core/network/merge.hpp), and priority cuts into parts. Of `settings` the limits of buckets count.
std::vector<Bucket> gradient_buckets(const Network& network, Schedule schedule,
                                     const ScheduleSettings& settings = {});

/// The backward step after which the gradients of a bucket are complete, so that it may be sent: an
/// index into `steps`, which is backward_steps(network). The last backward_filter (of batch norm:
/// backward_data) of its layers, which all have parameters.
std::size_t ready_after(const Network& network, std::span<const Step> steps, const Bucket& bucket);

}  // namespace dlscale
