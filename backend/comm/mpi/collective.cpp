#include "backend/comm/mpi/collective.hpp"

#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "backend/comm/mpi/chunks.hpp"
#include "core/base/error.hpp"

// Persistent collectives are part of MPI 4. Open MPI has offered them since 4.0 as an extension,
// with names that begin with MPIX [Open MPI 4.1, ompi/mpiext/pcollreq].
#if MPI_VERSION >= 4
#define DLSCALE_PERSISTENT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define DLSCALE_PERSISTENT(name) MPIX_##name##_init
#endif

namespace dlscale::backend {
namespace {

MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return MPI_FLOAT;
    case ElementType::f64:
      return MPI_DOUBLE;
    case ElementType::bf16:
    case ElementType::f16:
      return MPI_UINT16_T;
    case ElementType::i32:
      return MPI_INT32_T;
    case ElementType::i64:
      return MPI_INT64_T;
    case ElementType::u8:
      return MPI_UINT8_T;
  }
  fail_expectation("a known ElementType");
}

template <ElementType type, Reduction op>
void combine_halves(void* other, void* accumulated, int* count, MPI_Datatype*) {
  const std::size_t bytes = 2 * static_cast<std::size_t>(*count);
  combine(type, op, std::span(static_cast<const std::byte*>(other), bytes),
          std::span(static_cast<std::byte*>(accumulated), bytes));
}

template <ElementType type>
MPI_User_function* halves_function(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return combine_halves<type, Reduction::sum>;
    case Reduction::max:
      return combine_halves<type, Reduction::max>;
    case Reduction::min:
      return combine_halves<type, Reduction::min>;
  }
  fail_expectation("a known Reduction");
}

/// MPI's operator for the elements of a call, or one of ours.
class Operator {
 public:
  Operator(const MpiGroup& group, const CollectiveCall& call) : library_(mpi_op(call.op)) {
    if (!reduces(call.collective)) return;
    if (call.type == ElementType::bf16) make(group, halves_function<ElementType::bf16>(call.op));
    if (call.type == ElementType::f16) make(group, halves_function<ElementType::f16>(call.op));
  }
  ~Operator() {
    if (own_ != MPI_OP_NULL) MPI_Op_free(&own_);
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  [[nodiscard]] MPI_Op get() const { return own_ == MPI_OP_NULL ? library_ : own_; }

 private:
  void make(const MpiGroup& group, MPI_User_function* function) {
    constexpr int commutes = 1;
    group.session->check(MPI_Op_create(function, commutes, &own_), "MPI_Op_create", group.rank);
  }

  MPI_Op library_;
  MPI_Op own_ = MPI_OP_NULL;
};

/// Libraries that accept GPU memory do so in their blocking calls [Open MPI's FAQ "Running
/// CUDA-aware Open MPI": not in the nonblocking collective APIs], with their own operators.
void expect_offer_on_devices(const CollectiveCall& call, Mode mode) {
  if (mode != Mode::blocking) {
    throw Unsupported(
        fmt::format("MPI's {} calls are not relied on to take memory of GPUs. Use blocking calls, "
                    "or memory of the host.",
                    to_string(mode)));
  }
  const bool halves = call.type == ElementType::bf16 || call.type == ElementType::f16;
  if (halves && reduces(call.collective)) {
    throw Unsupported(
        fmt::format("MPI has no {}: dlscale adds it, in memory of the host. Use the communicator "
                    "nccl, or memory of the host.",
                    to_string(call.type)));
  }
}

/// Arguments of one MPI call. `count` is that of a block if the message consists of blocks.
struct Arguments {
  const void* from = nullptr;
  void* to = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  Rank root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

int run(Collective collective, const Arguments& a) {
  switch (collective) {
    case Collective::all_reduce:
      return MPI_Allreduce(a.from, a.to, a.count, a.type, a.op, a.comm);
    case Collective::reduce:
      return MPI_Reduce(a.from, a.to, a.count, a.type, a.op, a.root, a.comm);
    case Collective::broadcast:
      return MPI_Bcast(a.to, a.count, a.type, a.root, a.comm);
    case Collective::all_gather:
      return MPI_Allgather(a.from, a.count, a.type, a.to, a.count, a.type, a.comm);
    case Collective::reduce_scatter:
      return MPI_Reduce_scatter_block(a.from, a.to, a.count, a.type, a.op, a.comm);
    case Collective::all_to_all:
      return MPI_Alltoall(a.from, a.count, a.type, a.to, a.count, a.type, a.comm);
  }
  fail_expectation("a known Collective");
}

int begin(Collective collective, const Arguments& a, MPI_Request* request) {
  switch (collective) {
    case Collective::all_reduce:
      return MPI_Iallreduce(a.from, a.to, a.count, a.type, a.op, a.comm, request);
    case Collective::reduce:
      return MPI_Ireduce(a.from, a.to, a.count, a.type, a.op, a.root, a.comm, request);
    case Collective::broadcast:
      return MPI_Ibcast(a.to, a.count, a.type, a.root, a.comm, request);
    case Collective::all_gather:
      return MPI_Iallgather(a.from, a.count, a.type, a.to, a.count, a.type, a.comm, request);
    case Collective::reduce_scatter:
      return MPI_Ireduce_scatter_block(a.from, a.to, a.count, a.type, a.op, a.comm, request);
    case Collective::all_to_all:
      return MPI_Ialltoall(a.from, a.count, a.type, a.to, a.count, a.type, a.comm, request);
  }
  fail_expectation("a known Collective");
}

#ifdef DLSCALE_PERSISTENT
int make_persistent(Collective collective, const Arguments& a, MPI_Request* request) {
  const MPI_Info info = MPI_INFO_NULL;
  switch (collective) {
    case Collective::all_reduce:
      return DLSCALE_PERSISTENT(Allreduce)(a.from, a.to, a.count, a.type, a.op, a.comm, info,
                                           request);
    case Collective::reduce:
      return DLSCALE_PERSISTENT(Reduce)(a.from, a.to, a.count, a.type, a.op, a.root, a.comm, info,
                                        request);
    case Collective::broadcast:
      return DLSCALE_PERSISTENT(Bcast)(a.to, a.count, a.type, a.root, a.comm, info, request);
    case Collective::all_gather:
      return DLSCALE_PERSISTENT(Allgather)(a.from, a.count, a.type, a.to, a.count, a.type, a.comm,
                                           info, request);
    case Collective::reduce_scatter:
      return DLSCALE_PERSISTENT(Reduce_scatter_block)(a.from, a.to, a.count, a.type, a.op, a.comm,
                                                      info, request);
    case Collective::all_to_all:
      return DLSCALE_PERSISTENT(Alltoall)(a.from, a.count, a.type, a.to, a.count, a.type, a.comm,
                                          info, request);
  }
  fail_expectation("a known Collective");
}
#else
int make_persistent(Collective, const Arguments&, MPI_Request*) {
  throw Unsupported(
      "This MPI has no persistent collectives, which came with MPI 4. Use an Open MPI 4 or newer "
      "with its extensions, or MPICH 4, or another mode.");
}
#endif

/// Address in a side that may be missing.
template <class Byte>
Byte* address(std::span<Byte> side, std::size_t offset) {
  return side.empty() ? nullptr : side.data() + offset;
}

class MpiCollective : public PreparedCollective {
 public:
  MpiCollective(MpiGroup group, const CollectiveCall& call, Mode mode)
      : group_(std::move(group)), call_(call), mode_(mode), operator_(group_, call) {
    if (in_blocks(call.collective)) {
      add_blocks();
    } else {
      const std::size_t elements = message_of(call) / size_of(call.type);
      for_each_chunk(elements, largest_chunk, [&](std::size_t offset, int count) {
        add(offset * size_of(call.type), count);
      });
    }
    requests_.assign(parts_.size(), MPI_REQUEST_NULL);
    if (mode == Mode::persistent) {
      for_each_part([&](const Arguments& part, MPI_Request* request) {
        check(make_persistent(call_.collective, part, request));
      });
    }
  }

