#include "model/fits/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::model {

const std::string& Sourced::axis(std::string_view name) const {
  const auto found = measurement->axes.find(std::string(name));
  if (found == measurement->axes.end()) {
    throw ConfigError(
        fmt::format("{}: {} has no axis \"{}\", without which it cannot be fitted. "
                    "Measure again with this version.",
                    file, measurement->key(), name));
  }
  return found->second;
}

std::int64_t Sourced::integer(std::string_view name) const {
  const std::string& text = axis(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw ConfigError(
        fmt::format("{}: {} has {} = \"{}\", which is not an integer ≥ 1. Measure again.", file,
                    measurement->key(), name, text));
  }
  return value;
}

int Sourced::count(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (value > 1'000'000'000) {
    throw ConfigError(fmt::format("{}: {} has {} = {}, which is out of range. Measure again.", file,
                                  measurement->key(), name, value));
  }
  return static_cast<int>(value);
}

std::map<std::vector<std::string>, Group> group_by(const Group& all,
                                                   const std::vector<std::string_view>& axes) {
  std::map<std::vector<std::string>, Group> groups;
  for (const Sourced& one : all) {
    std::vector<std::string> key;
    key.reserve(axes.size());
    for (const std::string_view axis : axes) key.push_back(one.axis(axis));
    groups[key].push_back(one);
  }
  return groups;
}

namespace {

const Summary& summary(const Sourced& one, std::string_view name, Range range) {
  const auto found = one.measurement->series.find(std::string(name));
  const auto fail = [&](std::string_view problem) -> ConfigError {
    return ConfigError(fmt::format("{}: {}: series \"{}\" {}. Measure again.", one.file,
                                   one.measurement->key(), name, problem));
  };
  if (found == one.measurement->series.end()) throw fail("is missing");
  if (found->second.unit != "s") throw fail("is not in seconds");
  const Summary& s = found->second.summary;
  const bool ordered = s.ci95_low <= s.median && s.median <= s.ci95_high;
  if (s.n == 0 || !std::isfinite(s.ci95_high) || !ordered) throw fail("has no valid summary");
  if (s.median < 0 || (range == Range::positive && s.median == 0)) throw fail("is not positive");
  return s;
}

/// Mean over the ranks of their own medians.
Summary mean_of_ranks(const Series& series) {
  Summary mean;
  const auto ranks = static_cast<double>(series.samples.size());
  for (const auto& samples : series.samples) {
    const Summary rank = summarize(samples);
    mean.median += rank.median / ranks;
    mean.ci95_low += rank.ci95_low / ranks;
    mean.ci95_high += rank.ci95_high / ranks;
  }
  return mean;
}

}  // namespace

Estimate<Seconds> pool(const Group& group, std::string_view series, Range range, Ranks ranks) {
  EXPECT(!group.empty());
  std::vector<double> medians;
  double low = 0;
  double high = 0;
  for (const Sourced& one : group) {
    Summary s = summary(one, series, range);
    if (ranks == Ranks::each) s = mean_of_ranks(one.measurement->at(series));
    low = medians.empty() ? s.ci95_low : std::min(low, s.ci95_low);
    high = std::max(high, s.ci95_high);
    medians.push_back(s.median);
  }
  return {Seconds(median(medians)), Seconds(std::max(0.0, low)), Seconds(high)};
}

Estimate<Seconds> pool_mean(const Group& group, std::string_view series) {
  EXPECT(!group.empty());
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (const Sourced& one : group) {
    summary(one, series, Range::not_negative);
    for (const auto& rank : one.measurement->at(series).samples) {
      for (const double sample : rank) {
        ++count;
        sum += sample;
        squares += sample * sample;
      }
    }
  }
  const double mean = sum / count;
  const double variance = std::max(0.0, squares / count - mean * mean) / std::max(1.0, count - 1);
  const double half = 1.96 * std::sqrt(variance);
  return {Seconds(mean), Seconds(std::max(0.0, mean - half)), Seconds(mean + half)};
}

std::string source(const Group& group) {
  std::set<std::string> files;
  for (const Sourced& one : group) files.insert(one.file);
  if (files.size() == 1) return *files.begin();
  return fmt::format("{} and {} more", *files.begin(), files.size() - 1);
}

double student_t95(std::size_t freedom) {
  constexpr std::array table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  EXPECT(freedom >= 1);
  if (freedom <= table.size()) return table[freedom - 1];
  return 1.96 + 2.4 / static_cast<double>(freedom);
}

