#pragma once
#include <array>
#include <cstddef>

#include "model/communication/contention.hpp"
#include "model/sgd_iter/graph/given.hpp"

namespace dlscale::model {

/// What computing and messages cost each other while both go on: computing goes at 1 / s_c,
/// messages at 1 / s_m of their speed alone.
struct Contention {
  double compute = 1;   ///< s_c ≥ 1
  double messages = 1;  ///< s_m ≥ 1
};

/// Of messages of one kind, by the kind of work beside them.
using ContentionByWork = std::array<Contention, work_kinds>;

/// That of a stretch of work beside messages that last longer than it. Of times t_k of its kinds,
///   s_c = Σ t_k s_c,k / Σ t_k,   s_m = Σ t_k s_c,k / Σ (t_k s_c,k / s_m,k)
/// which gives the time that the stretch takes, and what travels in it. What is of no known kind is
/// not slowed down and slows nothing. [D, derived] Wrong for messages that end within a stretch of
/// several kinds, which meet only some of them.
inline Contention mean_contention(const Given& work, const ContentionByWork& by_work) {
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

}  // namespace dlscale::model
