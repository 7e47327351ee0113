#include "model/communication/range_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/fits/fit.hpp"
#include "model/roofline/kernels/least_squares.hpp"

namespace dlscale::model {
namespace {

constexpr std::size_t unknowns = std::tuple_size_v<LinkMultiples>;
constexpr std::size_t min_sizes = 3;
constexpr std::size_t max_ranges = 6;
constexpr double least_noise = 0.005;
constexpr double infinite_residual = std::numeric_limits<double>::infinity();

using Parameters = LinkMultiples;
using Rows = std::span<const RangeRow>;

double residual(const RangeRow& row, const Parameters& x) {
  return std::inner_product(x.begin(), x.end(), row.terms.begin(), 0.0) - row.value;
}

double residual_sum(Rows rows, const Parameters& x) {
  double sum = 0;
  for (const RangeRow& row : rows) sum += std::pow(residual(row, x), 2);
  return sum;
}

/// Whether some row depends on an unknown.
bool is_asked(Rows rows, std::size_t j) {
  return std::ranges::any_of(rows, [j](const RangeRow& row) { return row.terms[j] > 0; });
}

struct Solution {
  Parameters x{};
  double residual = infinite_residual;  ///< sum of squares
  int parameters = 0;
};

Solution solve(Rows rows) {
  Equations equations;
  equations.unknowns = unknowns;
  for (const RangeRow& row : rows) equations.add(row.terms, row.value);
  const std::vector<double> weights(rows.size(), 1.0);
  const std::vector<double> x = non_negative_least_squares(equations, weights);
  Solution solution;
  std::ranges::copy(x, solution.x.begin());
  solution.residual = residual_sum(rows, solution.x);
  for (std::size_t j = 0; j < unknowns; ++j) solution.parameters += is_asked(rows, j) ? 1 : 0;
  return solution;
}

/// First rows of the sizes that count as one, and the number of rows at the end.
std::vector<std::size_t> starts_of_sizes(Rows rows) {
  std::vector<std::size_t> starts;
  long last = std::numeric_limits<long>::min();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const long quarter = std::lround(4 * std::log2(rows[i].size.si()));
    if (quarter != last) starts.push_back(i);
    last = quarter;
  }
  starts.push_back(rows.size());
  return starts;
}

/// The best partition of the sizes before `end` in `ranges` ranges.
struct Partition {
  double residual = infinite_residual;
  int parameters = 0;
  std::size_t begin = 0;  ///< first size of the last range
};

/// Partitions of sizes [0, end) by number of ranges and end, with the least sums of residuals.
class Partitions {
 public:
  Partitions(Rows rows, const std::vector<std::size_t>& starts, std::size_t most);
  [[nodiscard]] const Partition& whole(std::size_t ranges) const { return best_[ranges].back(); }
  /// First sizes of the ranges, and the number of sizes at the end.
  [[nodiscard]] std::vector<std::size_t> bounds(std::size_t ranges) const;

