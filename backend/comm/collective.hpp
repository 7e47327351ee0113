#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "backend/comm/elements.hpp"
#include "core/base/ids.hpp"
#include "core/collective/algorithm.hpp"

namespace dlscale::backend {

/// What all ranks of a group do together.
using collective::Collective;
inline constexpr auto& all_collectives = collective::collectives;

/// Whether elements of several ranks are made one: the others only move them.
bool reduces(Collective collective);
/// Whether the message is made of equal blocks, one for each rank.
bool in_blocks(Collective collective);

/// Where what the ranks exchange lies.
enum class DataPlace { host, device };

/// How a rank has a collective done.
enum class Mode {
  blocking,     ///< one call, which returns when the rank's part is done
  nonblocking,  ///< a call that starts it and one that waits for it
  persistent,   ///< the same, for arguments that the library was given before
};
inline constexpr std::array modes{Mode::blocking, Mode::nonblocking, Mode::persistent};
std::string_view to_string(Mode mode);  ///< "nonblocking"

/// One collective operation. Every rank makes the same one; its sides are as sides() says.
///
/// In place, `from` and `to` begin at the same address, except that of an all_gather `from` is the
/// rank's own block of `to`; a reduce_scatter leaves its block at the beginning. A broadcast has
/// one side, `to`, and is always in place; `from` is empty. Otherwise the sides do not overlap. Of
/// a reduce, what `to` holds afterwards is defined on the root only, and elsewhere it may be empty.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::f32;
  Reduction op = Reduction::sum;  ///< where it reduces
  Rank root = 0;                  ///< of a reduce or broadcast
  std::span<const std::byte> from = {};
  std::span<std::byte> to = {};
  DataPlace place = DataPlace::host;  ///< of both sides
};

/// Bytes that a rank gives and takes, for a message of so many; those of blocks are a multiple of
/// the ranks.
struct Sides {
  std::size_t from = 0;
  std::size_t to = 0;
};
Sides sides(Collective collective, std::size_t message, int ranks);

bool is_in_place(const CollectiveCall& call, Rank rank);

/// Bytes of the message of a call.
std::size_t message_of(const CollectiveCall& call);

/// Throws std::logic_error for sides that are not whole elements or do not fit each other.
void expect_well_made(const CollectiveCall& call, Rank rank, int ranks);

/// "persistent reduce_scatter of bf16 (max) out of place".
std::string describe(const CollectiveCall& call, Mode mode, Rank rank);

/// A collective that can be carried out again and again on the same memory: start(), then wait().
/// What `from` holds is read, and what `to` holds is undefined, from start() until wait() returns.
/// All ranks start the same ones in the same order, and wait for them in that order, unless test()
/// said that they are done. Throws LibraryError.
class PreparedCollective {
 public:
  virtual ~PreparedCollective() = default;
  virtual void start() = 0;
  virtual void wait() = 0;
  /// Between start() and wait(): whether it is done, so that there is nothing to wait for any more.
  /// Of several that are under way any may be asked, in any order, which also moves them on. One
  /// that cannot tell waits.
  [[nodiscard]] virtual bool test() {
    wait();
    return true;
  }
};

}  // namespace dlscale::backend
