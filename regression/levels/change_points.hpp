#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace dlscale::regression {

/// The levels of a history of one metric, and where they change, as checks night by night find
/// them: what is found at one commit depends on the commits up to there alone, so no later commit
/// moves a change or takes it away.
///
///   x_t = ln y_t;  ψ(r) = r clipped at ±2.5 robust standard deviations
///   T(τ) = |m_after − m_before| / √(v · (g(k) / k + g(n) / n))
///   g(k) = 1 + 2 Σ_(0<j<k) (1 − j / k) ρ^j
///
/// At every commit the level so far is split where the clipped sums stand out most, into n points
/// before and k after. m is Huber's location of either part. v (variance of ψ) and ρ (correlation
/// of neighbours) come from the residuals about both parts and about all earlier levels, so that a
/// step does not pass for noise or for neighbours that resemble each other. A change is found if
/// T > 4.8 with k ≥ 5, and if it is beyond the margin.
///
/// The latest 1 to 4 commits are a change if each is beyond the margin and the smallest distance
/// gives T > 3.5. Two runs, and two thirds of all, have to show it. The share p of earlier
/// residuals as far out has to be so small that as many in a row are a chance below 1 in 20,000: a
/// history of spikes needs more commits.
///
/// v is that of the latest 8, 16, 32 … residuals where it exceeds that of all by 5 standard errors:
/// the noise has grown. Few points far apart are no level. A history that was at the later level
/// now and then, more than 3 standard deviations away, has to be there more often than chance
/// (1 in 20,000) makes it.
///
/// A slope of at least 15 points of a level is a drift if it is beyond its error by T > 4.8, moves
/// the level by 12 standard deviations of the noise, and explains the points better than a step
/// (2 Δ ln L > 12). Steps in one direction are one drift if a level and a slope explain them better
/// (2 Δ ln L > 8). What a known drift adds goes on with it, unless a level and a step explain it
/// better.
///
/// A history that jumps to and fro between levels is `bimodal`. Changes between those levels are
/// marked (`between_modes`) and must raise no alarm; any other change counts as usual. Levels are
/// equal within the margin or within three standard errors of the difference of their medians,
/// whichever is larger.
///
/// Where it is wrong: the first pieces of a drift after a quiet time may pass for steps. A smaller
/// change within a bimodal history hides in the errors of its levels.
struct ChangePointRule {
  double margin = 0.01;         ///< δ: smaller changes of level (a fraction) are ignored
  double newest_margin = 0.02;  ///< likewise of fewer than 5 commits
};

/// Shape of a history.
enum class HistoryShape {
  too_short,  ///< fewer than 10 usable points: no statement
  steady,     ///< one level
  changed,    ///< levels that follow each other
  /// Jumps to and fro between levels: at least 3 segments return to an earlier one, or points do.
  /// Points do if on both sides of a change at least 3 (2 of a side of 7 or less) lie at the other
  /// side's level and almost none between. Changes between its modes must raise no alarm.
  bimodal,
};

/// One commit of a history: its value, and its runs where it has several. The value may be off by
/// `rounding`, and only what is left of a change beyond the rounding of both levels counts.
struct HistoryPoint {
  double value = 0;
  std::span<const double> runs = {};
  double rounding = 0;
};

/// Points of one level. `first` and `last` are indices of points as the caller gave them.
struct HistorySegment {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t points = 0;
  double level = 0;  ///< median, unit of the values
};

/// A change of level between the points `before` and `after` (indices as the caller gave them,
/// neighbours in time). The points up to `found` show it.
struct ChangePoint {
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t earliest = 0;  ///< first point that may be the first at the new level; ≤ after
  std::size_t latest = 0;    ///< last such point
  std::size_t found = 0;     ///< point at which the change was found
  double level_before = 0;   ///< of a drift: where it began
  double level_after = 0;
  double ratio = 1;            ///< after / before
  bool upward = true;          ///< direction of the change when it was found
  bool is_drift = false;       ///< a slope of all points from the one before `earliest` on
  bool goes_on = false;        ///< of one drift with the change before
  bool between_modes = false;  ///< from one level of a bimodal history to another
  bool never_raised = false;   ///< between modes already when it was found
  /// Index in `changes` of the later change that took the level back, even if the level has gone
  /// away again; 0 if it has not gone back.
  std::size_t back = 0;
};

struct ChangePoints {
  HistoryShape shape = HistoryShape::too_short;
  std::vector<ChangePoint> changes;  ///< in the order of time
  /// changes + 1 segments, in the order of time
  std::vector<HistorySegment> segments;
  std::vector<double> modes;   ///< levels that a bimodal history returns to, ascending
  double autocorrelation = 0;  ///< ρ
  std::size_t points = 0;      ///< usable points
  std::size_t unusable = 0;    ///< points left out: not finite or not positive
};

/// `points` are in the order of time.
ChangePoints find_change_points(std::span<const HistoryPoint> points,
                                const ChangePointRule& rule = {});
/// Values of one run each.
ChangePoints find_change_points(std::span<const double> values, const ChangePointRule& rule = {});

}  // namespace dlscale::regression