 private:
  std::vector<std::vector<Partition>> best_;  // [ranges][end]
};

Partitions::Partitions(Rows rows, const std::vector<std::size_t>& starts, std::size_t most)
    : best_(most + 1, std::vector<Partition>(starts.size())) {
  const std::size_t sizes = starts.size() - 1;
  const std::size_t least = std::min(min_sizes, sizes);
  best_[0][0].residual = 0;
  for (std::size_t begin = 0; begin + least <= sizes; ++begin) {
    for (std::size_t end = begin + least; end <= sizes; ++end) {
      const Solution range = solve(rows.subspan(starts[begin], starts[end] - starts[begin]));
      for (std::size_t k = 1; k <= most; ++k) {
        const Partition& before = best_[k - 1][begin];
        const double sum = before.residual + range.residual;
        if (sum < best_[k][end].residual) {
          best_[k][end] = {sum, before.parameters + range.parameters, begin};
        }
      }
    }
  }
}

std::vector<std::size_t> Partitions::bounds(std::size_t ranges) const {
  std::vector<std::size_t> result{best_[ranges].size() - 1};
  for (std::size_t k = ranges; k > 0; --k) {
    result.insert(result.begin(), best_[k][result.front()].begin);
  }
  return result;
}

double mean_deviation(Rows rows) {
  double sum = 0;
  for (const RangeRow& row : rows) sum += row.deviation;
  return sum / static_cast<double>(rows.size());
}

/// -2 ln of the likelihood of n errors with that sum of squares, up to a constant.
double misfit(double residual, double n, double noise) {
  return n * std::log(std::max(residual / n, noise * noise));
}

double noise_of(Rows rows) {
  return std::max(least_noise, mean_deviation(rows));
}

double penalty(int parameters, std::size_t ranges, Rows rows) {
  const double all = parameters + 2 * static_cast<double>(ranges) - 2;
  return all * std::log(static_cast<double>(rows.size()));
}

double bic_of(const Partition& partition, std::size_t ranges, Rows rows) {
  const auto n = static_cast<double>(rows.size());
  return misfit(partition.residual, n, noise_of(rows)) +
         penalty(partition.parameters, ranges, rows);
}

using Matrix = LinkSpread;

/// Inverse of a symmetric, positive definite matrix with diagonal 1, by Gauss-Jordan elimination.
Matrix inverse(const Matrix& of) {
  std::array<std::array<double, 2 * unknowns>, unknowns> m{};
  for (std::size_t i = 0; i < unknowns; ++i) {
    std::ranges::copy(of[i], m[i].begin());
    m[i][unknowns + i] = 1;
  }
  for (std::size_t k = 0; k < unknowns; ++k) {
    const double pivot = m[k][k];
    for (double& value : m[k]) value /= pivot;
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (i == k) continue;
      const double factor = m[i][k];
      for (std::size_t j = 0; j < 2 * unknowns; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  Matrix result{};
  for (std::size_t i = 0; i < unknowns; ++i) {
    std::copy(m[i].begin() + unknowns, m[i].end(), result[i].begin());
  }
  return result;
}

/// (AᵀA)⁻¹ of the unknowns in the rows; 0 for others. It is inverted with columns of unit length
/// and a small ridge on the diagonal: where columns depend on each other, unknown directions get a
/// huge variance, as they must.
Matrix covariance(Rows rows) {
  constexpr double ridge = 1e-6;
  Parameters lengths{};
  for (const RangeRow& row : rows) {
    for (std::size_t j = 0; j < unknowns; ++j) lengths[j] += row.terms[j] * row.terms[j];
  }
  for (double& length : lengths) length = std::sqrt(length);
  Matrix m{};
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (std::size_t j = 0; j < unknowns; ++j) {
      const double scale = lengths[i] * lengths[j];
      if (!(scale > 0)) continue;
      for (const RangeRow& row : rows) m[i][j] += row.terms[i] * row.terms[j] / scale;
    }
    m[i][i] += lengths[i] > 0 ? ridge : 1;
  }
  m = inverse(m);
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (std::size_t j = 0; j < unknowns; ++j) {
      const double scale = lengths[i] * lengths[j];
      m[i][j] = scale > 0 ? m[i][j] / scale : 0;
    }
  }
  return m;
}

/// The spread, which is 0 for unknowns outside the rows.
LinkSpread spread_of(Rows rows, const Solution& solution) {
  const auto used = static_cast<std::size_t>(solution.parameters);
  const std::size_t freedom = rows.size() > used ? rows.size() - used : 0;
  const double of_residuals = freedom == 0 ? 0 : solution.residual / static_cast<double>(freedom);
  const double variance = std::max(std::pow(mean_deviation(rows), 2), of_residuals);
  const double t = freedom == 0 ? 1.96 : student_t95(freedom);
  LinkSpread spread = covariance(rows);
  for (auto& row : spread) {
    for (double& value : row) value *= t * t * variance;
  }
  return spread;
}

template <class Q>
Estimate<Q> around(double value, double half_width) {
  return {Q(value), Q(std::max(0.0, value - half_width)), Q(value + half_width)};
}

/// The link of unknowns `first` and the next, if they are in the rows.
std::optional<LinkFit> link_of(Rows rows, const Parameters& x, const LinkSpread& spread,
                               std::size_t first) {
  if (!is_asked(rows, first) && !is_asked(rows, first + 1)) return std::nullopt;
  const auto width = [&](std::size_t j) { return std::sqrt(std::max(0.0, spread[j][j])); };
  return LinkFit{around<Seconds>(x[first], width(first)),
                 around<SecondsPerByte>(x[first + 1], width(first + 1))};
}

LinkRange range_of(Rows rows, const Solution& solution) {
  const LinkSpread spread = spread_of(rows, solution);
  std::vector<double> residuals;
  residuals.reserve(rows.size());
  for (const RangeRow& row : rows) residuals.push_back(std::abs(residual(row, solution.x)));
  LinkRange range;
  range.from = rows.front().size;
  range.to = rows.back().size;
  range.intra = link_of(rows, solution.x, spread, 0);
  range.inter = link_of(rows, solution.x, spread, 2);
  if (is_asked(rows, 4)) {
    range.both_ways = around<SecondsPerByte>(solution.x[4], std::sqrt(std::max(0.0, spread[4][4])));
  }
  range.median_residual = median(residuals);
  range.points = static_cast<int>(rows.size());
  range.spread = spread;
  return range;
}

void join(std::vector<LinkRange>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const double between = std::sqrt(ranges[i - 1].to.si() * ranges[i].from.si());
    ranges[i - 1].to = ranges[i].from = Bytes(between);
  }
}

