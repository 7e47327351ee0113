#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "backend/comm/launch.hpp"
#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/communicator.hpp"
#include "backend/comm/nccl/profile.hpp"
#include "backend/comm/nccl/preconditions.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

using namespace gpu_comm;

const char* from_environment(const char* name) {
  return std::getenv(name);
}

std::unique_ptr<Communicator> connect_host() {
  const Family<CommBackend> backends = family<CommBackend>();
  if (const CommBackend* host = backends.find(launched_backend())) return host->connect();
  const std::optional<Launch> launch = detect_launch(from_environment);
  if (launch && launch->size == 1) return backends.find("local")->connect();
  throw Unsupported(
      "A launcher started this program, but this build has no MPI, by which its ranks could find "
      "each other. Install libopenmpi-dev or libmpich-dev and build again.");
}

std::vector<RankGpu> gather_gpus(Communicator& ranks) {
  const RankGpu mine = gpu_of_rank(ranks.node_rank());
  std::vector<RankGpu> gpus(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(gpus)));
  return gpus;
}

/// The ranks that a launcher started, or a single rank.
std::unique_ptr<Communicator> connect_ranks() {
  offer_profiler();
  std::unique_ptr<Communicator> host = connect_host();
  const std::vector<RankGpu> gpus = gather_gpus(*host);
  check_gpus(gpus);
  const int device = gpus.at(static_cast<std::size_t>(host->rank())).device;
  return std::make_unique<NcclCommunicator>(std::move(host), device);
}

std::string obstacle_among(Communicator& launched) {
  try {
    check_gpus(gather_gpus(launched));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Nothing if a rank sees no GPU: the compute backend reports that.
std::optional<int> gpu_among(Communicator& launched) {
  const std::vector<RankGpu> gpus = gather_gpus(launched);
  const auto sees_none = [](const RankGpu& gpu) { return gpu.device < 0; };
  if (std::ranges::any_of(gpus, sees_none)) return std::nullopt;
  return gpus.at(static_cast<std::size_t>(launched.rank())).device;
}

}  // namespace

extern const CommBackend nccl{
    .name = "nccl",
    .doc = "between GPUs, one a rank, of the ranks that mpirun starts",
    .connect = connect_ranks,
    .obstacle = why_no_gpu,
    .obstacle_among = obstacle_among,
    .gpu_among = gpu_among,
};

}  // namespace dlscale::backend
