#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"

namespace dlscale::model {

/// The closed forms of an iteration as pure functions. [S-SGD: Shi, Wang & Chu, arXiv:1711.05979
/// and 1805.03812; WFBP: Zhang et al., ATC'17]. They hold where every task has its resource to
/// itself, and there equal the task graph (iteration.hpp), which is the general case.

/// Times of the phases of one iteration on one worker, each alone. `comm` is all communication.
struct IterationParts {
  Seconds io;
  Seconds h2d;
  Seconds forward;
  Seconds backward;
  Seconds comm;
  Seconds update;
  /// t_gpu = t_h2d + t_f + t_b + t_u
  [[nodiscard]] Seconds gpu() const { return h2d + forward + backward + update; }
};

/// t_iter = max{ t_io, t_h2d + t_f + t_b + t_c + t_u }: input is prefetched, and the copy is
/// on the critical path, as in the engine on a processor. Wrong where loader threads take cores
/// from compute.
Seconds iteration_input_prefetched(const IterationParts& parts);

/// As in the engine on a device with its own memory:
///   t_iter = max{ t_io, t_h2d, t_f + t_b + t_c^no + t_u }
/// Loader threads read the batch after next during the copy of the next, so the two do not add up.
/// The copy starts as soon as the device has read the batch before. `parts.comm` is the exposed
/// communication. [D, derived: the largest cycle of the task graph] Wrong where the host takes
/// longer to launch work than the device to do it.
Seconds iteration_copied_ahead(const IterationParts& parts);

/// Backward with overlapped communication. Times run from the start of backward.
struct BackwardWithComm {
  Seconds finish;   ///< T_bc
  Seconds exposed;  ///< t_c^no = T_bc - Σ t_b
};

/// Messages are sent one at a time, in the order in which backward makes them ready. By the
/// makespan of a two-machine flow shop [S. M. Johnson 1954],
///   T_bc = max over 1 ≤ c ≤ L of Σ_{i=c..L} t_b(i) + Σ_{i=1..c} t_c(i)
/// `backward` and `comm` hold t_b and t_c in order of execution: element i is layer L - i; t_c is 0
/// for layers without parameters. Wrong where communication slows compute down: see
/// contended_backward(). [HKBU-HPML/MG-WFBP, distributed_optimizer.py]
BackwardWithComm wait_free_closed_form(std::span<const Seconds> backward,
                                       std::span<const Seconds> comm);

/// A part of backward that contends with messages, and the message after it.
struct ContendedPart {
  Seconds compute;
  Seconds message;       ///< 0: none
  std::size_t kind = 0;  ///< kind of the message
  /// Slow-downs of the part, by kind of the concurrent message.
  std::vector<Contention> contention;
  Seconds barrier = {};  ///< of ranks, before the message; it slows nothing down
};

/// Backward with concurrent messages that contend with it.
struct ContendedBackward {
  Seconds backward;  ///< time of all parts
  Seconds hidden;    ///< messages and meetings during backward
  Seconds exposed;   ///< messages and meetings after the last part
};

/// Wait-free backward where part i runs at 1 / s_c of its speed during a message, and the message
/// at 1 / s_m. Both rates are steady between the end of a part and the end of a message, so the
/// remaining message time is piecewise linear. With t left of part i and q left of the first
/// message, until either ends,
///   x = min{ t, q s_m / s_c } of the part and x s_c / s_m of the message
/// pass in x s_c; t alone passes in t once no message is left. While ranks meet before a message
/// both run at full speed. [D, derived] Wrong where others take cores from both.
ContendedBackward contended_backward(std::span<const ContendedPart> parts);

/// Backward with concurrent messages that are packed.
struct PackedBackward {
  Seconds finish;     ///< T_bc
  Seconds exposed;    ///< T_bc - Σ t_b
  Seconds messages;   ///< all packs, without votes
  Seconds hidden;     ///< the part of them during backward
  Seconds last_look;  ///< the last look that found something
};

/// Packing as a recurrence over looks. Let r_i be the time when gradient i is ready, i
/// the first not found yet, v the last look, s the earliest next one, and looking = barrier + vote:
///   look at  w = v + max{ 1, ⌈(r_1 - v) / cycle⌉ } cycle  for the first gradient, then
///            w = s + k max{ cycle, looking },  the least k ≥ 0 for which w ≥ r_i
///   found are all j ≥ i with r_j ≤ w; their packs P_1, P_2, … finish at  w + looking + Σ T(P)
///   s = max{ w + cycle, finish of the last pack }
/// `backward` is in order of execution, with the size of the message each part makes ready, 0 for
/// none. `last_look`, at most 0, and the results are relative to the start of backward. [D,
/// derived: looks that find nothing are left out, because they only shift s by whole periods] Wrong
/// where votes slow compute down.
PackedBackward packed_recurrence(std::span<const Seconds> backward, std::span<const Bytes> sizes,
                                 const Packing& packing, Seconds last_look);

/// A stretch of the forward pass and the gather it waits for.
struct GatheredPart {
  Seconds gather;
  Seconds compute;  ///< including the update before it
};

/// Forward with gathers that follow one another from `first_gather` on, in the order in which
/// forward waits for them. It is the two-machine flow shop of wait_free_closed_form() in reverse:
///   finish = max{ start + Σ f,  first_gather + max over j of Σ_{i≤j} g_i + Σ_{i≥j} f_i }
/// Times are relative to the end of the iteration before; `start` is when forward may begin
/// otherwise. [D, derived: the longest path of the chain of gathers and the chain of parts] Wrong
/// where messages slow compute down.
Seconds gathered_forward(std::span<const GatheredPart> parts, Seconds first_gather, Seconds start);

// Below, workers and batches below 1, and iterations and bandwidths that are not finite and above
// 0, are the caller's bug (EXPECT).

/// E = S / N_g.
double scaling_efficiency(double speedup, int workers);
/// N_g b / t_iter, images per second.
double throughput(int workers, int batch, Seconds iteration);

}  // namespace dlscale::model