/// The spread if errors were independent.
LinkSpread independent(const LinkRange& range) {
  LinkSpread spread{};
  std::size_t j = 0;
  for (const auto& link : {range.intra, range.inter}) {
    if (link) {
      spread[j][j] = std::pow((link->alpha.high - link->alpha.value).si(), 2);
      spread[j + 1][j + 1] = std::pow((link->beta.high - link->beta.value).si(), 2);
    }
    j += 2;
  }
  if (const auto& both = range.both_ways)
    spread[j][j] = std::pow((both->high - both->value).si(), 2);
  return spread;
}

}  // namespace

Seconds LinkRange::half_width(const LinkMultiples& a) const {
  const LinkSpread s = spread ? *spread : independent(*this);
  double square = 0;
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (std::size_t j = 0; j < unknowns; ++j) square += a[i] * s[i][j] * a[j];
  }
  return Seconds(std::sqrt(std::max(0.0, square)));
}

RangesFit fit_ranges(std::vector<RangeRow> rows) {
  EXPECT(!rows.empty());
  std::ranges::stable_sort(rows, {}, &RangeRow::size);
  const std::vector<std::size_t> starts = starts_of_sizes(rows);
  const std::size_t most = std::clamp<std::size_t>((starts.size() - 1) / min_sizes, 1, max_ranges);
  const Partitions partitions(rows, starts, most);
  RangesFit fit;
  fit.bic = infinite_residual;
  std::size_t best = 1;
  for (std::size_t k = 1; k <= most; ++k) {
    const double bic = bic_of(partitions.whole(k), k, rows);
    if (bic >= fit.bic) continue;
    fit.bic = bic;
    best = k;
  }
  const std::vector<std::size_t> bounds = partitions.bounds(best);
  const Rows all = rows;
  int parameters = 0;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const std::size_t first = starts[bounds[i]];
    const Rows part = all.subspan(first, starts[bounds[i + 1]] - first);
    const Solution solution = solve(part);
    fit.ranges.push_back(range_of(part, solution));
    fit.bic_by_range += misfit(solution.residual, static_cast<double>(part.size()), noise_of(all));
    parameters += solution.parameters;
  }
  fit.bic_by_range += penalty(parameters, best, all);
  join(fit.ranges);
  return fit;
}

}  // namespace dlscale::model