namespace {

constexpr std::size_t min_points = 3;
constexpr std::size_t max_segments = 6;
constexpr double least_noise = 0.005;

/// Sums of the normal equations of Σ (α a_i + β b_i - 1)², a_i = 1/t_i, b_i = m_i/t_i. Sizes are
/// scaled by the largest, so that both columns have similar magnitudes.
struct NormalEquations {
  double scale = 1;
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double a = 0;
  double b = 0;

  explicit NormalEquations(std::span<const SizedTime> points) : scale(points.back().size.si()) {
    for (const SizedTime& point : points) {
      const double ai = 1 / point.time.value.si();
      const double bi = point.size.si() / scale * ai;
      aa += ai * ai;
      ab += ai * bi;
      bb += bi * bi;
      a += ai;
      b += bi;
    }
  }
  [[nodiscard]] double determinant() const { return aa * bb - ab * ab; }
};

struct Line {
  double alpha = 0;
  double beta = 0;
};

double relative_residual(const Line& line, const SizedTime& point) {
  return (line.alpha + line.beta * point.size.si()) / point.time.value.si() - 1;
}

double residual_sum(const Line& line, std::span<const SizedTime> points) {
  double sum = 0;
  for (const SizedTime& point : points) sum += std::pow(relative_residual(line, point), 2);
  return sum;
}

Line unconstrained(const NormalEquations& n) {
  const double det = n.determinant();
  return {(n.a * n.bb - n.b * n.ab) / det, (n.aa * n.b - n.ab * n.a) / det / n.scale};
}

/// The objective is convex: if the free optimum is outside, the optimum lies on an edge.
Line constrained(const NormalEquations& n, std::span<const SizedTime> points) {
  const Line free = unconstrained(n);
  if (free.alpha >= 0 && free.beta >= 0) return free;
  const Line no_alpha{0, n.b / n.bb / n.scale};
  const Line no_beta{n.a / n.aa, 0};
  return residual_sum(no_alpha, points) <= residual_sum(no_beta, points) ? no_alpha : no_beta;
}

/// Relative standard deviation of a measurement, from its 95 % interval.
double relative_deviation(const SizedTime& point) {
  return (point.time.high - point.time.low).si() / (2 * 1.96 * point.time.value.si());
}

double mean_deviation(std::span<const SizedTime> points) {
  double sum = 0;
  for (const SizedTime& point : points) sum += relative_deviation(point);
  return sum / static_cast<double>(points.size());
}

template <class Q>
Estimate<Q> interval(double value, double free_value, double half_width) {
  return {Q(value), Q(std::clamp(free_value - half_width, 0.0, value)),
          Q(std::max(value, free_value + half_width))};
}

void check_points(std::span<const SizedTime> points) {
  EXPECT(points.size() >= 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT(points[i].time.value.si() > 0);
    EXPECT(i == 0 || points[i - 1].size < points[i].size);
  }
}

}  // namespace

Segment fit_affine(std::span<const SizedTime> points) {
  check_points(points);
  const NormalEquations n(points);
  const Line line = constrained(n, points);
  const Line free = unconstrained(n);
  const std::size_t freedom = points.size() - 2;
  const double of_points = std::pow(mean_deviation(points), 2);
  const double of_residuals =
      freedom == 0 ? 0 : residual_sum(free, points) / static_cast<double>(freedom);
  const double t = freedom == 0 ? 1.96 : student_t95(freedom);
  const double deviation = t * std::sqrt(std::max(of_points, of_residuals));
  const double width = deviation / std::sqrt(n.determinant());
  std::vector<double> residuals;
  for (const SizedTime& point : points) {
    residuals.push_back(std::abs(relative_residual(line, point)));
  }
  return {points.front().size,
          points.back().size,
          interval<Seconds>(line.alpha, free.alpha, width * std::sqrt(n.bb)),
          interval<SecondsPerByte>(line.beta, free.beta, width * std::sqrt(n.aa) / n.scale),
          median(residuals),
          static_cast<int>(points.size()),
          LineSpread{Bytes(n.ab / n.aa * n.scale), Seconds(deviation / std::sqrt(n.aa)),
                     SecondsPerByte(width * std::sqrt(n.aa) / n.scale)}};
}

namespace {

/// Partitions of points [0, end) in k segments with the least residual sum.
class Partitions {
 public:
  Partitions(std::span<const SizedTime> points, std::size_t most);
  [[nodiscard]] double residual(std::size_t k) const { return best_[k].back(); }
  /// First points of the segments, and the number of points at the end.
  [[nodiscard]] std::vector<std::size_t> bounds(std::size_t k) const;

