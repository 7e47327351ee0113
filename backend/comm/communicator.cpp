#include "backend/comm/communicator.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Whether the plain functions of any communicator can execute the call.
bool is_plain(const CollectiveCall& call, Mode mode, Rank rank) {
  if (mode != Mode::blocking) return false;
  const bool is_float = call.type == ElementType::f32 || call.type == ElementType::f64;
  switch (call.collective) {
    case Collective::all_reduce:
      return is_float && is_in_place(call, rank);
    case Collective::broadcast:
      return true;
    case Collective::all_gather:
      return !is_in_place(call, rank);
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return false;
  }
  fail_expectation("a known Collective");
}

template <class T>
std::span<T> numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

class PlainCollective : public PreparedCollective {
 public:
  PlainCollective(Communicator& ranks, const CollectiveCall& call) : ranks_(&ranks), call_(call) {}

  void start() override {
    if (call_.collective == Collective::broadcast) return ranks_->broadcast(call_.to, call_.root);
    if (call_.collective == Collective::all_gather) return ranks_->all_gather(call_.from, call_.to);
    if (call_.type == ElementType::f64) {
      return ranks_->all_reduce(numbers<double>(call_.to), call_.op);
    }
    ranks_->all_reduce(numbers<float>(call_.to), call_.op);
  }
  void wait() override {}

 private:
  Communicator* ranks_;
  CollectiveCall call_;
};

[[noreturn]] void refuse_messages_at_once(const Communicator& ranks) {
  throw Unsupported(fmt::format(
      "{}, as dlscale uses it, cannot have several messages under way at once. Measure them over "
      "MPI (communicator mpi).",
      ranks.library()));
}

}  // namespace

void Communicator::exchange(std::span<const Outgoing>, std::span<const Incoming>) {
  refuse_messages_at_once(*this);
}

std::unique_ptr<PreparedExchange> Communicator::prepare_exchange(std::span<const Outgoing>,
                                                                 std::span<const Incoming>, Mode) {
  refuse_messages_at_once(*this);
}

std::unique_ptr<PreparedCollective> Communicator::prepare(const CollectiveCall& call, Mode mode) {
  expect_well_made(call, rank(), size());
  EXPECT(call.place == DataPlace::host);
  if (!is_plain(call, mode, rank())) {
    throw Unsupported(
        fmt::format("{}, as dlscale uses it, offers no {}. Measure it over MPI "
                    "(communicator mpi).",
                    library(), describe(call, mode, rank())));
  }
  return std::make_unique<PlainCollective>(*this, call);
}

void carry_out(Communicator& ranks, const CollectiveCall& call) {
  const std::unique_ptr<PreparedCollective> prepared = ranks.prepare(call, Mode::blocking);
  prepared->start();
  prepared->wait();
}

}  // namespace dlscale::backend
