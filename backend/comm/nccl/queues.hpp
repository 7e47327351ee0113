#pragma once

namespace dlscale::backend::gpu_comm {

/// Throws ConfigError if a second link between `ranks` ranks cannot work beside the first. With
/// CUDA_DEVICE_MAX_CONNECTIONS=1 the streams of a GPU share one queue. Work of one link then waits
/// behind work of the other, and the peers may have enqueued them in the opposite order. `value` is
/// the value of the variable, or null.
void expect_queues_for_two_links(int ranks, const char* value);

}  // namespace dlscale::backend::gpu_comm
