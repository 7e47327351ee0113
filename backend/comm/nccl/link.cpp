#include "backend/comm/nccl/link.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/device.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

using Clock = std::chrono::steady_clock;

/// A message that is not there after this long is worth a sleep of a hundredth of it.
constexpr std::chrono::microseconds spinning{2000};
constexpr std::chrono::microseconds nap{20};
/// How often a waiting rank asks NCCL for errors. Each question is a few loads.
constexpr std::chrono::milliseconds between_questions{20};

std::string next_name() {
  static std::atomic<int> links = 0;
  return fmt::format("dlscale link {}", links++);
}

}  // namespace

LinkId new_link_id(Rank rank) {
  ncclUniqueId id;
  gpu_comm::check(ncclGetUniqueId(&id), "ncclGetUniqueId", rank);
  LinkId bytes{};
  static_assert(sizeof id == sizeof bytes);
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes;
}

Link::Link(const LinkEnd& end, const LinkId& id) : end_(end), name_(next_name()) {
  enter();
  int least = 0;
  int greatest = 0;
  const std::string what = fmt::format("GPU {}", end_.device);
  gpu_comm::check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                  "cudaDeviceGetStreamPriorityRange", what);
  gpu_comm::check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
                  "cudaStreamCreateWithPriority", what);
  try {
    connect(id);
  } catch (...) {
    static_cast<void>(cudaStreamDestroy(stream_));
    throw;
  }
}

Link::~Link() {
  static_cast<void>(cudaSetDevice(end_.device));
  if (healthy_ && std::uncaught_exceptions() == 0) {
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(ncclCommFinalize(comm_));
    static_cast<void>(ncclCommDestroy(comm_));
  } else {
    static_cast<void>(ncclCommAbort(comm_));
  }
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Link::connect(const LinkId& id) {
  ncclUniqueId unique;
  std::memcpy(&unique, id.data(), sizeof unique);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  // A non-blocking communicator starts a thread for every group of calls, which would be measured.
  config.blocking = 1;
  config.commName = name_.c_str();
  const ncclResult_t code = ncclCommInitRankConfig(&comm_, end_.size, unique, end_.rank, &config);
  if (code == ncclSuccess) return;
  if (comm_ != nullptr) static_cast<void>(ncclCommAbort(comm_));
  gpu_comm::check(code, "ncclCommInitRankConfig", end_.rank);
}

void Link::enter() const {
  use_device(end_.device);
}

void Link::check(ncclResult_t code, const char* call) {
  if (code == ncclSuccess) return;
  healthy_ = false;
  gpu_comm::check(code, call, end_.rank, comm_);
}

void Link::look_for_errors() {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
  if (state != ncclInProgress) check(state, "NCCL's work on the GPU");
}

void Link::wait(cudaStream_t stream, Waiting waiting) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point asked = begin;
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) return look_for_errors();
    if (state != cudaErrorNotReady) {
      healthy_ = false;
      gpu_comm::check(state, "cudaStreamQuery", fmt::format("rank {}'s messages", end_.rank));
    }
    const Clock::time_point now = Clock::now();
    if (now - asked > between_questions) {
      look_for_errors();
      asked = now;
    }
    if (waiting == Waiting::sleep || now - begin > spinning) {
      std::this_thread::sleep_for(nap);
    }
  }
}

ncclRedOp_t nccl_operator(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::max:
      return ncclMax;
    case Reduction::min:
      return ncclMin;
  }
  EXPECT(op == Reduction::sum);
  return ncclSum;
}

}  // namespace dlscale::backend::gpu_comm
