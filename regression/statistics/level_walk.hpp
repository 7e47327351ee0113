#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "regression/statistics/change_points.hpp"

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

struct NoiseOfLevels {
  double scale = 0;        ///< robust standard deviation
  double variance = 0;     ///< of clipped residuals
  double correlation = 0;  ///< of neighbours
  double freedom = 2;      ///< degrees of freedom of the variance
  /// Student's quantile that has the error of the normal quantile z.
  [[nodiscard]] double quantile(double z) const;
  /// Standard error of the mean of so many neighbours.
  [[nodiscard]] double error_of_mean(std::size_t points) const;
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
  struct Residuals {
    std::vector<double> values;
    std::vector<unsigned char> follows;  ///< 1: the one before is its neighbour
  };

  struct Shift {
    double before = 0;
    double after = 0;
    double size = 0;  ///< over the least that counts
  };

  [[nodiscard]] std::optional<FoundChange> look(std::size_t end);
  [[nodiscard]] std::optional<FoundChange> newest_change(std::size_t first, std::size_t least,
                                                         std::size_t end);
  [[nodiscard]] std::optional<FoundChange> change_of_level(std::size_t first, std::size_t least,
                                                           std::size_t end);
  [[nodiscard]] Shift shift_at(std::size_t first, std::size_t place, std::size_t end);
  [[nodiscard]] std::size_t guess(std::size_t first, std::size_t least, std::size_t end);
  [[nodiscard]] FoundChange place_between(std::size_t first, std::size_t least, std::size_t end,
                                          double before, double after, const NoiseOfLevels& noise);
  [[nodiscard]] bool is_run_of_other_level(std::size_t first, std::size_t place, std::size_t end,
                                           const Shift& shift) const;
  [[nodiscard]] bool are_scattered(std::size_t place, std::size_t end, double distance,
                                   const NoiseOfLevels& noise) const;
  [[nodiscard]] bool are_spikes(double distance, double sign, const NoiseOfLevels& noise,
                                std::size_t points) const;
  [[nodiscard]] NoiseOfLevels noise_of(std::size_t first, std::size_t place, std::size_t end);
  [[nodiscard]] NoiseOfLevels noise_about_line(std::size_t first, std::size_t end);
  [[nodiscard]] NoiseOfLevels noise_of_residuals();
  [[nodiscard]] NoiseOfLevels noise_since(std::size_t first);
  [[nodiscard]] double rounding_at(std::size_t first, std::size_t place, std::size_t end,
                                   bool upward) const;
  void add_residuals(std::size_t first, std::size_t end, Residuals& all);
  void add_line_residuals(std::size_t first, std::size_t end, Residuals& all);
  [[nodiscard]] double median_of(std::size_t first, std::size_t end);
  [[nodiscard]] double scale_of(std::span<const double> residuals);
  [[nodiscard]] double location_of(std::size_t first, std::size_t end, double limit);
  [[nodiscard]] std::optional<FoundChange> drift(std::size_t first, std::size_t least,
                                                 std::size_t end);
  [[nodiscard]] bool goes_on(const FoundChange& change, std::span<const FoundChange> earlier,
                             std::size_t end);
  [[nodiscard]] bool follows_drift(std::size_t before, std::size_t place, std::size_t end);
  [[nodiscard]] bool begins_drift(const FoundChange& change, std::span<const FoundChange> steps,
                                  std::size_t end);
  [[nodiscard]] double loss_of_level(std::size_t first, std::size_t end, double limit);
  [[nodiscard]] double loss_of_line(std::size_t first, std::size_t end, double limit);
  [[nodiscard]] std::span<const double> points_of(std::size_t first, std::size_t end) const;
  void begin_level(const FoundChange& change);

  std::span<const LogPoint> points_;
  std::vector<double> x_;
  double margin_;
  double newest_;
  std::size_t start_ = 0;  ///< first point of the present level
  Residuals known_;        ///< of earlier levels
  NoiseOfLevels noise_;
  Residuals residuals_;  // kept between calls, as the rest, to spare allocations
  std::vector<double> scratch_;
  std::vector<double> deviations_;
  std::vector<double> costs_;
};

}  // namespace dlscale::regression
