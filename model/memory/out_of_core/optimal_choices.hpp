#pragma once
#include <optional>
#include <vector>

#include "core/base/units.hpp"
#include "model/memory/out_of_core/spill_time.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"

namespace dlscale::model {

/// The choices of least spill_time() at distance 1 whose peak is at most `budget`; nothing if there
/// are none. A dynamic programme over layers: with K bytes kept of tensors that layers before k
/// release, the least time is
///   T_k+1(K + kept) = T_k(K) + max(0, Σ out - t_f(k)) + max(0, Σ in - t_b(k + 1)) + Σ recompute
/// over all choices for the tensors that layer k releases, where step k + 1 holds
///   fixed + K + kept + live(k + 1) + swapped ≤ budget.
/// [D, derived: (8.1) and (8.3) depend on earlier choices by K alone] Memory counts in `units` ≥ 1
/// parts of what `fixed` leaves, each tensor rounded up. Choices for a layer that take no less of
/// anything than others of it are dropped first. So the result is exact where sizes are
/// whole parts, and else at most a part a tensor from it, never over budget. A kept tensor that
/// later forward steps use, too, counts twice in these, which only errs on the safe side.
std::optional<std::vector<SpillChoice>> optimal_choices(const SpilledTraining& training,
                                                        const HostLink& link, Bytes budget,
                                                        int units = 4096);

}  // namespace dlscale::model
