#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale::report {

/// Σ |x_t − median| of every stretch of a sequence, in O(n²): for each start, the points after it
/// leave a sorted linked list from the end, and the median moves at most one place each time.
class SegmentCosts {
 public:
  /// Finite values, n ≤ a few hundred (n² numbers are kept).
  explicit SegmentCosts(std::span<const double> values);
  /// Of the points first ≤ t < end; requires first < end ≤ n.
  [[nodiscard]] double operator()(std::size_t first, std::size_t end) const {
    return costs_[(end - 1) * n_ + first];
  }

 private:
  std::size_t n_;
  std::vector<double> costs_;  ///< those of one end beside each other, as a search reads them
};

}  // namespace dlscale::report
