#include "backend/comm/nccl/exchange.hpp"

#include <algorithm>

#include <fmt/format.h>

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

}  // namespace dlscale::backend::gpu_comm
