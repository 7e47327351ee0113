#include "backend/comm/nccl/enqueue.hpp"

#include <array>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

ncclDataType_t nccl_element(ElementType element) {
  static constexpr std::array types{ncclFloat32, ncclFloat64, ncclBfloat16, ncclFloat16,
                                    ncclInt32,   ncclInt64,   ncclUint8};
  static_assert(types.size() == element_types.size());
  return types.at(static_cast<std::size_t>(element));
}

/// NCCL has no such collective.
void all_to_all(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to) {
  const ncclDataType_t type = nccl_element(exchange.element);
  const std::size_t part = exchange.count * size_of(exchange.element);
  in_group(link, [&] {
    for (Rank peer = 0; peer < link.end().size; ++peer) {
      const std::size_t offset = part * static_cast<std::size_t>(peer);
      link.check(ncclSend(from + offset, exchange.count, type, peer, link.get(), link.stream()),
                 "ncclSend");
      link.check(ncclRecv(to + offset, exchange.count, type, peer, link.get(), link.stream()),
                 "ncclRecv");
    }
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

void enqueue(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to) {
  const auto& [collective, element, reduction, count, root] = exchange;
  const ncclDataType_t type = nccl_element(element);
  const ncclRedOp_t op = nccl_operator(reduction);
  ncclComm_t const comm = link.get();
  cudaStream_t const stream = link.stream();
  switch (collective) {
    case Collective::all_reduce:
      return link.check(ncclAllReduce(from, to, count, type, op, comm, stream), "ncclAllReduce");
    case Collective::reduce:
      return link.check(ncclReduce(from, to, count, type, op, root, comm, stream), "ncclReduce");
    case Collective::broadcast:
      return link.check(ncclBroadcast(from, to, count, type, root, comm, stream), "ncclBroadcast");
    case Collective::all_gather:
      return link.check(ncclAllGather(from, to, count, type, comm, stream), "ncclAllGather");
    case Collective::reduce_scatter:
      return link.check(ncclReduceScatter(from, to, count, type, op, comm, stream),
                        "ncclReduceScatter");
    case Collective::all_to_all:
      return all_to_all(link, exchange, from, to);
  }
  fail_expectation("a known Collective");
}

float simulate(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to) {
  link.enter();
  ncclSimInfo_t information = NCCL_SIM_INFO_INITIALIZER;
  link.check(ncclGroupStart(), "ncclGroupStart");
  try {
    enqueue(link, exchange, from, to);
  } catch (...) {
    static_cast<void>(ncclGroupSimulateEnd(&information));
    throw;
  }
  link.check(ncclGroupSimulateEnd(&information), "ncclGroupSimulateEnd");
  return information.estimatedTime;
}

}  // namespace dlscale::backend::gpu_comm
