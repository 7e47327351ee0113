#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// One step of an iteration, shared by the engine that runs it and the model that predicts it.
enum class Pass {
  forward,
  backward_data,    ///< gradient of the inputs; for batch norm also of scale and shift
  backward_filter,  ///< gradient of weights and bias; convolution and fully connected layers only
  accumulate,       ///< sum of the gradients that several consumers return for one output
};
std::string_view pass_name(Pass pass);

struct Step {
  LayerId layer;
  Pass pass;
};

/// Operations and the minimum bytes that must move (each operand once).
struct Work {
  Flops flops;
  Bytes bytes;
};

/// All forward passes, in network order (no step for Input).
std::vector<Step> forward_steps(const Network& network);

/// The backward pass in execution order, last layer first. Per layer: accumulate (if its output has
/// more than one consumer), backward_filter, backward_data. Gradients that reach no parameters,
/// such as those of the input, have neither backward_data nor accumulate. Batch norm always has
/// backward_data, which computes its parameter gradients. Operations without computation have no
/// step: the backward of Sum passes its gradient on, as does fan-out to a single consumer.
///
/// A layer with its own ReLU (Layer::relu) passes the gradient of its output only where that output
/// is positive. It does so in its first pass here: a convolution in backward_filter, which leaves
/// the result to backward_data; batch norm in backward_data. Sum has a backward_data for the ReLU
/// alone, which computes the one gradient that all of its inputs share.
std::vector<Step> backward_steps(const Network& network);

/// Nominal work of a step for a batch; a multiply-add is two operations, padding counts.
Work work(const Network& network, Step step, int batch, DType dtype);

/// Name of the kernel that a step runs, equal for layers with the same work. Example: "convolution
/// c64 h56 w56 k256 r1 s1 stride1 pad0 groups1", followed by " relu" if the layer includes one. The
/// number of consumers is included if it is more than one, because accumulate depends on it; batch,
/// pass and precision are not.
std::string kernel_key(const Network& network, LayerId layer);

/// The gradients of one message: layers in the order in which backward finishes them, last layer
/// first. `elements` counts weights and biases.
struct Bucket {
  std::vector<LayerId> layers;
  std::int64_t elements = 0;
};

/// How a schedule cuts the gradients into messages. The schedules bucketed and
/// reduce_scatter_overlap close a bucket at its limit: 1 MiB for the first, 25 MiB for the others,
/// as PyTorch DDP does. The other schedules have one message per layer with parameters. Of these,
/// merged_greedy and merged (once they know their groups) and horovod merge these messages
/// (core/network/merge.hpp); priority cuts them into parts. Of `settings` only the bucket limits
/// count.
std::vector<Bucket> gradient_buckets(const Network& network, Schedule schedule,
                                     const ScheduleSettings& settings = {});

/// The backward step after which the gradients of a bucket are complete, so that it may be sent: an
/// index into `steps`, which is backward_steps(network). It is the last backward_filter (for batch
/// norm: backward_data) of its layers, which all have parameters.
std::size_t ready_after(const Network& network, std::span<const Step> steps, const Bucket& bucket);

}  // namespace dlscale
