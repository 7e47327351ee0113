#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "backend/comm/collective.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// NCCL's operations. `count` has NCCL's meaning: `count` elements are …
enum class Collective {
  all_reduce,      ///< reduced; every rank has the result
  reduce,          ///< reduced; `peer` has the result
  broadcast,       ///< copied from `peer` to all
  all_gather,      ///< given by each rank; each ends with ranks · count
  reduce_scatter,  ///< left on each rank of ranks · count that are reduced
  all_to_all,      ///< sent by each rank to each, itself included: a group of sends and receives
  send,            ///< sent to `peer`
  receive,         ///< received from `peer`
  send_receive,    ///< sent to `peer` and as many received from it, both at once
};
inline constexpr std::array collectives{
    Collective::all_reduce, Collective::reduce,         Collective::broadcast,
    Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
    Collective::send,       Collective::receive,        Collective::send_receive};

enum class Element { f32, f64, bf16, f16, i32, i64, u8 };
inline constexpr std::array elements{Element::f32, Element::f64, Element::bf16, Element::f16,
                                     Element::i32, Element::i64, Element::u8};

/// Operator that combines elements; only all_reduce, reduce and reduce_scatter use it. The average
/// of integers is rounded towards zero.
enum class Operator { sum, max, min, average };
inline constexpr std::array operators{Operator::sum, Operator::max, Operator::min,
                                      Operator::average};

/// In place, the smaller of the two sides is the rank's own part of the larger one.
enum class Placement { out_of_place, in_place };

/// "all_reduce", "bf16", "average".
std::string_view name(Collective collective);
std::string_view name(Element element);
std::string_view name(Operator op);

std::size_t element_bytes(Element element);

/// One call. Every rank makes the same one, except for send and receive.
struct Exchange {
  Collective collective = Collective::all_reduce;
  Element element = Element::f32;
  Operator op = Operator::sum;
  Placement placement = Placement::out_of_place;
  std::size_t count = 0;
  Rank peer = 0;
};

/// Bytes that a rank gives and takes; zero if it does neither.
struct Footprint {
  std::size_t from = 0;
  std::size_t to = 0;
  /// In place: where each side begins inside the other.
  std::size_t from_offset = 0;
  std::size_t to_offset = 0;
  /// In place: size of the one block that holds both sides.
  [[nodiscard]] std::size_t in_place() const {
    return from + from_offset > to + to_offset ? from + from_offset : to + to_offset;
  }
};

/// Throws Unsupported, in one sentence, for exchanges that cannot run in place: a rank would send
/// from where it receives.
Footprint footprint(const Exchange& exchange, Rank rank, int ranks);

/// NCCL's exchange for a well-formed call; a broadcast moves bytes, whatever the element type.
/// Throws Unsupported for reduce_scatter and all_to_all in place. NCCL leaves the block of a
/// reduce_scatter at its position in the message, not at the beginning. It cannot do all_to_all in
/// place.
Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks);

}  // namespace dlscale::backend::gpu_comm
