#pragma once
#include "core/base/units.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {

/// Bounds of a makespan; equal where the closed form is exact.
struct MakespanBounds {
  Seconds lower;
  Seconds upper;
  [[nodiscard]] bool is_exact() const { return lower == upper; }
};

/// The makespan of an iteration from its shape, without lists, in O(parts). It leaves out reduces
/// and updates, and otherwise bounds simulate(). Requires that obstacle() is empty, and costs as
/// simulate() does (EXPECT).
///
/// For S stages, m micro-batches, v chunks, times f_p and b_p of part p, w_p within b_p for the
/// weights, and messages x_p behind it:
///
/// - basic: m Σ(f + b + 2x), exact (7.1, 7.2).
/// - gpipe: Σ(f + b + 2x) + (m-1)(max f + max b), exact (7.3).
/// - 1f1b, equal parts: (m+S-1)(f+b) + 2(S-1) x + 2 x (m - 1 - ⌈(m-1)/S⌉), exact. Every S-th
///   micro-batch finds the way to the last stage and back hidden. [D+, equals the simulation on
///   random inputs; (7.4) is its case x = 0]
/// - 1f1b, other parts: max_s [m (f_s + b_s) + Σ_{p<s}(f + b + 2x)] ≤ T
///   ≤ Σ(f + b + 2x) + (m-1) max(f + b) + 2 max x (m - 1 - ⌈(m-1)/S⌉) (7.6).
/// - interleaved, equal parts with x ≤ min(f, b): v m (f+b) + (S-1)(f+b) + 2(vS-1) x, exact (7.5)
///   [D+]. Else that is a lower bound, and with f and b raised to x an upper one.
/// - zero_bubble, equal parts without messages, m ≥ S and w ≤ min(f, b - w):
///   m (f+b) + (S-1)(f + b - 2w), exact [arXiv:2401.10241, table 2].
/// - zero_bubble else, with k = min(s+1, m):
///   max_s [Σ_{p<s}(f + x) + m (f_s + b_s) - k w_s + max(k w_s, Σ_{p<s}(b - w + x) + w_0)] ≤ T.
/// - gems: Σ(f + x) + (m-1)(max(Σb + f_last, b_last + Σf) + Σx) + Σ(b + x), exact for equal parts
///   (7.7, 7.8), else a lower bound [D+].
///
/// Raising all parts to the slowest gives upper bounds of the others: no time of a list falls where
/// an operation takes longer. The sum of all operations and messages of an iteration is another.
MakespanBounds closed_form(const parallel::PipelineSchedule& schedule,
                           const parallel::PipelineShape& shape, const PipelineCosts& costs);

}  // namespace dlscale::model
