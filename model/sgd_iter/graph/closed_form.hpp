#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/sgd_iter/graph/contention.hpp"
#include "model/sgd_iter/graph/packing.hpp"

namespace dlscale::model {

/// The closed forms of MODEL §1 as pure functions. [S-SGD: Shi, Wang & Chu, arXiv:1711.05979 and
/// 1805.03812; WFBP: Zhang et al., ATC'17]. They hold where every task has its resource to itself;
/// the task graph (iteration.hpp) is the general case, and equal to them there.

/// Times of one iteration on one worker, each by itself. `comm` is all communication.
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

/// (1.1) t_iter = t_io + t_gpu: one worker, nothing overlaps. Wrong as soon as batches are
/// prefetched.
Seconds iteration_of_one(const IterationParts& parts);

/// (1.3) t_iter = max{ t_io + t_h2d, t_f + t_b + t_c + t_u }: input is prefetched up to and
/// including an asynchronous copy to the device (page-locked memory), by one thread that reads and
/// copies in turn. Wrong for copies on the training thread: see (1.3'); and where others read while
/// one copies: see iteration_copied_ahead().
Seconds iteration_input_and_copy_prefetched(const IterationParts& parts);

/// (1.3') t_iter = max{ t_io, t_h2d + t_f + t_b + t_c + t_u }: input is prefetched, the copy is on
/// the critical path. What the engine does on a processor. Wrong where loader threads take cores
/// from compute.
Seconds iteration_input_prefetched(const IterationParts& parts);

/// (1.3) as the engine does it on a device with memory of its own, and with (1.4):
///   t_iter = max{ t_io, t_h2d, t_f + t_b + t_c^no + t_u }
/// Loader threads read the batch after next while the next is copied, so the two do not add up, and
/// the next is copied as soon as the device has read the one before. `parts.comm` is what shows of
/// communication. [D, derived: the largest cycle of the task graph] Wrong where the host takes
/// longer to give work than the device to do it.
Seconds iteration_copied_ahead(const IterationParts& parts);

/// (1.4) t_iter = max{ t_io + t_h2d, t_f + t_b + t_c^no + t_u }: (1.3) with wait-free backward
/// propagation, of which only t_c^no, `exposed_comm`, shows.
Seconds iteration_wait_free(const IterationParts& parts, Seconds exposed_comm);

/// Backward with overlapped communication. Times run from the start of backward.
struct BackwardWithComm {
  Seconds finish;   ///< T_bc
  Seconds exposed;  ///< t_c^no = T_bc - Σ t_b
};

/// (1.5)–(1.8), the recurrence: messages are sent one at a time, in the order in which backward
/// makes them ready:
///   τ_b(L) = 0,       τ_b(l) = τ_b(l+1) + t_b(l+1)
///   τ_c(L) = t_b(L),  τ_c(l) = max{ τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l) }
///   T_bc = max{ τ_c(1) + t_c(1), Σ t_b }
/// `backward` and `comm` hold t_b and t_c in order of execution: element i is layer L - i; t_c is 0
/// for layers without parameters. Wrong where communication slows compute down: see
/// contended_backward().
/// [HKBU-HPML/MG-WFBP, distributed_optimizer.py]
BackwardWithComm wait_free_recurrence(std::span<const Seconds> backward,
                                      std::span<const Seconds> comm);

/// (1.9), the same as the makespan of a two-machine flow shop:
///   T_bc = max over 1 ≤ c ≤ L of Σ_{i=c..L} t_b(i) + Σ_{i=1..c} t_c(i)
BackwardWithComm wait_free_closed_form(std::span<const Seconds> backward,
                                       std::span<const Seconds> comm);

/// A part of backward that contends with messages, and the message that follows it.
struct ContendedPart {
  Seconds compute;
  Seconds message;                     ///< 0: none
  std::size_t kind = 0;                ///< of the message
  std::vector<Contention> contention;  ///< of the part, by kind of the message beside it
  Seconds meeting = {};                ///< of ranks before the message, beside which nothing slows
};

/// Backward beside messages that contend with it.
struct ContendedBackward {
  Seconds backward;  ///< of all parts: what they take
  Seconds hidden;    ///< of messages and meetings: what they take beside them
  Seconds exposed;   ///< of these: what is left after the last part, with nothing beside it
};

/// (1.5)–(1.8) where part i goes at 1 / s_c while a message travels, and the message at 1 / s_m.
/// Both rates are steady between the end of a part and the end of a message, so what is left of the
/// messages that are ready is piecewise linear: of part i, t is left, and of the first message, q;
/// beside each other, whichever ends first,
///   x = min{ t, q s_m / s_c } of the part and x s_c / s_m of the message pass in x s_c
/// and t alone in t once no message is left. While ranks meet before a message both clocks of that
/// go at full speed. [D, derived] Wrong where others take cores from both.
ContendedBackward contended_backward(std::span<const ContendedPart> parts);

/// Backward beside messages that are packed.
struct PackedBackward {
  Seconds finish;     ///< T_bc
  Seconds exposed;    ///< T_bc - Σ t_b
  Seconds messages;   ///< of all packs, without votes
  Seconds hidden;     ///< what of them runs beside backward
  Seconds last_look;  ///< that found something
};

/// MODEL 2.2 as a recurrence over looks, as Packing says. With r_i the time when gradient i is
/// ready, i the first that has not been found, v the last look, s the earliest next one, and
/// looking = meeting + vote:
///   look at  w = v + max{ 1, ⌈(r_1 - v) / cycle⌉ } cycle  for the first gradient, then
///            w = s + k max{ cycle, looking },  the least k ≥ 0 for which w ≥ r_i
///   found are all j ≥ i with r_j ≤ w; their packs P_1, P_2, … finish at  w + looking + Σ T(P)
///   s = max{ w + cycle, finish of the last pack }
/// `backward` in order of execution and the size of the message each part makes ready, 0 for none;
/// `last_look`, at most 0, and the results run from the start of backward. [D, derived: looks that
/// find nothing are left out, for they only move s by whole periods] Wrong where votes slow compute
/// down.
PackedBackward packed_recurrence(std::span<const Seconds> backward, std::span<const Bytes> sizes,
                                 const Packing& packing, Seconds last_look);

/// A stretch of the forward pass and the gather it waits for.
struct GatheredPart {
  Seconds gather;
  Seconds compute;  ///< with the update before it
};

/// Forward beside gathers that follow one another from `first_gather` on, in the order in which it
/// waits for them: the two-machine flow shop of (1.9) the other way round,
///   finish = max{ start + Σ f,  first_gather + max over j of Σ_{i≤j} g_i + Σ_{i≥j} f_i }
/// Times from the end of the iteration before; `start` is when forward may begin otherwise. [D,
/// derived: the longest path of the chain of gathers and the chain of parts] Wrong where messages
/// slow compute down.
Seconds gathered_forward(std::span<const GatheredPart> parts, Seconds first_gather, Seconds start);

/// (2.4) t_iter ≥ max{ t_f + t_b, Σ t_c }: no order of messages gets below it, whatever they
/// overlap with.
Seconds least_iteration(Seconds compute, Seconds messages);

// From here on, workers and batches below 1, and iterations and bandwidths that are not above 0 and
// finite, are the caller's bug (EXPECT).

/// (1.10) S = N_g (t_io,1 + t_gpu) / t_iter(N_g): weak scaling over one worker that overlaps
/// nothing.
double speedup_over_naive(int workers, const IterationParts& one, Seconds iteration);

/// (1.11) the case of (1.10) in which all communication hides but that of layer 1, `last_message`,
/// and n workers share the storage, so that input takes `shared_io`.
double speedup_last_message_exposed(int workers, const IterationParts& one, Seconds shared_io,
                                    Seconds last_message);

/// (1.12) S = N_g max{ t_io,1 + t_h2d, t_f + t_b + t_u } / max{ t_io,n + t_h2d, t_f + T_bc + t_u }:
/// overlap on both sides.
double speedup_overlapped(int workers, const IterationParts& one, Seconds shared_io,
                          Seconds backward_with_comm);

/// (1.13) E = S / N_g.
double scaling_efficiency(double speedup, int workers);
/// (1.13) N_g b / t_iter, images per second.
double throughput(int workers, int batch, Seconds iteration);

}  // namespace dlscale::model
