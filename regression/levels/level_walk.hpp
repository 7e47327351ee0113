#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "regression/levels/change_points.hpp"
#include "regression/levels/level_noise.hpp"
#include "regression/levels/sorted_window.hpp"
#include "regression/levels/straight_line.hpp"

namespace dlscale::regression {

/// A point as logarithms.
struct LogPoint {
  double value = 0;
  std::vector<double> runs;  ///< empty: one, the value
  double above = 0;          ///< how much larger it may be without its rounding
  double below = 0;          ///< how much smaller
};

/// A change of level, by places among the points.
struct FoundChange {
  std::size_t place = 0;  ///< first point at the new level
  std::size_t earliest = 0;
  std::size_t latest = 0;
  std::size_t found = 0;  ///< point at which it was found
  bool upward = true;
  bool is_drift = false;  ///< the points from the one before `earliest` to `place` are on a line
  bool goes_on = false;   ///< of one drift with the change before
};

/// Follows the level of a history point by point; find_change_points() says by which rule.
class LevelWalk {
 public:
  LevelWalk(std::span<const LogPoint> points, const ChangePointRule& rule);
  /// The changes in the order in which they were found, which is that of their places.
  [[nodiscard]] std::vector<FoundChange> walk();
  /// The noise as it was estimated last.
  [[nodiscard]] const NoiseOfLevels& noise() const { return noise_; }

 private:
  static constexpr std::size_t window = 128;     // latest points of a level that are looked at
  static constexpr std::size_t least_later = 3;  // points of a later level, whose noise is known
  static constexpr double threshold = 4.8;       // T of a change of level
  /// 2 Δ ln L within which places of a change are likely.
  static constexpr double likely = 6;

  /// The points of the present level from `first` up to `end`, split at `place`.
  struct Split {
    std::size_t first = 0;
    std::size_t place = 0;
    std::size_t end = 0;
    double before = 0;  ///< median of either part
    double after = 0;
  };

  struct Shift {
    double before = 0;
    double after = 0;
    double size = 0;  ///< over the least that counts
  };

  [[nodiscard]] std::optional<FoundChange> look(std::size_t end);
  [[nodiscard]] std::optional<FoundChange> newest_change(std::size_t first, std::size_t least,
                                                         std::size_t end);
  [[nodiscard]] std::size_t runs_of(std::size_t place, std::size_t end) const;
  [[nodiscard]] std::size_t runs_beyond(std::size_t place, std::size_t end, double before,
                                        double sign) const;
  [[nodiscard]] std::optional<FoundChange> change_of_level(std::size_t first, std::size_t least,
                                                           std::size_t end);
  [[nodiscard]] Split split_at(std::size_t first, std::size_t place, std::size_t end);
  [[nodiscard]] Shift shift_at(const Split& split);
  [[nodiscard]] bool may_be_shift(const Split& split);
  [[nodiscard]] std::size_t guess(std::size_t first, std::size_t least, std::size_t end);
  [[nodiscard]] FoundChange place_between(std::size_t first, std::size_t least, std::size_t end,
                                          double before, double after, const NoiseOfLevels& noise);
  [[nodiscard]] bool is_run_of_other_level(const Split& split, const Shift& shift) const;
  [[nodiscard]] bool are_scattered(std::size_t place, std::size_t end, double distance,
                                   const NoiseOfLevels& noise) const;
  [[nodiscard]] bool are_spikes(double distance, double sign, const NoiseOfLevels& noise,
                                std::size_t points) const;
  void take_residuals(const Split& split);
  [[nodiscard]] NoiseOfLevels noise_of(const Split& split);
  [[nodiscard]] NoiseOfLevels noise_about_line(std::size_t first, std::size_t end);
  [[nodiscard]] double rounding_at(std::size_t first, std::size_t place, std::size_t end,
                                   bool upward) const;
  void add_residuals(std::size_t first, std::size_t end, double centre, LevelResiduals& all) const;
  void add_line_residuals(std::size_t first, std::size_t end, LevelResiduals& all) const;
  [[nodiscard]] double median_of(std::size_t first, std::size_t end);
  [[nodiscard]] double location_about(double centre, std::size_t first, std::size_t end,
                                      double limit) const;
  [[nodiscard]] double location_of(std::size_t first, std::size_t end, double limit);
  [[nodiscard]] std::span<const double> points_of(std::size_t first, std::size_t end) const;
  void estimate_noise();
  void begin_level(const FoundChange& change);

  // The drifts, of level_drift.cpp.
  [[nodiscard]] std::optional<FoundChange> drift(std::size_t first, std::size_t least,
                                                 std::size_t end);
  [[nodiscard]] bool goes_on(const FoundChange& change, std::span<const FoundChange> earlier,
                             std::size_t end);
  [[nodiscard]] bool follows_drift(std::size_t before, std::size_t place, std::size_t end);
  [[nodiscard]] bool begins_drift(const FoundChange& change, std::span<const FoundChange> steps,
                                  std::size_t end);
  [[nodiscard]] NoiseOfLevels noise_of_levels(std::size_t first, std::size_t place,
                                              std::size_t end);
  [[nodiscard]] double loss_of_level(std::size_t first, std::size_t end, double limit);
  [[nodiscard]] double loss_of_line(std::size_t first, std::size_t end, double limit);

  std::span<const LogPoint> points_;
  std::vector<double> x_;
  double margin_;
  double newest_;
  std::size_t start_ = 0;     ///< first point of the present level
  LevelResiduals known_;      ///< of earlier levels
  LevelResiduals residuals_;  ///< those, and of the present one
  NoiseOfLevels noise_;
  /// A split whose noise is still to be estimated, since no decision needed it.
  std::optional<Split> not_estimated_;
  SortedWindow latest_;          ///< the points that are looked at
  SortedWindow begin_;           ///< their first third
  SortedWindow close_;           ///< and their last
  std::vector<double> scratch_;  // kept between calls, as the rest, to spare allocations
  std::vector<double> sums_;
  std::vector<double> costs_;
};

}  // namespace dlscale::regression
