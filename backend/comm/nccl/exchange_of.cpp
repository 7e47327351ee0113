#include "backend/comm/nccl/exchange_of.hpp"

#include <cstddef>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

Collective collective_of(backend::Collective collective) {
  switch (collective) {
    case backend::Collective::all_reduce:
      return Collective::all_reduce;
    case backend::Collective::reduce:
      return Collective::reduce;
    case backend::Collective::broadcast:
      return Collective::broadcast;
    case backend::Collective::all_gather:
      return Collective::all_gather;
    case backend::Collective::reduce_scatter:
      return Collective::reduce_scatter;
    case backend::Collective::all_to_all:
      return Collective::all_to_all;
  }
  fail_expectation("a known Collective");
}

Element element_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return Element::f32;
    case ElementType::f64:
      return Element::f64;
    case ElementType::bf16:
      return Element::bf16;
    case ElementType::f16:
      return Element::f16;
    case ElementType::i32:
      return Element::i32;
    case ElementType::i64:
      return Element::i64;
    case ElementType::u8:
      return Element::u8;
  }
  fail_expectation("a known ElementType");
}

Operator operator_of(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return Operator::sum;
    case Reduction::max:
      return Operator::max;
    case Reduction::min:
      return Operator::min;
  }
  fail_expectation("a known Reduction");
}

}  // namespace

Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks) {
  const bool broadcasts = call.collective == backend::Collective::broadcast;
  const bool in_place = is_in_place(call, rank);
  if (in_place && call.collective == backend::Collective::reduce_scatter) {
    throw Unsupported(
        "NCCL leaves the block of a reduce_scatter in place where it lies in the message, not at "
        "the beginning. Measure it out of place: --in-place no.");
  }
  const std::size_t parts = in_blocks(call.collective) ? static_cast<std::size_t>(ranks) : 1;
  const Element element = broadcasts ? Element::u8 : element_of(call.type);
  const Exchange exchange{.collective = collective_of(call.collective),
                          .element = element,
                          .op = operator_of(call.op),
                          .placement = in_place ? Placement::in_place : Placement::out_of_place,
                          .count = message_of(call) / element_bytes(element) / parts,
                          .peer = call.root};
  static_cast<void>(footprint(exchange, rank, ranks));  // throws for all_to_all
  return exchange;
}

}  // namespace dlscale::backend::gpu_comm
