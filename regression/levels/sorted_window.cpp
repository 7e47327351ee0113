#include "regression/levels/sorted_window.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::regression {
namespace {

/// Points by which a window moves one by one; beyond, sorting all anew is faster.
constexpr std::size_t most_steps = 16;

double middle_of(const double* sorted, std::size_t n) {
  const std::size_t middle = n / 2;
  return n % 2 == 1 ? sorted[middle] : (sorted[middle] + sorted[middle - 1]) / 2;
}

}  // namespace

void SortedWindow::move_to(std::size_t first, std::size_t end) {
  EXPECT(first_ <= first && end_ <= end && first < end && end <= x_.size());
  if (first >= end_ || first - first_ + end - end_ > most_steps) {
    fill(first, end);
  } else {
    for (std::size_t place = first_; place < first; ++place) erase(place);
    for (std::size_t place = end_; place < end; ++place) insert(place);
  }
  first_ = first;
  end_ = end;
}

void SortedWindow::fill(std::size_t first, std::size_t end) {
  sorted_.clear();
  for (std::size_t place = first; place < end; ++place) sorted_.emplace_back(x_[place], place);
  std::ranges::sort(sorted_);
}

void SortedWindow::insert(std::size_t place) {
  const Point point{x_[place], place};
  sorted_.insert(std::ranges::lower_bound(sorted_, point), point);
}

void SortedWindow::erase(std::size_t place) {
  sorted_.erase(std::ranges::lower_bound(sorted_, Point{x_[place], place}));
}

double SortedWindow::median() const {
  const std::size_t middle = sorted_.size() / 2;
  if (sorted_.size() % 2 == 1) return sorted_[middle].first;
  return (sorted_[middle].first + sorted_[middle - 1].first) / 2;
}

/// The distance of the last of so many points that are nearest to `centre`; they are neighbours.
double SortedWindow::distance_of_nearest(double centre, std::size_t count) const {
  std::size_t low = 0;
  std::size_t high = sorted_.size() - count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (centre - sorted_[middle].first > sorted_[middle + count].first - centre) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::max(std::abs(sorted_[low].first - centre),
                  std::abs(sorted_[low + count - 1].first - centre));
}

double SortedWindow::median_distance(double centre) const {
  const std::size_t middle = sorted_.size() / 2;
  const double upper = distance_of_nearest(centre, middle + 1);
  if (sorted_.size() % 2 == 1) return upper;
  return (upper + distance_of_nearest(centre, middle)) / 2;
}

SortedWindow::Medians SortedWindow::medians_at(std::size_t place) {
  before_.resize(sorted_.size() + 1);
  after_.resize(sorted_.size() + 1);
  // Written to both and kept in one: no branch depends on the order of noise.
  std::size_t before = 0;
  std::size_t after = 0;
  for (const auto& [value, at] : sorted_) {
    before_[before] = value;
    after_[after] = value;
    const std::size_t is_before = at < place ? 1 : 0;
    before += is_before;
    after += 1 - is_before;
  }
  EXPECT(before > 0 && after > 0);
  return {middle_of(before_.data(), before), middle_of(after_.data(), after)};
}

}  // namespace dlscale::regression
