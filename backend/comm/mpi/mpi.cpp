#include <exception>

#include <fmt/format.h>
#include <mpi.h>

#include "backend/comm/communicator.hpp"
#include "backend/comm/mpi/chunks.hpp"
#include "backend/comm/mpi/collective.hpp"
#include "backend/comm/mpi/exchange.hpp"
#include "backend/comm/mpi/session.hpp"
#include "backend/comm/sleeping_wait.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Memory that calls accept.
enum class Takes { host_memory, device_memory };

struct Place {
  Rank rank = 0;
  int size = 1;
  int node_rank = 0;
  int node_size = 1;
};

class MpiCommunicator : public Communicator {
 public:
  /// Takes ownership of `comm`.
  MpiCommunicator(std::shared_ptr<MpiSession> session, MPI_Comm comm, Place place, Takes takes)
      : session_(std::move(session)),
        comm_(comm),
        place_(place),
        takes_(takes),
        exchanged_(group()) {}

  ~MpiCommunicator() override {
    if (session_->healthy() && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] Rank rank() const override { return place_.rank; }
  [[nodiscard]] int size() const override { return place_.size; }
  [[nodiscard]] int node_size() const override { return place_.node_size; }
  [[nodiscard]] int node_rank() const override { return place_.node_rank; }

  [[nodiscard]] std::string library() const override {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    return short_library_name(std::string_view(text).substr(0, static_cast<std::size_t>(length)));
  }

  [[nodiscard]] bool takes_device_memory() const override { return takes_ == Takes::device_memory; }

  void send(std::span<const std::byte> data, Rank to, int tag) override {
    for_each_chunk(data.size(), largest_chunk, [&](std::size_t offset, int count) {
      check(MPI_Send(data.data() + offset, count, MPI_BYTE, to, tag, comm_), "MPI_Send");
    });
  }

  void receive(std::span<std::byte> data, Rank from, int tag) override {
    for_each_chunk(data.size(), largest_chunk, [&](std::size_t offset, int count) {
      MPI_Status status;
      check(MPI_Recv(data.data() + offset, count, MPI_BYTE, from, tag, comm_, &status), "MPI_Recv");
      expect_length(*session_, place_.rank, status, count);
    });
  }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    exchanged_.begin(out, in);
    exchanged_.wait();
  }
  [[nodiscard]] std::unique_ptr<PreparedExchange> prepare_exchange(std::span<const Outgoing> out,
                                                                   std::span<const Incoming> in,
                                                                   Mode mode) override {
    return prepare_mpi_exchange(group(), out, in, mode);
  }

  void all_reduce(std::span<float> data, Reduction op) override { reduce_all(data, MPI_FLOAT, op); }
  void all_reduce(std::span<double> data, Reduction op) override {
    reduce_all(data, MPI_DOUBLE, op);
  }

  void broadcast(std::span<std::byte> data, Rank root) override {
    for_each_chunk(data.size(), largest_chunk, [&](std::size_t offset, int count) {
      check(MPI_Bcast(data.data() + offset, count, MPI_BYTE, root, comm_), "MPI_Bcast");
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    EXPECT(all.size() == mine.size() * static_cast<std::size_t>(size()));
    for_each_chunk(mine.size(), largest_chunk, [&](std::size_t offset, int count) {
      gather_piece(mine.data() + offset, count, all.data() + offset, mine.size());
    });
  }

  [[nodiscard]] std::unique_ptr<PreparedCollective> prepare(const CollectiveCall& call,
                                                            Mode mode) override {
    EXPECT(call.place == DataPlace::host || takes_device_memory());
    return prepare_mpi(group(), call, mode);
  }

  void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

  void barrier(WaitPolicy waiting) override {
    if (waiting == WaitPolicy::spin) return barrier();
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
    SleepingWait wait;
    while (!done(request)) wait.once();
  }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(comm_, &copy), "MPI_Comm_dup");
    auto duplicate = std::make_unique<MpiCommunicator>(session_, copy, place_, takes_);
    duplicate->take_gpu(gpu());
    return duplicate;
  }

 private:
  [[nodiscard]] MpiGroup group() const { return {session_, comm_, place_.rank, place_.size}; }

