#include "backend/comm/mpi/exchange.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/mpi/chunks.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

void expect_length(MpiSession& session, Rank rank, const MPI_Status& status, int bytes) {
  int came = 0;
  const int code = MPI_Get_count(&status, MPI_BYTE, &came);
  if (code != MPI_SUCCESS) session.check(code, "MPI_Get_count", rank);
  if (came == bytes) return;
  throw LibraryError(fmt::format("receive on rank {} from rank {}: {} bytes came, {} expected.",
                                 rank, status.MPI_SOURCE, came, bytes));
}

/// How requests are created: started at once, or persistent.
struct MpiRequests::Calls {
  int (*receive)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  const char* receive_name;
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  const char* send_name;
};

MpiRequests::MpiRequests(MpiGroup group) : group_(std::move(group)) {}

MpiRequests::~MpiRequests() {
  if (!are_made_ || under_way_ || !may_clean_up()) return;
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

void MpiRequests::begin(std::span<const Outgoing> out, std::span<const Incoming> in) {
  requests_.clear();
  expected_.clear();
  add(out, in, {MPI_Irecv, "MPI_Irecv", MPI_Isend, "MPI_Isend"});
  under_way_ = true;
}

void MpiRequests::make(std::span<const Outgoing> out, std::span<const Incoming> in) {
  EXPECT(requests_.empty());
  are_made_ = true;
  add(out, in, {MPI_Recv_init, "MPI_Recv_init", MPI_Send_init, "MPI_Send_init"});
}

/// Starts requests one by one: MPI_Startall starts them in any order, and large messages consist of
/// several with one tag.
void MpiRequests::start() {
  EXPECT(are_made_ && !under_way_);
  under_way_ = true;
  for (MPI_Request& request : requests_) check(MPI_Start(&request), "MPI_Start");
}

void MpiRequests::wait() {
  if (!under_way_) return;
  statuses_.resize(requests_.size());
  check(MPI_Waitall(count(), requests_.data(), statuses_.data()), "MPI_Waitall");
  under_way_ = false;
  expect_lengths();
}

bool MpiRequests::test() {
  if (!under_way_) return true;
  int done = 0;
  statuses_.resize(requests_.size());
  check(MPI_Testall(count(), requests_.data(), &done, statuses_.data()), "MPI_Testall");
  if (done == 0) return false;
  under_way_ = false;
  expect_lengths();
  return true;
}

/// MPI can cancel receives that have no sender yet, but not sends.
bool MpiRequests::leave() {
  if (!under_way_) return true;
  if (!may_clean_up()) return false;
  under_way_ = false;
  const std::span<MPI_Request> all(requests_);
  for (MPI_Request& request : all.first(expected_.size())) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  const std::span<MPI_Request> sends = all.subspan(expected_.size());
  int sent = 0;
  MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE);
  if (sent != 0) return true;
  for (MPI_Request& request : sends) MPI_Request_free(&request);
  return false;
}

void MpiRequests::add(std::span<const Outgoing> out, std::span<const Incoming> in,
                      const Calls& calls) {
  for (const Incoming& message : in) {
    for_each_chunk(message.data.size(), largest_chunk, [&](std::size_t offset, int bytes) {
      check(calls.receive(message.data.data() + offset, bytes, MPI_BYTE, message.from, message.tag,
                          group_.comm, &requests_.emplace_back(MPI_REQUEST_NULL)),
            calls.receive_name);
      expected_.push_back(bytes);
    });
  }
  for (const Outgoing& message : out) {
    for_each_chunk(message.data.size(), largest_chunk, [&](std::size_t offset, int bytes) {
      check(calls.send(message.data.data() + offset, bytes, MPI_BYTE, message.to, message.tag,
                       group_.comm, &requests_.emplace_back(MPI_REQUEST_NULL)),
            calls.send_name);
    });
  }
}

bool MpiRequests::may_clean_up() const {
  return group_.session->healthy() && std::uncaught_exceptions() == 0;
}

/// Tests for success without a call, because this is timed with every message.
void MpiRequests::check(int code, const char* call) const {
  if (code != MPI_SUCCESS) group_.session->check(code, call, group_.rank);
}

void MpiRequests::expect_lengths() {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    expect_length(*group_.session, group_.rank, statuses_[i], expected_[i]);
  }
}

namespace {

/// An exchange with persistent MPI requests.
class PersistentExchange : public PreparedExchange {
 public:
  PersistentExchange(MpiGroup group, std::span<const Outgoing> out, std::span<const Incoming> in)
      : requests_(std::move(group)) {
    requests_.make(out, in);
  }
  void start() override { requests_.start(); }
  void wait() override { requests_.wait(); }
  bool test() override { return requests_.test(); }
  bool leave() override { return requests_.leave(); }

 private:
  MpiRequests requests_;
};

class NonblockingExchange : public PreparedExchange {
 public:
  NonblockingExchange(MpiGroup group, std::span<const Outgoing> out, std::span<const Incoming> in)
      : requests_(std::move(group)), out_(out.begin(), out.end()), in_(in.begin(), in.end()) {}
  void start() override { requests_.begin(out_, in_); }
  void wait() override { requests_.wait(); }
  bool test() override { return requests_.test(); }
  bool leave() override { return requests_.leave(); }

 private:
  MpiRequests requests_;
  std::vector<Outgoing> out_;
  std::vector<Incoming> in_;
};

}  // namespace

std::unique_ptr<PreparedExchange> prepare_mpi_exchange(MpiGroup group,
                                                       std::span<const Outgoing> out,
                                                       std::span<const Incoming> in, Mode mode) {
  EXPECT(mode != Mode::blocking);
  if (mode == Mode::persistent) {
    return std::make_unique<PersistentExchange>(std::move(group), out, in);
  }
  return std::make_unique<NonblockingExchange>(std::move(group), out, in);
}

}  // namespace dlscale::backend