  ~MpiCollective() override {
    if (mode_ != Mode::persistent || !group_.session->healthy() || std::uncaught_exceptions() > 0) {
      return;
    }
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  MpiCollective(const MpiCollective&) = delete;
  MpiCollective& operator=(const MpiCollective&) = delete;

  void start() override {
    switch (mode_) {
      case Mode::blocking:
        for (const Arguments& part : parts_) check(run(call_.collective, part));
        return;
      case Mode::nonblocking:
        return for_each_part([&](const Arguments& part, MPI_Request* request) {
          check(begin(call_.collective, part, request));
        });
      case Mode::persistent:
        for (MPI_Request& request : requests_) check(MPI_Start(&request), "MPI_Start");
        return;
    }
    fail_expectation("a known Mode");
  }

  void wait() override {
    if (mode_ == Mode::blocking) return;
    for (MPI_Request& request : requests_) check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }

  bool test() override {
    if (mode_ == Mode::blocking) return true;
    int done = 0;
    const auto count = static_cast<int>(requests_.size());
    check(MPI_Testall(count, requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    return done != 0;
  }

 private:
  template <class Use>
  void for_each_part(Use use) {
    for (std::size_t i = 0; i < parts_.size(); ++i) use(parts_[i], &requests_[i]);
  }

  void add_blocks() {
    const auto ranks = static_cast<std::size_t>(group_.size);
    const std::size_t count = message_of(call_) / size_of(call_.type) / ranks;
    if (count > largest_chunk) {
      throw Unsupported(
          fmt::format("{} elements for each rank are more than MPI is trusted to count ({}). Send "
                      "fewer at a time.",
                      count, largest_chunk));
    }
    add(0, static_cast<int>(count));
  }

  void add(std::size_t offset, int count) {
    const bool gets = call_.collective != Collective::reduce || group_.rank == call_.root;
    // A rank that is not the root of a reduce contributes its data in place or not.
    const bool in_place = gets && is_in_place(call_, group_.rank);
    parts_.push_back({.from = in_place ? MPI_IN_PLACE : address(call_.from, offset),
                      .to = gets ? address(call_.to, offset) : nullptr,
                      .count = count,
                      .type = mpi_type(call_.type),
                      .op = operator_.get(),
                      .root = call_.root,
                      .comm = group_.comm});
  }

  void check(int code) {
    if (code == MPI_SUCCESS) return;
    check(code, describe(call_, mode_, group_.rank).c_str());
  }
  void check(int code, const char* call) { group_.session->check(code, call, group_.rank); }

  MpiGroup group_;
  CollectiveCall call_;
  Mode mode_;
  Operator operator_;
  std::vector<Arguments> parts_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

MPI_Op mpi_op(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::max:
      return MPI_MAX;
    case Reduction::min:
      return MPI_MIN;
  }
  fail_expectation("a known Reduction");
}

std::unique_ptr<PreparedCollective> prepare_mpi(MpiGroup group, const CollectiveCall& call,
                                                Mode mode) {
  expect_well_made(call, group.rank, group.size);
  if (call.place == DataPlace::device) expect_offer_on_devices(call, mode);
  return std::make_unique<MpiCollective>(std::move(group), call, mode);
}

}  // namespace dlscale::backend