  /// Tests for success without a call, because this is timed with every message.
  void check(int code, const char* call) const {
    if (code != MPI_SUCCESS) session_->check(code, call, place_.rank);
  }

  bool done(MPI_Request& request) const {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  }

  template <class T>
  void reduce_all(std::span<T> data, MPI_Datatype type, Reduction op) {
    for_each_chunk(data.size(), largest_chunk, [&](std::size_t offset, int count) {
      check(MPI_Allreduce(MPI_IN_PLACE, data.data() + offset, count, type, mpi_op(op), comm_),
            "MPI_Allreduce");
    });
  }

  /// Rank r's piece goes to all + r · stride: a type of `count` bytes with an extent of `stride`.
  void gather_piece(const std::byte* mine, int count, std::byte* all, std::size_t stride) const {
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    MPI_Datatype strided = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(count, MPI_BYTE, &piece), "MPI_Type_contiguous");
    check(MPI_Type_create_resized(piece, 0, static_cast<MPI_Aint>(stride), &strided),
          "MPI_Type_create_resized");
    check(MPI_Type_commit(&strided), "MPI_Type_commit");
    check(MPI_Allgather(mine, count, MPI_BYTE, all, 1, strided, comm_), "MPI_Allgather");
    check(MPI_Type_free(&strided), "MPI_Type_free");
    check(MPI_Type_free(&piece), "MPI_Type_free");
  }

  std::shared_ptr<MpiSession> session_;
  MPI_Comm comm_;
  Place place_;
  Takes takes_;
  MpiRequests exchanged_;  ///< requests of exchange()
};

Place find_place(MpiSession& session, MPI_Comm comm) {
  Place place;
  session.check(MPI_Comm_rank(comm, &place.rank), "MPI_Comm_rank", 0);
  session.check(MPI_Comm_size(comm, &place.size), "MPI_Comm_size", place.rank);
  MPI_Comm node = MPI_COMM_NULL;
  session.check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL, &node),
                "MPI_Comm_split_type", place.rank);
  session.check(MPI_Comm_rank(node, &place.node_rank), "MPI_Comm_rank", place.rank);
  session.check(MPI_Comm_size(node, &place.node_size), "MPI_Comm_size", place.rank);
  session.check(MPI_Comm_free(&node), "MPI_Comm_free", place.rank);
  return place;
}

std::unique_ptr<Communicator> connect(std::shared_ptr<MpiSession> session, Takes takes) {
  MPI_Comm comm = MPI_COMM_NULL;
  session->check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup", 0);
  const Place place = find_place(*session, comm);
  return std::make_unique<MpiCommunicator>(std::move(session), comm, place, takes);
}

std::unique_ptr<Communicator> connect_as_built() {
  std::shared_ptr<MpiSession> session = MpiSession::join();
  const Takes takes = mpi_takes_device_memory() ? Takes::device_memory : Takes::host_memory;
  return connect(std::move(session), takes);
}

std::unique_ptr<Communicator> connect_cuda() {
  std::shared_ptr<MpiSession> session = MpiSession::join();
  if (!mpi_takes_device_memory()) {
    throw Unsupported(
        "This MPI does not take memory of a GPU: it was built without CUDA, found none, or cannot "
        "say. Where there are GPUs use the communicator nccl or mpi_staged, or an Open MPI or "
        "MPICH built with CUDA; elsewhere the communicator mpi.");
  }
  return connect(std::move(session), Takes::device_memory);
}

std::unique_ptr<Communicator> connect_staged() {
  return connect(MpiSession::join(), Takes::host_memory);
}

}  // namespace

extern const CommBackend mpi{
    .name = "mpi",
    .doc = "the ranks that mpirun, mpiexec or srun started",
    .connect = connect_as_built,
};

extern const CommBackend mpi_cuda{
    .name = "mpi_cuda",
    .doc = "the same, memory of GPUs given to MPI itself, which must be CUDA-aware",
    .connect = connect_cuda,
};

extern const CommBackend mpi_staged{
    .name = "mpi_staged",
    .doc = "the same, memory of GPUs always by way of the host's",
    .connect = connect_staged,
};

}  // namespace dlscale::backend
