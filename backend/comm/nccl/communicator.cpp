#include "backend/comm/nccl/communicator.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/comm/collective.hpp"
#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/choice.hpp"
#include "backend/comm/nccl/enqueue.hpp"
#include "backend/comm/nccl/exchange.hpp"
#include "backend/comm/nccl/link.hpp"
#include "backend/comm/nccl/preconditions.hpp"
#include "backend/comm/nccl/profile.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

class OnLink : public PreparedCollective {
 public:
  OnLink(Link& link, const CollectiveCall& call)
      : link_(&link), call_(call), exchange_(exchange_of(call, link.end().rank, link.end().size)) {}

  void start() override {
    link_->enter();
    // On its root, NCCL reads the source of a broadcast; the call has only one side.
    const bool broadcasts = call_.collective == Collective::broadcast;
    enqueue(*link_, exchange_, broadcasts ? call_.to.data() : call_.from.data(), call_.to.data());
    link_->wait();
  }
  void wait() override {}

 private:
  Link* link_;
  CollectiveCall call_;
  Exchange exchange_;
};

/// A blocking collective on memory of the link's GPU; `link` outlives it. Throws as exchange_of()
/// does, and Unsupported for another mode.
std::unique_ptr<PreparedCollective> prepare_on(Link& link, const CollectiveCall& call, Mode mode) {
  expect_well_made(call, link.end().rank, link.end().size);
  if (mode != Mode::blocking) {
    throw Unsupported(
        fmt::format("Calls with a GPU's memory are blocking, not {}. Use blocking calls, or "
                    "memory of the host.",
                    to_string(mode)));
  }
  return std::make_unique<OnLink>(link, call);
}

/// Id of a link between the ranks of `over`, drawn by its rank 0. Collective.
LinkId agree_on_link(Communicator& over) {
  LinkId id{};
  const std::string obstacle = obstacle_on_any(over, [&] {
    if (over.rank() == 0) id = new_link_id(0);
  });
  if (!obstacle.empty()) {
    throw LibraryError(over.rank() == 0 ? obstacle
                                        : "Rank 0 cannot begin a link of NCCL: see what it says.");
  }
  over.broadcast(id, 0);
  return id;
}

}  // namespace

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> host, int device)
    : host_(std::move(host)),
      link_({device, host_->rank(), host_->size()}, agree_on_link(*host_)) {}

std::string NcclCommunicator::library() const {
  return library_name();
}

void NcclCommunicator::send(std::span<const std::byte> data, Rank to, int tag) {
  if (side_of(data.data(), data.size(), gpu()) == Side::host) return host_->send(data, to, tag);
  link_.enter();
  enqueue_send(data, to);
  link_.wait();
}

void NcclCommunicator::receive(std::span<std::byte> data, Rank from, int tag) {
  if (side_of(data.data(), data.size(), gpu()) == Side::host) {
    return host_->receive(data, from, tag);
  }
  link_.enter();
  enqueue_receive(data, from);
  link_.wait();
}

/// Queries only the first message of each list: querying all would cost much of the time of short
/// messages.
void NcclCommunicator::exchange(std::span<const Outgoing> out, std::span<const Incoming> in) {
  const bool on_gpu = (!out.empty() && side_of(out.front().data.data(), out.front().data.size(),
                                               gpu()) == Side::device) ||
                      (!in.empty() && side_of(in.front().data.data(), in.front().data.size(),
                                              gpu()) == Side::device);
  if (!on_gpu) {
    expect_host(out, in);
    return host_->exchange(out, in);
  }
  link_.enter();
  in_group(link_, [&] {
    for (const Outgoing& message : out) enqueue_send(message.data, message.to);
    for (const Incoming& message : in) enqueue_receive(message.data, message.from);
  });
  link_.wait();
}

void NcclCommunicator::enqueue_send(std::span<const std::byte> data, Rank to) {
  link_.check(ncclSend(data.data(), data.size(), ncclUint8, to, link_.get(), link_.stream()),
              "ncclSend");
}

void NcclCommunicator::enqueue_receive(std::span<std::byte> data, Rank from) {
  link_.check(ncclRecv(data.data(), data.size(), ncclUint8, from, link_.get(), link_.stream()),
              "ncclRecv");
}

