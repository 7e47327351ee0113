#pragma once
#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "backend/comm/collective.hpp"
#include "backend/comm/mpi/collective.hpp"
#include "backend/comm/mpi/session.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend {

/// Throws LibraryError unless `rank` received `bytes` bytes.
void expect_length(MpiSession& session, Rank rank, const MPI_Status& status, int bytes);

/// MPI requests for messages that travel concurrently. begin() starts them, or make() creates them
/// once and start() starts them. They are done after wait() or when test() returns true. Throws
/// LibraryError, also if a message has an unexpected length.
class MpiRequests {
 public:
  explicit MpiRequests(MpiGroup group);
  /// Frees the requests of make(), unless a call failed or an exception is under way.
  ~MpiRequests();
  MpiRequests(const MpiRequests&) = delete;
  MpiRequests& operator=(const MpiRequests&) = delete;

  void begin(std::span<const Outgoing> out, std::span<const Incoming> in);
  void make(std::span<const Outgoing> out, std::span<const Incoming> in);
  void start();
  void wait();
  [[nodiscard]] bool test();
  /// As PreparedExchange::leave(). Returns at once and does nothing if a call failed or an
  /// exception is under way.
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
  // Receives come first. Kept to reuse the memory.
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_;  ///< bytes expected by each of the first requests
};

/// `mode` must not be blocking.
std::unique_ptr<PreparedExchange> prepare_mpi_exchange(MpiGroup group,
                                                       std::span<const Outgoing> out,
                                                       std::span<const Incoming> in, Mode mode);

}  // namespace dlscale::backend
