#include "backend/comm/nccl/queues.hpp"

#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {

void expect_queues_for_two_links(int ranks, const char* value) {
  if (ranks == 1 || value == nullptr || std::string_view(value) != "1") return;
  throw ConfigError(
      "CUDA_DEVICE_MAX_CONNECTIONS is 1, so that all that a rank gives its GPU is in one queue: "
      "messages beside computing could wait for each other for ever. Unset it; a training can also "
      "do with --schedule sequential.");
}

}  // namespace dlscale::backend::gpu_comm
