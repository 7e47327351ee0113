#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>

#include "core/base/units.hpp"
#include "model/communication/contention.hpp"

namespace dlscale::model {

/// The phases of one iteration. io, h2d, forward, backward, exposed_comm and update are disjoint
/// and add up to total; hidden_comm and load overlap with them, load on several threads. Meetings
/// of ranks before messages are part of exposed_comm and hidden_comm.
struct IterationTime {
  Seconds io;   ///< waiting for input
  Seconds h2d;  ///< the copy; if ahead, the device's wait for it
  Seconds forward;
  Seconds backward;
  Seconds exposed_comm;
  Seconds update;
  Seconds total;
  Seconds hidden_comm;
  /// Thread time of reading and decoding one batch: the sum over the loader threads of a rank, each
  /// busy for load / Run::loader_threads.
  Seconds load;
};

/// Steps that a host launches on a device that runs them in order: step i starts when it is
/// launched and step i - 1 is done. If the host starts to launch at h and the device is free at c,
/// the device ends at max{ c + device, h + together }. The host ends at h + host. This is exact:
/// each step is a max-plus matrix on (h, c), and these three numbers are their product. [D,
/// derived: a (max, +) product]
struct LaunchedWork {
  Seconds device;    ///< Σ d: all launched beforehand
  Seconds host;      ///< Σ g; 0 where the host computes itself, or launches in no time
  Seconds together;  ///< max over i of g_1 + … + g_i + d_i + … + d_n: on an idle device
  /// The part of `device` by kind of work; the rest has no known kind.
  std::array<Seconds, work_kinds> of_kind{};

  LaunchedWork() = default;
  /// Work without launch time; implicit, because a bare time means that.
  LaunchedWork(Seconds alone) : device(alone), together(alone) {}
  static LaunchedWork step(Seconds give, Seconds compute) {
    LaunchedWork one(compute);
    one.host = give;
    one.together = give + compute;
    return one;
  }
  static LaunchedWork step(Seconds give, Seconds compute, WorkKind kind) {
    LaunchedWork one = step(give, compute);
    one.of_kind[index_of(kind)] = compute;
    return one;
  }

  /// The same steps, launched in no time.
  [[nodiscard]] LaunchedWork launched_at_once() const {
    LaunchedWork one(*this);
    one.host = {};
    one.together = device;
    return one;
  }

  /// These steps followed by those of `next`.
  [[nodiscard]] LaunchedWork then(const LaunchedWork& next) const {
    LaunchedWork both(device + next.device);
    both.host = host + next.host;
    both.together = std::max(together + next.device, host + next.together);
    for (std::size_t i = 0; i < work_kinds; ++i) both.of_kind[i] = of_kind[i] + next.of_kind[i];
    return both;
  }
};

/// Slow-downs of concurrent computing and messages: computing runs at 1 / s_c, messages at 1 / s_m
/// of their speed alone.
struct Contention {
  double compute = 1;   ///< s_c ≥ 1
  double messages = 1;  ///< s_m ≥ 1
};

/// Slow-downs for messages of one kind, by kind of concurrent work.
using ContentionByWork = std::array<Contention, work_kinds>;

/// Slow-downs of a stretch of work during messages that outlast it. With times t_k of its kinds,
///   s_c = Σ t_k s_c,k / Σ t_k,   s_m = Σ t_k s_c,k / Σ (t_k s_c,k / s_m,k)
/// which keeps the time of the stretch and the amount sent in it. Work of no known kind has no
/// slow-downs. [D, derived] Wrong for messages that end within a stretch of several kinds, because
/// they overlap only some of them.
inline Contention mean_contention(const LaunchedWork& work, const ContentionByWork& by_work) {
  double alone = 0;
  double beside = 0;
  double sent = 0;
  const auto add = [&](double time, const Contention& contention) {
    alone += time;
    beside += time * contention.compute;
    sent += time * contention.compute / contention.messages;
  };
  double rest = work.device.si();
  for (std::size_t i = 0; i < work_kinds; ++i) {
    add(work.of_kind[i].si(), by_work[i]);
    rest -= work.of_kind[i].si();
  }
  constexpr double rounding = 1e-12;
  if (rest > rounding * work.device.si()) add(rest, {});
  if (alone == 0) return {};
  return {beside / alone, beside / sent};
}

/// A resource that looks for tasks only from time to time, as the background thread of Horovod
/// does. An iteration has `messages` tasks. From its first task until its last is found, a look
/// follows `cycle` after the one before. If service of those findings ends later, the look follows
/// that. Then the resource rests until the first task of the next iteration is ready. It then looks
/// at a whole number of cycles, 1 or more, after its last look, or after time 0. Each look takes
/// `barrier`, which keeps nothing busy, and then `vote`, even if nothing waits. Tasks that wait at
/// its beginning are served after it in packs by fuse() of core/network/merge.hpp, in order of
/// readiness. Packs follow one another; all tasks of a pack start and finish with it.
struct Packing {
  Seconds cycle;  ///< ≥ 0
  Bytes threshold;
  Seconds vote;                        ///< ≥ 0
  double cores = 0;                    ///< processor cores used by a vote
  std::function<Seconds(Bytes)> time;  ///< time of a pack, ≥ 0
  std::size_t messages = 1;            ///< messages of an iteration; all are served before the next
  /// Kind (Task::kind) of a pack and of a vote; no function: all packs are of kind 0.
  std::function<std::size_t(Bytes)> kind = {};
  std::size_t vote_kind = 0;
  Seconds barrier = {};  ///< ≥ 0

  [[nodiscard]] Seconds looking() const { return barrier + vote; }
};

/// The first look after a rest, for a task ready at `ready` ≥ `last`, the time of the last look.
Seconds look_after_rest(Seconds last, Seconds ready, Seconds cycle);

}  // namespace dlscale::model