 private:
  std::vector<std::vector<double>> best_;        // [k][end]
  std::vector<std::vector<std::size_t>> begin_;  // [k][end]: start of the last segment
};

Partitions::Partitions(std::span<const SizedTime> points, std::size_t most)
    : best_(most + 1, std::vector<double>(points.size() + 1, std::numeric_limits<double>::max())),
      begin_(most + 1, std::vector<std::size_t>(points.size() + 1)) {
  best_[0][0] = 0;
  for (std::size_t end = min_points; end <= points.size(); ++end) {
    for (std::size_t begin = 0; begin + min_points <= end; ++begin) {
      const auto part = points.subspan(begin, end - begin);
      const double cost = residual_sum(constrained(NormalEquations(part), part), part);
      for (std::size_t k = 1; k <= most; ++k) {
        if (best_[k - 1][begin] == std::numeric_limits<double>::max()) continue;
        if (best_[k - 1][begin] + cost >= best_[k][end]) continue;
        best_[k][end] = best_[k - 1][begin] + cost;
        begin_[k][end] = begin;
      }
    }
  }
}

std::vector<std::size_t> Partitions::bounds(std::size_t k) const {
  std::vector<std::size_t> result{best_[k].size() - 1};
  for (; k > 0; --k) result.insert(result.begin(), begin_[k][result.front()]);
  return result;
}

std::size_t best_number_of_segments(const Partitions& partitions, std::size_t most, double points,
                                    double noise) {
  std::size_t best = 1;
  double least = std::numeric_limits<double>::max();
  for (std::size_t k = 1; k <= most; ++k) {
    const double variance = std::max(partitions.residual(k) / points, noise * noise);
    const double bic =
        points * std::log(variance) + (4 * static_cast<double>(k) - 2) * std::log(points);
    if (bic >= least) continue;
    least = bic;
    best = k;
  }
  return best;
}

void join(std::vector<Segment>& segments) {
  for (std::size_t i = 1; i < segments.size(); ++i) {
    const double between = std::sqrt(segments[i - 1].to.si() * segments[i].from.si());
    segments[i - 1].to = segments[i].from = Bytes(between);
  }
}

}  // namespace

std::vector<Segment> fit_piecewise(std::span<const SizedTime> points) {
  check_points(points);
  const std::size_t most = std::min(max_segments, points.size() / min_points);
  if (most <= 1) return {fit_affine(points)};
  const Partitions partitions(points, most);
  const double noise = std::max(least_noise, mean_deviation(points));
  const std::size_t k =
      best_number_of_segments(partitions, most, static_cast<double>(points.size()), noise);
  const auto bounds = partitions.bounds(k);
  std::vector<Segment> segments;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    segments.push_back(fit_affine(points.subspan(bounds[i], bounds[i + 1] - bounds[i])));
  }
  join(segments);
  return segments;
}

std::string links_between_hosts(const Environment& environment) {
  const auto found = environment.variables.find("DLSCALE_CLUSTER");
  if (found == environment.variables.end()) return "";
  const std::string& cluster = found->second;
  std::istringstream words(cluster.substr(std::min(cluster.find("links of"), cluster.size())));
  std::string links;
  std::string last;
  for (std::string word; words >> word;) {
    if (word.ends_with(',')) word.pop_back();
    if (word == last) continue;
    links += (links.empty() ? "" : " ") + word;
    last = word;
  }
  return links.empty() ? cluster : links;
}

int cores_of_hosts(const Environment& environment) {
  constexpr std::string_view before = "on one machine with cores ";
  const auto found = environment.variables.find("DLSCALE_CLUSTER");
  if (found == environment.variables.end()) return 0;
  const std::string& cluster = found->second;
  const auto first = cluster.find(before);
  if (first == std::string::npos) return 0;
  std::string list = cluster.substr(first + before.size());
  list.resize(std::min(list.find(", links"), list.size()));
  std::ranges::replace(list, '|', ' ');
  std::ranges::replace(list, ',', ' ');
  std::istringstream words(list);
  std::set<std::string> cores;
  for (std::string word; words >> word;) cores.insert(word);
  return static_cast<int>(cores.size());
}

int alike(std::span<const int> values) {
  if (values.empty()) return 0;
  const bool same = std::ranges::all_of(values, [&](int value) { return value == values.front(); });
  return same ? values.front() : 0;
}

bool is_between_hosts(const Measurement& measurement) {
  const auto ranks = measurement.axes.find("ranks");
  const auto on_host = measurement.axes.find("ranks_on_node");
  const auto unknown = measurement.axes.end();
  return ranks != unknown && on_host != unknown && ranks->second != on_host->second;
}

}  // namespace dlscale::model
