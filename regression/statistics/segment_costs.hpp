#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale::regression {

/// Σ |x_t − median| of every segment of a sequence, in O(n²). For each start, the later points
/// leave a sorted linked list from the end, and the median moves at most one place each time.
class SegmentCosts {
 public:
  /// Requires finite values, n ≤ a few hundred (stores n² numbers).
  explicit SegmentCosts(std::span<const double> values);
  /// Cost of the points first ≤ t < end. Requires first < end ≤ n.
  [[nodiscard]] double operator()(std::size_t first, std::size_t end) const {
    return costs_[(end - 1) * n_ + first];
  }

 private:
  std::size_t n_;
  std::vector<double> costs_;  ///< costs of one end lie next to each other, as a search reads them
};

}  // namespace dlscale::regression