std::unique_ptr<PreparedExchange> NcclCommunicator::prepare_exchange(std::span<const Outgoing> out,
                                                                     std::span<const Incoming> in,
                                                                     Mode mode) {
  expect_host(out, in);
  return host_->prepare_exchange(out, in, mode);
}

void NcclCommunicator::all_reduce(std::span<float> data, Reduction op) {
  if (side_of(data.data(), data.size_bytes(), gpu()) == Side::host) {
    return host_->all_reduce(data, op);
  }
  link_.enter();
  link_.check(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat32, nccl_operator(op),
                            link_.get(), link_.stream()),
              "ncclAllReduce");
  link_.wait();
}

void NcclCommunicator::all_reduce(std::span<double> data, Reduction op) {
  expect_host(data.data(), data.size_bytes());
  host_->all_reduce(data, op);
}

void NcclCommunicator::broadcast(std::span<std::byte> data, Rank root) {
  EXPECT(root >= 0 && root < size());
  if (side_of(data.data(), data.size(), gpu()) == Side::host) {
    return host_->broadcast(data, root);
  }
  link_.enter();
  link_.check(ncclBroadcast(data.data(), data.data(), data.size(), ncclUint8, root, link_.get(),
                            link_.stream()),
              "ncclBroadcast");
  link_.wait();
}

void NcclCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  expect_host(mine.data(), mine.size());
  expect_host(all.data(), all.size());
  host_->all_gather(mine, all);
}

std::unique_ptr<PreparedCollective> NcclCommunicator::prepare(const CollectiveCall& call,
                                                              Mode mode) {
  const Side side = call.place == DataPlace::device ? Side::device : Side::host;
  EXPECT(call.from.empty() || side_of(call.from.data(), call.from.size(), gpu()) == side);
  EXPECT(call.to.empty() || side_of(call.to.data(), call.to.size(), gpu()) == side);
  return side == Side::device ? prepare_on(link_, call, mode) : host_->prepare(call, mode);
}

std::optional<CallFacts> NcclCommunicator::facts_of(const CollectiveCall& call) {
  EXPECT(call.place == DataPlace::device);
  const Exchange exchange = exchange_of(call, rank(), size());
  const Expectation expectation = expected_time(*host_, link_.end(), exchange);
  CallFacts facts{.expected = expectation.time};
  if (!expectation.unknown.empty()) {
    facts.unknown = fmt::format("What NCCL expects is not known: {}", expectation.unknown);
  }
  const auto not_known = [&facts](const Unsupported& error) {
    if (!facts.unknown.empty()) facts.unknown += ' ';
    facts.unknown += error.what();
  };
  // All ranks make the call, whatever a rank's plugin does.
  std::optional<Profile> profile;
  try {
    profile.emplace();
  } catch (const Unsupported& error) {
    not_known(error);
  }
  carry_out(*this, call);
  if (!profile) return facts;
  try {
    if (const auto choice = choice_in(*profile, link_, exchange)) facts.choice = to_text(*choice);
  } catch (const Unsupported& error) {
    not_known(error);
  }
  return facts;
}

std::unique_ptr<Communicator> NcclCommunicator::duplicate() {
  // Treats all ranks alike if one has a single queue: the others would wait for a rank that alone
  // is refused.
  const char* queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  double single = queues != nullptr && std::string_view(queues) == "1" ? 1 : 0;
  host_->all_reduce(std::span(&single, 1), Reduction::max);
  expect_queues_for_two_links(size(), single > 0 ? "1" : nullptr);
  return std::make_unique<NcclCommunicator>(host_->duplicate(), gpu());
}

void NcclCommunicator::expect_host(const void* data, std::size_t bytes) const {
  EXPECT(side_of(data, bytes, gpu()) == Side::host);
}

void NcclCommunicator::expect_host(std::span<const Outgoing> out,
                                   std::span<const Incoming> in) const {
  for (const Outgoing& message : out) expect_host(message.data.data(), message.data.size());
  for (const Incoming& message : in) expect_host(message.data.data(), message.data.size());
}

}  // namespace dlscale::backend::gpu_comm
