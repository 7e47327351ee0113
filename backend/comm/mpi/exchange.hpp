#pragma once
#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "backend/comm/collective.hpp"
#include "backend/comm/messages.hpp"
#include "backend/comm/mpi/collective.hpp"
#include "backend/comm/mpi/session.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend {

/// Throws LibraryError unless so many bytes came to `rank`.
void expect_length(MpiSession& session, Rank rank, const MPI_Status& status, int bytes);

/// Requests of MPI for messages that travel at once. They are started by begin(), or made once by
/// make() and started by start(), and are done after wait() or where test() says so. Throws
/// LibraryError, also where a message of another length came than was expected.
class MpiRequests {
 public:
  explicit MpiRequests(MpiGroup group);
  /// Frees those of make(), unless a call failed or an exception is under way.
  ~MpiRequests();
  MpiRequests(const MpiRequests&) = delete;
  MpiRequests& operator=(const MpiRequests&) = delete;

  void begin(std::span<const Outgoing> out, std::span<const Incoming> in);
  void make(std::span<const Outgoing> out, std::span<const Incoming> in);
  void start();
  void wait();
  [[nodiscard]] bool test();
  /// As PreparedExchange::leave(); at once, and with nothing done, if a call failed or an exception
  /// is under way.
  [[nodiscard]] bool leave();

 private:
  struct Calls;

  void add(std::span<const Outgoing> out, std::span<const Incoming> in, const Calls& calls);
  [[nodiscard]] bool may_clean_up() const;
  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }
  void check(int code, const char* call) const;
  void expect_lengths();

  MpiGroup group_;
  bool are_made_ = false;
  bool under_way_ = false;
  // Those that receive come first. Kept for their memory.
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_;  ///< bytes to come for each of the first requests
};

/// `mode` is not blocking.
std::unique_ptr<PreparedExchange> prepare_mpi_exchange(MpiGroup group,
                                                       std::span<const Outgoing> out,
                                                       std::span<const Incoming> in, Mode mode);

}  // namespace dlscale::backend
