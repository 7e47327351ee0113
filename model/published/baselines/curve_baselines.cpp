#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "model/published/baselines/baselines.hpp"

namespace dlscale::model {
namespace {

using cases::CasePrediction;
using cases::CurveCase;
using cases::GivenCurve;
using Times = std::optional<std::vector<Seconds>>;

/// The curve whose number of ranks is nearest to the one asked, by ratio; the first of equals.
const GivenCurve& nearest(const CurveCase& curve) {
  const double asked = curve.scale();
  return *std::ranges::min_element(curve.given, {}, [&](const GivenCurve& given) {
    return std::abs(std::log(given.scale() / asked));
  });
}

/// A straight line through the smallest and the largest given size, α ≥ 0 and β ≥ 0. For another
/// number of ranks it scales like a ring:
///   t = α + β m,  α ~ p − 1,  β ~ (p − 1) / p
/// Wrong between sizes where the library changes its algorithm.
Times alpha_beta(const CurveCase& curve) {
  const GivenCurve& given = nearest(curve);
  const int p = curve.scale();
  const int q = given.scale();
  if (given.bytes.size() < 2 || (p != q && q < 2)) return {};
  const Bytes first = given.bytes.front();
  SecondsPerByte beta = std::max(
      (given.times.back() - given.times.front()) / (given.bytes.back() - first), SecondsPerByte());
  Seconds alpha = std::max(given.times.front() - beta * first, Seconds());
  if (p != q) {
    alpha = alpha * ((p - 1.0) / (q - 1.0));
    beta = beta * ((p - 1.0) / p * q / (q - 1.0));
  }
  std::vector<Seconds> times;
  for (const Bytes m : curve.query) times.push_back(alpha + beta * m);
  return times;
}

/// Index of the end of the segment of the curve that contains a size, or is nearest to it.
std::size_t segment_end(const GivenCurve& given, Bytes m) {
  const auto found = std::ranges::lower_bound(given.bytes, m);
  const auto place = static_cast<std::size_t>(found - given.bytes.begin());
  return std::clamp<std::size_t>(place, 1, given.bytes.size() - 1);
}

/// Straight between the given sizes, and beyond them, on logarithmic axes. For another number of
/// ranks it is the nearest curve, unchanged:
///   log t = log t₀ + (log m − log m₀) / (log m₁ − log m₀) · (log t₁ − log t₀)
/// Wrong for other numbers of ranks.
Times loglog(const CurveCase& curve) {
  const GivenCurve& given = nearest(curve);
  if (given.bytes.size() < 2) return {};
  std::vector<Seconds> times;
  for (const Bytes m : curve.query) {
    const std::size_t end = segment_end(given, m);
    const double x0 = std::log(given.bytes[end - 1].si());
    const double x1 = std::log(given.bytes[end].si());
    const double y0 = std::log(given.times[end - 1].si());
    const double y1 = std::log(given.times[end].si());
    times.emplace_back(std::exp(y0 + (std::log(m.si()) - x0) / (x1 - x0) * (y1 - y0)));
  }
  return times;
}

constexpr std::array all_of_curves{
    CurveBaseline{"alpha_beta", "a line through the smallest and the largest given size",
                  alpha_beta},
    CurveBaseline{"loglog", "log-log interpolation between the given sizes", loglog}};

/// Whether no collective can take that time: a steep curve was extrapolated far.
bool is_absurd(Seconds time) {
  return !std::isfinite(time.si()) || time.si() < 1e-30 || time.si() > 1e30;
}

CasePrediction predict_curve(const CurveBaseline& baseline, const CurveCase& curve) {
  if (curve.given.empty()) return cases::not_covered(curve.id, "no curve is given");
  const Times times = baseline.times(curve);
  if (!times) return cases::not_covered(curve.id, "the nearest curve has too few points or ranks");
  if (std::ranges::any_of(*times, is_absurd)) {
    return cases::not_covered(curve.id, "the given curve is too steep to be extended so far");
  }
  CasePrediction prediction;
  prediction.id = curve.id;
  prediction.unit = cases::CaseUnit::time_s;
  for (const Seconds time : *times) {
    const double value = time.si();
    prediction.values.emplace_back(cases::PredictedValue{value, value * (1 - baseline_interval),
                                                         value * (1 + baseline_interval)});
  }
  return prediction;
}

}  // namespace

std::span<const CurveBaseline> curve_baselines() {
  return all_of_curves;
}

std::vector<CasePrediction> predict(const CurveBaseline& baseline,
                                    std::span<const CurveCase> curves) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(curves.size());
  for (const CurveCase& curve : curves) predictions.push_back(predict_curve(baseline, curve));
  return predictions;
}

}  // namespace dlscale::model
