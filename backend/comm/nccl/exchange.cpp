#include "backend/comm/nccl/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

constexpr std::array<std::string_view, collectives.size()> collective_names{
    "all_reduce", "reduce", "broadcast", "all_gather",  "reduce_scatter",
    "all_to_all", "send",   "receive",   "send_receive"};
constexpr std::array<std::string_view, elements.size()> element_names{"f32", "f64", "bf16", "f16",
                                                                      "i32", "i64", "u8"};
constexpr std::array<std::size_t, elements.size()> element_sizes{4, 8, 2, 2, 4, 8, 1};
constexpr std::array<std::string_view, operators.size()> operator_names{"sum", "max", "min",
                                                                        "average"};

/// Bytes given and taken, ignoring placement.
Footprint sides(const Exchange& exchange, int ranks) {
  const std::size_t part = exchange.count * element_bytes(exchange.element);
  const std::size_t whole = part * static_cast<std::size_t>(ranks);
  switch (exchange.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::send_receive:
      return {part, part};
    case Collective::all_gather:
      return {part, whole};
    case Collective::reduce_scatter:
      return {whole, part};
    case Collective::all_to_all:
      return {whole, whole};
    case Collective::send:
      return {part, 0};
    case Collective::receive:
      return {0, part};
  }
  EXPECT(exchange.collective == Collective::receive);
  return {};
}

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

std::string_view name(Collective collective) {
  return collective_names.at(static_cast<std::size_t>(collective));
}

std::string_view name(Element element) {
  return element_names.at(static_cast<std::size_t>(element));
}

std::string_view name(Operator op) {
  return operator_names.at(static_cast<std::size_t>(op));
}

std::size_t element_bytes(Element element) {
  return element_sizes.at(static_cast<std::size_t>(element));
}

Footprint footprint(const Exchange& exchange, Rank rank, int ranks) {
  EXPECT(rank >= 0 && rank < ranks && exchange.peer >= 0 && exchange.peer < ranks);
  Footprint result = sides(exchange, ranks);
  if (exchange.placement == Placement::out_of_place) return result;
  if (exchange.collective == Collective::all_to_all ||
      exchange.collective == Collective::send_receive) {
    throw Unsupported(
        fmt::format("{} cannot be done in place: what arrives would overwrite what is still to be "
                    "sent. Measure it out of place.",
                    name(exchange.collective)));
  }
  const std::size_t part = exchange.count * element_bytes(exchange.element);
  const std::size_t own = part * static_cast<std::size_t>(rank);
  if (exchange.collective == Collective::all_gather) result.from_offset = own;
  if (exchange.collective == Collective::reduce_scatter) result.to_offset = own;
  return result;
}

Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks) {
  const bool broadcasts = call.collective == backend::Collective::broadcast;
  const bool in_place = is_in_place(call, rank);
  if (in_place && call.collective == backend::Collective::reduce_scatter) {
    throw Unsupported(
        "NCCL leaves the block of a reduce_scatter in place where it lies in the message, not at "
        "the beginning. Measure it out of place.");
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
