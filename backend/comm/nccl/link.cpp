#include "backend/comm/nccl/link.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <future>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/sleeping_wait.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

using Clock = std::chrono::steady_clock;

/// Spin time. A message that takes longer is worth a sleep of a hundredth of it.
constexpr std::chrono::microseconds spinning{2000};
constexpr std::chrono::microseconds longest_nap{20};
/// Pause between two queries of the driver, which other threads need for their launches. It is
/// short compared with a message, which takes at least 6.6 µs by NCCL's own cost model
/// [src/graph/tuning.cc, tag v2.28.9-1: baseLatencies].
constexpr std::chrono::microseconds between_looks{1};
/// Interval at which a waiting rank asks NCCL for errors. Each query is a few loads.
constexpr std::chrono::milliseconds between_questions{20};

/// Timeout until all ranks are connected after the barrier; a thousand ranks take less than a
/// minute.
constexpr std::chrono::seconds connecting{180};

std::shared_ptr<const std::string> next_name() {
  static std::atomic<int> links = 0;
  return std::make_shared<const std::string>(fmt::format("dlscale link {}", links++));
}

/// State of a thread that connects. Connecting blocks for ever if another rank has died since the
/// barrier, so a separate thread does it, which can be abandoned. It then still uses this state.
struct Attempt {
  LinkEnd end;
  LinkId id;
  std::shared_ptr<const std::string> name;
  ncclComm_t comm = nullptr;
  std::promise<ncclResult_t> result;
};

ncclResult_t connect(Attempt& attempt) {
  if (cudaSetDevice(attempt.end.device) != cudaSuccess) return ncclUnhandledCudaError;
  ncclUniqueId unique;
  std::memcpy(&unique, attempt.id.data(), sizeof unique);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  // A non-blocking communicator starts a thread for every group of calls, which would be measured.
  config.blocking = 1;
  config.commName = attempt.name->c_str();  // NCCL keeps the pointer
  return ncclCommInitRankConfig(&attempt.comm, attempt.end.size, unique, attempt.end.rank, &config);
}

void spin(std::chrono::nanoseconds duration) {
  const Clock::time_point end = Clock::now() + duration;
  while (Clock::now() < end) {
  }
}

void await(const std::future<ncclResult_t>& result, const LinkEnd& end) {
  const Clock::time_point begin = Clock::now();
  while (result.wait_for(between_questions) != std::future_status::ready) {
    throw_if_interrupted();
    if (Clock::now() - begin < connecting) continue;
    throw LibraryError(fmt::format(
        "NCCL did not connect rank {} with the other {} within {} s. If one of them ended, see "
        "what "
        "it printed; if all run, NCCL may be trying the wrong network: name the right one in "
        "NCCL_SOCKET_IFNAME.",
        end.rank, end.size - 1, connecting.count()));
  }
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
    break_off();
  }
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Link::break_off() {
  healthy_ = false;
  if (comm_ != nullptr) static_cast<void>(ncclCommAbort(comm_));
  comm_ = nullptr;
}

void Link::connect(const LinkId& id) {
  auto attempt = std::make_shared<Attempt>(Attempt{end_, id, name_, nullptr, {}});
  std::future<ncclResult_t> result = attempt->result.get_future();
  std::thread([attempt] { attempt->result.set_value(gpu_comm::connect(*attempt)); }).detach();
  await(result, end_);
  comm_ = attempt->comm;
  const ncclResult_t code = result.get();
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

void Link::wait() {
  try {
    wait_for_stream();
  } catch (...) {
    // NCCL's work on the GPU waits there for the other ranks, and memory freed by unwinding would
    // wait for that work.
    break_off();
    throw;
  }
}

void Link::wait_for_stream() {
  const Clock::time_point begin = Clock::now();
  Clock::time_point asked = begin;
  std::optional<SleepingWait> nap;
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaSuccess) return look_for_errors();
    if (state != cudaErrorNotReady) {
      healthy_ = false;
      gpu_comm::check(state, "cudaStreamQuery", fmt::format("rank {}'s messages", end_.rank));
    }
    static_cast<void>(cudaGetLastError());  // a result, not an error
    const Clock::time_point now = Clock::now();
    if (now - asked > between_questions) {
      look_for_errors();
      asked = now;
    }
    if (now - begin > spinning) {
      if (!nap) nap.emplace(longest_nap);
      nap->once();
    } else {
      spin(between_looks);
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
