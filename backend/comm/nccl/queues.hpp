#pragma once

namespace dlscale::backend::gpu_comm {

/// Throws ConfigError where a second link between so many ranks cannot be used beside the first:
/// with CUDA_DEVICE_MAX_CONNECTIONS=1 streams of a GPU share one queue, in which what one link has
/// given waits behind what the other has, and the peers may have given them the other way round.
/// `value` is that of the variable, or null.
void expect_queues_for_two_links(int ranks, const char* value);

}  // namespace dlscale::backend::gpu_comm
