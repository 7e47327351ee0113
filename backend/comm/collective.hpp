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

/// The collective operations of a group of ranks.
using collective::Collective;
inline constexpr auto& all_collectives = collective::collectives;

/// Whether the operation combines elements of several ranks; the others only move them.
bool reduces(Collective collective);
/// Whether the message consists of equal blocks, one for each rank.
bool in_blocks(Collective collective);

/// The memory that holds the data the ranks exchange.
enum class DataPlace { host, device };

/// How a rank executes a collective.
enum class Mode {
  blocking,     ///< one call, which returns when the rank's part is done
  nonblocking,  ///< one call starts it, another one waits for it
  persistent,   ///< as nonblocking, but the library receives the arguments beforehand
};
inline constexpr std::array modes{Mode::blocking, Mode::nonblocking, Mode::persistent};
std::string_view to_string(Mode mode);  ///< "nonblocking"

/// One collective operation. Every rank makes the same call; sides() gives the sizes of `from` and
/// `to`.
///
/// In place, `from` and `to` begin at the same address. Only in an all_gather, `from` is the rank's
/// own block of `to`. A reduce_scatter leaves its block at the beginning. A broadcast has one side,
/// `to`, and is always in place; `from` is empty. Out of place, the sides do not overlap. After a
/// reduce, `to` is defined on the root only; elsewhere it may be empty.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::f32;
  Reduction op = Reduction::sum;  ///< for collectives that reduce
  Rank root = 0;                  ///< for reduce and broadcast
  std::span<const std::byte> from = {};
  std::span<std::byte> to = {};
  DataPlace place = DataPlace::host;  ///< place of both sides
};

/// Bytes that a rank gives and takes for a message of `message` bytes. If the message consists of
/// blocks, `message` is a multiple of the number of ranks.
struct Sides {
  std::size_t from = 0;
  std::size_t to = 0;
};
Sides sides(Collective collective, std::size_t message, int ranks);

bool is_in_place(const CollectiveCall& call, Rank rank);

/// Bytes of the message of a call.
std::size_t message_of(const CollectiveCall& call);

/// Throws std::logic_error for sides that are not whole elements or whose sizes do not match.
void expect_well_made(const CollectiveCall& call, Rank rank, int ranks);

/// "persistent reduce_scatter of bf16 (max) out of place".
std::string describe(const CollectiveCall& call, Mode mode, Rank rank);

/// A collective that can run repeatedly on the same memory: start(), then wait(). From start()
/// until wait() returns, `from` is being read and `to` is undefined. All ranks start the same
/// collectives in the same order. They wait for them in that order, except for those that test()
/// reported as done. Throws LibraryError.
class PreparedCollective {
 public:
  virtual ~PreparedCollective() = default;
  virtual void start() = 0;
  virtual void wait() = 0;
  /// Whether the collective is done; then wait() is not needed. Call it between start() and wait().
  /// Several collectives may be under way; test them in any order, which also makes them progress.
  /// An implementation that cannot test waits.
  [[nodiscard]] virtual bool test() {
    wait();
    return true;
  }
};

/// One of several messages that travel concurrently.
struct Outgoing {
  std::span<const std::byte> data;
  Rank to = 0;
  int tag = 0;
};
struct Incoming {
  std::span<std::byte> data;
  Rank from = 0;
  int tag = 0;
};

/// Messages that travel concurrently and repeatedly, from and to the same memory: start(), then
/// wait(), or test() until it returns true. Other exchanges may be under way meanwhile. Throws
/// LibraryError.
class PreparedExchange {
 public:
  virtual ~PreparedExchange() = default;
  virtual void start() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual bool test() = 0;
  /// Abandons a started exchange that is not known to be done; call it once. It receives nothing
  /// more, and waits only for ranks that are sending at this moment. Returns whether all messages
  /// are sent. If not, their memory is read until they are, so it must never be freed.
  [[nodiscard]] virtual bool leave() = 0;
};

}  // namespace dlscale::backend
