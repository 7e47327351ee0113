#include "backend/comm/nccl/exchange.hpp"

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

void expect_possible_in_place(Collective collective) {
  if (collective == Collective::reduce_scatter) {
    throw Unsupported(
        "NCCL leaves the block of a reduce_scatter in place where it lies in the message, not at "
        "the beginning. Measure it out of place.");
  }
  if (collective == Collective::all_to_all) {
    throw Unsupported(
        "all_to_all cannot be done in place: what arrives would overwrite what is still to be "
        "sent. Measure it out of place.");
  }
}

}  // namespace

Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks) {
  if (is_in_place(call, rank)) expect_possible_in_place(call.collective);
  const bool broadcasts = call.collective == Collective::broadcast;
  const ElementType element = broadcasts ? ElementType::u8 : call.type;
  const std::size_t parts = in_blocks(call.collective) ? static_cast<std::size_t>(ranks) : 1;
  return {.collective = call.collective,
          .element = element,
          .op = call.op,
          .count = message_of(call) / size_of(element) / parts,
          .root = call.root};
}

}  // namespace dlscale::backend::gpu_comm
