#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend::gpu_comm {

/// What ranks need to have in common to make a link.
using LinkId = std::array<std::byte, NCCL_UNIQUE_ID_BYTES>;

/// Drawn by one rank for all. It listens for them from now on.
LinkId new_link_id(Rank rank);

/// Who makes a link.
struct LinkEnd {
  int device = 0;
  Rank rank = 0;
  int size = 1;
};

/// A communicator of NCCL and a stream of its own, of the highest priority, so that messages do not
/// wait for computation that was enqueued before them. Destroyed in good order together with the
/// other ranks; aborted if a call failed or an exception is under way, since then they may be gone.
class Link {
 public:
  /// Collective; waits for all ranks. Makes `end.device` the current one of the calling thread.
  /// Throws LibraryError if they do not come, Interrupted after a signal.
  Link(const LinkEnd& end, const LinkId& id);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] const LinkEnd& end() const { return end_; }
  [[nodiscard]] ncclComm_t get() const { return comm_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  /// The name in NCCL's configuration, by which the profiler plugin tells links apart.
  [[nodiscard]] const std::string& name() const { return *name_; }

  /// Before any call: the thread's device.
  void enter() const;
  /// Throws as call.hpp's check() says, and marks the link as broken.
  void check(ncclResult_t code, const char* call);
  /// Returns when all that was given to `stream` is done; throws if NCCL reports that it cannot be,
  /// and aborts first: nothing can be sent over the link any more.
  void wait(cudaStream_t stream, Waiting waiting = Waiting::spin);
  void wait(Waiting waiting = Waiting::spin) { wait(stream_, waiting); }

 private:
  void connect(const LinkId& id);
  void look_for_errors();
  void wait_for(cudaStream_t stream, Waiting waiting);
  void break_off();

  LinkEnd end_;
  std::shared_ptr<const std::string> name_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool healthy_ = true;
};

ncclRedOp_t nccl_operator(Reduction op);

}  // namespace dlscale::backend::gpu_comm
