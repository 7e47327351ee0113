#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend::gpu_comm {

/// Identifier that ranks share to make a link.
using LinkId = std::array<std::byte, NCCL_UNIQUE_ID_BYTES>;

/// Drawn by one rank for all. That rank listens for the others from now on.
LinkId new_link_id(Rank rank);

/// One rank's end of a link.
struct LinkEnd {
  int device = 0;
  Rank rank = 0;
  int size = 1;
};

/// An NCCL communicator and its own stream of the highest priority, so that messages do not wait
/// for computation that was enqueued earlier. Destroyed together with the other ranks; aborted if a
/// call failed or an exception is under way, since the others may then be gone.
class Link {
 public:
  /// Collective; waits for all ranks. Makes `end.device` the current device of the thread. Throws
  /// LibraryError if a rank does not join, Interrupted after a signal.
  Link(const LinkEnd& end, const LinkId& id);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] const LinkEnd& end() const { return end_; }
  [[nodiscard]] ncclComm_t get() const { return comm_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  /// Name in NCCL's configuration, by which the profiler plugin distinguishes links.
  [[nodiscard]] const std::string& name() const { return *name_; }

  /// Sets the thread's device; call it before any other call.
  void enter() const;
  /// Throws as check() of call.hpp does, and marks the link as broken.
  void check(ncclResult_t code, const char* call);
  /// Returns when all work on the stream is done. If NCCL reports a failure, aborts the link, which
  /// cannot be used any more, and throws.
  void wait();

 private:
  void connect(const LinkId& id);
  void look_for_errors();
  void wait_for_stream();
  void break_off();

  LinkEnd end_;
  std::shared_ptr<const std::string> name_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool healthy_ = true;
};

ncclRedOp_t nccl_operator(Reduction op);

}  // namespace dlscale::backend::gpu_comm
