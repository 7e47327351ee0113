#include "backend/comm/nccl/enqueue.hpp"

#include <array>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

ncclDataType_t nccl_element(Element element) {
  static constexpr std::array types{ncclFloat32, ncclFloat64, ncclBfloat16, ncclFloat16,
                                    ncclInt32,   ncclInt64,   ncclUint8};
  static_assert(types.size() == elements.size());
  return types.at(static_cast<std::size_t>(element));
}

ncclRedOp_t nccl_operator(Operator op) {
  static constexpr std::array ops{ncclSum, ncclMax, ncclMin, ncclAvg};
  static_assert(ops.size() == operators.size());
  return ops.at(static_cast<std::size_t>(op));
}

/// Arguments of one exchange, in NCCL's terms.
struct Call {
  Link& link;
  const Exchange& exchange;
  const std::byte* from;
  std::byte* to;
  cudaStream_t stream;
  ncclDataType_t type = nccl_element(exchange.element);
  ncclRedOp_t op = nccl_operator(exchange.op);
};

void send(const Call& call, std::size_t offset, Rank peer) {
  call.link.check(ncclSend(call.from + offset, call.exchange.count, call.type, peer,
                           call.link.get(), call.stream),
                  "ncclSend");
}

void receive(const Call& call, std::size_t offset, Rank peer) {
  call.link.check(ncclRecv(call.to + offset, call.exchange.count, call.type, peer, call.link.get(),
                           call.stream),
                  "ncclRecv");
}

void all_reduce(const Call& call) {
  call.link.check(ncclAllReduce(call.from, call.to, call.exchange.count, call.type, call.op,
                                call.link.get(), call.stream),
                  "ncclAllReduce");
}

void reduce(const Call& call) {
  call.link.check(ncclReduce(call.from, call.to, call.exchange.count, call.type, call.op,
                             call.exchange.peer, call.link.get(), call.stream),
                  "ncclReduce");
}

void broadcast(const Call& call) {
  call.link.check(ncclBroadcast(call.from, call.to, call.exchange.count, call.type,
                                call.exchange.peer, call.link.get(), call.stream),
                  "ncclBroadcast");
}

void all_gather(const Call& call) {
  call.link.check(ncclAllGather(call.from, call.to, call.exchange.count, call.type, call.link.get(),
                                call.stream),
                  "ncclAllGather");
}

void reduce_scatter(const Call& call) {
  call.link.check(ncclReduceScatter(call.from, call.to, call.exchange.count, call.type, call.op,
                                    call.link.get(), call.stream),
                  "ncclReduceScatter");
}

void all_to_all(const Call& call) {
  const std::size_t part = call.exchange.count * element_bytes(call.exchange.element);
  in_group(call.link, [&] {
    for (Rank peer = 0; peer < call.link.end().size; ++peer) {
      const std::size_t offset = part * static_cast<std::size_t>(peer);
      send(call, offset, peer);
      receive(call, offset, peer);
    }
  });
}

void send_receive(const Call& call) {
  in_group(call.link, [&] {
    send(call, 0, call.exchange.peer);
    receive(call, 0, call.exchange.peer);
  });
}

}  // namespace

void in_group(Link& link, const std::function<void()>& calls) {
  link.check(ncclGroupStart(), "ncclGroupStart");
  try {
    calls();
  } catch (...) {
    static_cast<void>(ncclGroupEnd());
    throw;
  }
  link.check(ncclGroupEnd(), "ncclGroupEnd");
}

void enqueue(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to,
             cudaStream_t stream) {
  // Throws if the exchange cannot run in place.
  static_cast<void>(footprint(exchange, link.end().rank, link.end().size));
  const Call call{link, exchange, from, to, stream};
  switch (exchange.collective) {
    case Collective::all_reduce:
      return all_reduce(call);
    case Collective::reduce:
      return reduce(call);
    case Collective::broadcast:
      return broadcast(call);
    case Collective::all_gather:
      return all_gather(call);
    case Collective::reduce_scatter:
      return reduce_scatter(call);
    case Collective::all_to_all:
      return all_to_all(call);
    case Collective::send:
      return send(call, 0, exchange.peer);
    case Collective::receive:
      return receive(call, 0, exchange.peer);
    case Collective::send_receive:
      return send_receive(call);
  }
  EXPECT(exchange.collective == Collective::send_receive);
}

float simulate(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to) {
  link.enter();
  ncclSimInfo_t information = NCCL_SIM_INFO_INITIALIZER;
  link.check(ncclGroupStart(), "ncclGroupStart");
  try {
    enqueue(link, exchange, from, to, link.stream());
  } catch (...) {
    static_cast<void>(ncclGroupSimulateEnd(&information));
    throw;
  }
  link.check(ncclGroupSimulateEnd(&information), "ncclGroupSimulateEnd");
  return information.estimatedTime;
}

}  // namespace dlscale::backend::gpu_comm
