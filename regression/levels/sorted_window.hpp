#pragma once
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace dlscale::regression {

/// Successive points of a history, kept in order of size while the window moves on, so that their
/// medians take no sorting.
class SortedWindow {
 public:
  /// `x` has to outlive the window.
  explicit SortedWindow(std::span<const double> x) : x_(x) {}
  /// The points from `first` up to `end`. Neither may go back; first < end ≤ points.
  void move_to(std::size_t first, std::size_t end);
  [[nodiscard]] double median() const;
  /// Median of the distances from `centre`.
  [[nodiscard]] double median_distance(double centre) const;
  struct Medians {
    double before = 0;
    double after = 0;
  };
  /// Medians of the points before `place`, and from there on. Both parts need a point.
  [[nodiscard]] Medians medians_at(std::size_t place);

 private:
  using Point = std::pair<double, std::size_t>;  ///< value and place

  void insert(std::size_t place);
  void erase(std::size_t place);
  void fill(std::size_t first, std::size_t end);
  [[nodiscard]] double distance_of_nearest(double centre, std::size_t count) const;

  std::span<const double> x_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::vector<Point> sorted_;
  std::vector<double> before_;
  std::vector<double> after_;
};

}  // namespace dlscale::regression
