#include "model/published/curves/size_curve.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace dlscale::model {
namespace {

/// Difference of two measurements of the same size, in ln T.
constexpr double measurement_noise = 0.02;
/// Error of a chord, in ln T, if no point between others tests it.
constexpr double untold_residual = 0.1;

bool is_usable(double number) {
  return std::isfinite(number) && number > 0;
}

double geometric_mean(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += std::log(number);
  return std::exp(sum / static_cast<double>(numbers.size()));
}

Seconds on_chord(Bytes x0, Seconds y0, Bytes x1, Seconds y1, Bytes m) {
  const double part = (m - x0) / (x1 - x0);
  return (1 - part) * y0 + part * y1;
}

enum class Reach { not_told, one_node, several_nodes };

Reach reach(int ranks, int nodes, int ranks_per_node) {
  if (nodes == 1) return Reach::one_node;
  if (nodes > 1) return Reach::several_nodes;
  if (ranks_per_node < 1) return Reach::not_told;
  return ranks <= ranks_per_node ? Reach::one_node : Reach::several_nodes;
}

bool may_be_alike(Reach a, Reach b) {
  return a == b || a == Reach::not_told || b == Reach::not_told;
}

/// Keeps one curve for each number of ranks: the one on the nodes asked, else the first.
void keep_each_once(std::vector<RankCurve>& curves, int nodes) {
  const auto first = [&](const RankCurve& a, const RankCurve& b) {
    if (a.ranks != b.ranks) return a.ranks < b.ranks;
    return a.nodes == nodes && b.nodes != nodes;
  };
  std::ranges::stable_sort(curves, first);
  const auto same = [](const RankCurve& a, const RankCurve& b) { return a.ranks == b.ranks; };
  curves.erase(std::unique(curves.begin(), curves.end(), same), curves.end());
}

}  // namespace

CurveTime ranged(Seconds value, std::span<const Seconds> laws, double spread,
                 double latency_share) {
  CurveTime time{value, value, value, latency_share};
  for (const Seconds law : laws) {
    time.low = std::min(time.low, law);
    time.high = std::max(time.high, law);
  }
  const double wider = std::exp(spread);
  time.low = time.low / wider;
  time.high = wider * time.high;
  return time;
}

SizeCurve::SizeCurve(const cases::GivenCurve& given) {
  std::map<double, std::vector<double>> by_size;
  const std::size_t points = std::min(given.bytes.size(), given.times.size());
  for (std::size_t i = 0; i < points; ++i) {
    const double size = given.bytes[i].si();
    const double time = given.times[i].si();
    if (is_usable(size) && is_usable(time)) by_size[size].push_back(time);
  }
  for (const auto& [size, times] : by_size) {
    sizes_.emplace_back(size);
    times_.emplace_back(times.size() == 1 ? times.front() : geometric_mean(times));
  }
}

bool SizeCurve::covers(Bytes m) const {
  return m >= sizes_.front() && m <= sizes_.back();
}

/// Index of the end of the segment that contains m, or is nearest to it. Requires two points.
std::size_t SizeCurve::segment_end(Bytes m) const {
  const auto found = std::ranges::lower_bound(sizes_, m);
  const auto place = static_cast<std::size_t>(found - sizes_.begin());
  return std::clamp<std::size_t>(place, 1, sizes_.size() - 1);
}

/// β ≥ 0 of the segment that ends at that index.
SecondsPerByte SizeCurve::slope(std::size_t end) const {
  return std::max((times_[end] - times_[end - 1]) / (sizes_[end] - sizes_[end - 1]),
                  SecondsPerByte());
}

Seconds SizeCurve::time(Bytes m) const {
  if (sizes_.size() == 1) return std::max(1.0, m / sizes_.front()) * times_.front();
  const std::size_t end = segment_end(m);
  if (covers(m)) return on_chord(sizes_[end - 1], times_[end - 1], sizes_[end], times_[end], m);
  const SecondsPerByte beta = slope(end);
  if (m > sizes_.back()) return times_.back() + beta * (m - sizes_.back());
  const Seconds alpha = times_.front() - beta * sizes_.front();
  if (alpha <= Seconds()) return m / sizes_.front() * times_.front();
  return alpha + beta * m;
}

double SizeCurve::latency_share(Bytes m) const {
  if (sizes_.size() == 1) return std::min(1.0, sizes_.front() / m);
  return std::clamp(1 - slope(segment_end(m)) * m / time(m), 0.0, 1.0);
}

std::vector<Seconds> SizeCurve::beyond(Bytes m) const {
  if (covers(m)) return {};
  if (m > sizes_.back()) return {m / sizes_.back() * times_.back()};
  return {times_.front(), m / sizes_.front() * times_.front()};
}

/// The |ln| of the chord over the one on logarithmic axes; 0 where m is not covered.
double SizeCurve::bend(Bytes m) const {
  if (sizes_.size() < 2 || !covers(m)) return 0;
  const std::size_t end = segment_end(m);
  const double part = std::log(m / sizes_[end - 1]) / std::log(sizes_[end] / sizes_[end - 1]);
  const double rise = std::log(times_[end] / times_[end - 1]);
  return std::abs(std::log(time(m) / times_[end - 1]) - part * rise);
}

/// The |ln| of a time over the prediction by its neighbours; empty at the ends.
std::optional<double> SizeCurve::residual(std::size_t point) const {
  if (point == 0 || point + 1 >= sizes_.size()) return {};
  const Seconds foretold = on_chord(sizes_[point - 1], times_[point - 1], sizes_[point + 1],
                                    times_[point + 1], sizes_[point]);
  return std::abs(std::log(times_[point] / foretold));
}

double SizeCurve::residuals_around(Bytes m) const {
  std::vector<double> found;
  const auto add = [&](std::size_t point) {
    if (const auto told = residual(point)) found.push_back(*told);
  };
  if (sizes_.size() < 3) return untold_residual;
  const std::size_t end = segment_end(m);
  add(end - 1);
  add(end);
  return std::accumulate(found.begin(), found.end(), 0.0) / static_cast<double>(found.size());
}

double SizeCurve::spread(Bytes m) const {
  if (std::ranges::binary_search(sizes_, m)) return measurement_noise;
  return measurement_noise + bend(m) + residuals_around(m);
}

KnownCurves known_curves(const cases::CurveCase& curve) {
  const bool by_ranks = curve.ranks > 0;
  const int per_node = curve.cluster.gpus_per_node;
  const Reach asked = reach(curve.ranks, curve.nodes, per_node);
  KnownCurves known;
  for (const cases::GivenCurve& given : curve.given) {
    const int scale = by_ranks ? given.ranks : given.nodes;
    RankCurve told{scale, given.nodes, SizeCurve(given)};
    if (scale < 1 || told.times.empty() || (scale == 1 && curve.scale() != 1)) continue;
    const Reach its_reach = reach(given.ranks, given.nodes, per_node);
    if (may_be_alike(asked, its_reach)) {
      known.alike.push_back(std::move(told));
    } else if (its_reach == Reach::one_node && by_ranks &&
               (!known.in_node || known.in_node->ranks < scale)) {
      known.in_node = std::move(told);
    }
  }
  keep_each_once(known.alike, curve.nodes);
  if (!known.alike.empty()) known.in_node.reset();
  return known;
}

}  // namespace dlscale::model
