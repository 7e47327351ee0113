#pragma once
#include <string_view>
#include <vector>

#include "core/family.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"

namespace dlscale::collective {

/// The Hockney model of a link, plus the time to reduce one byte: a message of m bytes takes
/// alpha + m · beta, and m · gamma more if it is added to what the receiver holds.
struct Link {
  Seconds alpha;
  SecondsPerByte beta;
  SecondsPerByte gamma;
};

/// Rank `from` sends chunks [first, first + count) of its buffer to rank `to`, which adds them to
/// its own (`add`) or overwrites its own with them (`copy`).
struct Transfer {
  enum class Action { add, copy };
  Rank from = 0;
  Rank to = 0;
  int first = 0;
  int count = 0;
  Action action = Action::copy;
};

/// Transfers that run at the same time. No rank sends twice or receives twice in one round.
using Round = std::vector<Transfer>;

/// Rounds one after another, over a message cut in `chunks` equal parts.
struct Schedule {
  int chunks = 1;
  std::vector<Round> rounds;
};

/// How many ranks of a node send to other nodes in one round at most, with ranks numbered node by
/// node: they share its link.
enum class Outflow { one_rank, every_rank };
int flows(Outflow outflow, int ranks_on_node);

/// An all-reduce on p ≥ 1 ranks, written once: `schedule` says who sends what when, `cost` is the
/// closed form of the same thing.
struct AllReduceAlgorithm {
  std::string_view name;
  std::string_view doc;
  Schedule (*schedule)(int p);
  Seconds (*cost)(const Link& link, int p, Bytes m);
  Outflow outflow;
};

/// The time of a schedule for a message of m bytes when every pair of ranks has its own full-duplex
/// `link`: every round takes as long as its slowest transfer.
Seconds time(const Schedule& schedule, const Link& link, Bytes m);

/// Powers of two that the algorithms are built on.
int floor_log2(int p);          ///< ⌊lg p⌋, p ≥ 1
int ceiling_log2(int p);        ///< ⌈lg p⌉, p ≥ 1
int largest_power_of_2(int p);  ///< the largest 2^k ≤ p

/// The members p' = 2^⌊lg p⌋ of a group of any size that take part in a power-of-two algorithm.
/// The first 2 (p - p') ranks pair up: the even one hands its message to the odd one before
/// (`fold`) and gets the sum back after (`unfold`). Both rounds are empty if p is a power of two.
/// [MPICH, Thakur et al. 2005]
class PowerOfTwoGroup {
 public:
  explicit PowerOfTwoGroup(int p);
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] Rank rank(int member) const;  ///< 0 ≤ member < size()
  /// Rounds around those of `inner`, whose ranks are members; keeps its chunks.
  [[nodiscard]] Schedule around(Schedule inner) const;

 private:
  int size_;
  int folded_;  ///< p - p'
};

}  // namespace dlscale::collective

namespace dlscale {
template <>
Family<collective::AllReduceAlgorithm> family<collective::AllReduceAlgorithm>();
}  // namespace dlscale
