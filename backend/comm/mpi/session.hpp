#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/ids.hpp"

namespace dlscale::backend {

/// MPI, initialised once per process for calls from several threads, and finalised when the last
/// communicator is destroyed. It is not finalised if a call failed or an exception is under way:
/// other ranks may then be gone, and finalising would wait for them.
class MpiSession {
 public:
  /// The session of this process. Throws Unsupported if this MPI allows one thread only, and
  /// LibraryError if MPI was already finalised.
  static std::shared_ptr<MpiSession> join();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// Throws LibraryError naming call, code, rank and MPI's own text unless `code` is MPI_SUCCESS.
  void check(int code, const char* call, Rank rank);
  /// False once a call failed.
  [[nodiscard]] bool healthy() const { return healthy_; }

 private:
  MpiSession();
  std::atomic<bool> healthy_ = true;
  bool initialised_here_ = false;
};

/// "Open MPI 4.1.4", "MPICH 4.0.2": name and version from the text of MPI_Get_library_version.
std::string short_library_name(std::string_view text);

/// Whether this MPI was built for CUDA and found it, so that its calls accept GPU memory. False for
/// an MPI that does not report it. Call it after MPI is initialised.
bool mpi_takes_device_memory();

}  // namespace dlscale::backend
