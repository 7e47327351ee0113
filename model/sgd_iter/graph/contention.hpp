#pragma once
#include <array>
#include <cstddef>

#include "model/communication/contention.hpp"
#include "model/sgd_iter/graph/launched_work.hpp"

namespace dlscale::model {

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

}  // namespace dlscale::model
