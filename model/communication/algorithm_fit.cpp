#include "model/communication/algorithm_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <span>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

constexpr double octaves_to_half_a_weight = 2;

/// r(m) without the ratio at `but`; past the end: with all.
double mean_near(std::span<const FormRatio> ratios, Bytes m, std::size_t but) {
  double sum = 0;
  double weights = 1;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (i == but) continue;
    const double octaves = std::abs(std::log2(m / ratios[i].size));
    const double weight = std::exp2(-octaves / octaves_to_half_a_weight);
    sum += weight * ratios[i].log_ratio;
    weights += weight;
  }
  return sum / weights;
}

/// Widest interval, in the logarithm of the time: no information.
constexpr double widest = 20;

double distance(const Placement& a, const Placement& b) {
  return std::abs(std::log(static_cast<double>(a.ranks) / b.ranks));
}

/// The range of a size; if no sample there crossed the kind of link, the nearest with one.
const LinkRange* range_at(const std::vector<LinkRange>& ranges, Bytes size,
                          std::optional<LinkFit> LinkRange::*kind) {
  const auto found =
      std::ranges::find_if(ranges, [&](const LinkRange& range) { return size < range.to; });
  const auto at = std::min<std::ptrdiff_t>(found - ranges.begin(), std::ssize(ranges) - 1);
  const LinkRange* best = nullptr;
  std::ptrdiff_t nearest = std::ssize(ranges);
  for (std::ptrdiff_t i = 0; i < std::ssize(ranges); ++i) {
    const LinkRange& range = ranges[static_cast<std::size_t>(i)];
    if (!(range.*kind) || std::abs(i - at) >= nearest) continue;
    best = &range;
    nearest = std::abs(i - at);
  }
  return best;
}

/// A time by the closed form alone, with the 95 % interval from α and β of the links.
struct FormTime {
  Seconds time;
  double half_width = 0;  ///< relative
};

/// The time of the multiples over the links of a range, or of two.
FormTime form_time(const LinkRange* intra, const LinkRange* inter, const LinkMultiples& multiples,
                   Seconds adding) {
  const auto& [a_intra, b_intra, a_inter, b_inter, both_ways] = multiples;
  Seconds time = adding;
  double width = 0;
  if (intra != nullptr) {
    const LinkFit& link = *intra->intra;
    time += a_intra * link.alpha.value + Bytes(b_intra) * link.beta.value;
    width = intra->half_width({a_intra, b_intra, 0, 0, 0}).si();
  }
  if (inter != nullptr) {
    const LinkFit& link = *inter->inter;
    time += a_inter * link.alpha.value + Bytes(b_inter) * link.beta.value;
    if (inter->both_ways) time += Bytes(both_ways) * inter->both_ways->value;
    const LinkMultiples between{0, 0, a_inter, b_inter, both_ways};
    width = intra == inter ? inter->half_width(multiples).si()
                           : std::hypot(width, inter->half_width(between).si());
  }
  return {time, time.si() > 0 ? width / time.si() : 0};
}

/// The closed form alone; empty where a link or the algorithm is unknown.
std::optional<FormTime> closed_form(const AlgorithmFit& fit, const LinkTerms& terms, Bytes m) {
  const Bytes size = size_in_range(terms, fit.range_of, m);
  const bool has_intra = terms.alpha_intra != 0 || terms.beta_intra != 0;
  const bool has_inter = terms.alpha_inter != 0 || terms.beta_inter != 0;
  const LinkRange* intra = has_intra ? range_at(fit.ranges, size, &LinkRange::intra) : nullptr;
  const LinkRange* inter = has_inter ? range_at(fit.ranges, size, &LinkRange::inter) : nullptr;
  if ((has_intra && intra == nullptr) || (has_inter && inter == nullptr)) return std::nullopt;
  return form_time(intra, inter, terms.at(m), terms.gamma * (m * fit.gamma));
}

const LayoutFit* nearest_of(const std::vector<LayoutFit>& layouts, const Placement& layout) {
  const LayoutFit* best = nullptr;
  for (const LayoutFit& fit : layouts) {
    if (!is_alike(fit.layout, layout)) continue;
    if (best == nullptr || distance(fit.layout, layout) < distance(best->layout, layout)) {
      best = &fit;
    }
  }
  return best;
}

/// Prediction on a measured layout: by its own fit, if it has no ratios or the rules name an
/// unknown algorithm for m.
MessagePrediction as_measured(const AlgorithmFit& fit, const LayoutFit& near, Bytes m) {
  MessagePrediction prediction;
  prediction.time = near.cost.time(m);
  prediction.sizes_extrapolated = !near.cost.covers(m);
  if (near.ratios.at.empty()) return prediction;
  const auto form = closed_form_time(fit, near.layout, m);
  if (!form) return prediction;
  const Seconds value = std::exp(near.ratios.log_ratio(m)) * *form;
  const double width = std::min(widest, 1.96 * near.ratios.deviation);
  prediction.time = {value, std::exp(-width) * value, std::exp(width) * value};
  prediction.algorithm = fit.carrier.algorithm_for(near.layout, m);
  return prediction;
}

/// Relative distance from a value to the upper end of its interval.
double relative_half_width(const Estimate<Seconds>& time) {
  return time.value.si() > 0 ? time.high / time.value - 1 : 0;
}

/// Half the width of the 95 % interval of the closed form's error between two numbers of ranks, in
/// the logarithm of the time.
double departure(const AlgorithmFit& fit, const Placement& from, const Placement& to) {
  if (!fit.foresight) return 0;
  const Foresight& seen = *fit.foresight;
  const double steps =
      distance(from, to) / distance(Placement{seen.from, 1}, Placement{seen.ranks, 1});
  return 1.96 * seen.deviation * steps;
}

/// Prediction from several layouts, by the fit over all of them.
std::optional<MessagePrediction> by_fit(const AlgorithmFit& fit, const LayoutFit& near,
                                        const Placement& layout, Bytes m) {
  const auto there = fit.carrier.terms(layout, m);
  const auto here = fit.carrier.terms(near.layout, m);
  if (!there || !here) return std::nullopt;
  const Bytes same = fit.range_of == RangeOf::message ? m : there->transfer / here->transfer * m;
  const auto time = closed_form(fit, *there, m);
  const auto measured = closed_form(fit, *here, same);
  if (!time || !measured || measured->time.si() <= 0) return std::nullopt;
  MessagePrediction prediction = as_measured(fit, near, same);
  const double own = relative_half_width(prediction.time);
  const double beyond = std::max(0.0, std::pow(own, 2) - std::pow(measured->half_width, 2));
  const double of_form = std::hypot(time->half_width, departure(fit, near.layout, layout));
  const double width = std::min(widest, std::sqrt(beyond + std::pow(of_form, 2)));
  const Seconds value = time->time / measured->time * prediction.time.value;
  prediction.time = {value, std::exp(-width) * value, std::exp(width) * value};
  prediction.algorithm = fit.carrier.algorithm_for(layout, m);
  return prediction;
}

/// α + β m of one layout converted to another, if messages use that algorithm.
std::optional<Estimate<Seconds>> moved_line(const Carrier& carrier, const LayoutFit& near,
                                            const Placement& layout, Bytes m) {
  const auto here = carrier.terms(near.layout, m);
  const auto there = carrier.terms(layout, m);
  if (!here || !there) return std::nullopt;
  const double alpha =
      (there->alpha_intra + there->alpha_inter) / (here->alpha_intra + here->alpha_inter);
  const double beta =
      (there->beta_intra + there->beta_inter) / (here->beta_intra + here->beta_inter);
  return near.cost.segment(m).time(alpha, beta * m);
}

/// Prediction from the nearest layout alone: by the algorithm of least time.
std::optional<MessagePrediction> by_least(const AlgorithmFit& fit, const LayoutFit& near,
                                          const Placement& layout, Bytes m) {
  MessagePrediction least = as_measured(fit, near, m);
  for (Carrier& carrier : plain_carriers(fit.carrier.collective, false)) {
    carrier.cores = fit.carrier.cores;
    const auto time = moved_line(carrier, near, layout, m);
    if (!time || (!least.algorithm.empty() && time->value >= least.time.value)) continue;
    least.time = *time;
    least.algorithm = carrier.algorithm_for(layout, m);
  }
  if (least.algorithm.empty()) return std::nullopt;
  return least;
}

bool is_beyond(const AlgorithmFit& fit, const Placement& layout) {
  bool below = true;
  bool above = true;
  for (const LayoutFit& measured : fit.layouts) {
    if (!is_alike(measured.layout, layout)) continue;
    below = below && layout.ranks < measured.layout.ranks;
    above = above && layout.ranks > measured.layout.ranks;
  }
  return below || above;
}

}  // namespace

double FormRatios::log_ratio(Bytes m) const {
  return mean_near(at, m, at.size());
}

FormRatios form_ratios(std::vector<FormRatio> at) {
  FormRatios ratios;
  ratios.at = std::move(at);
  double squares = 0;
  for (std::size_t i = 0; i < ratios.at.size(); ++i) {
    const FormRatio& one = ratios.at[i];
    squares += std::pow(one.log_ratio - mean_near(ratios.at, one.size, i), 2);
  }
  if (ratios.at.empty()) return ratios;
  ratios.deviation = std::sqrt(squares / static_cast<double>(ratios.at.size()));
  return ratios;
}

std::string_view to_string(RangeOf range_of) {
  return range_of == RangeOf::message ? "message" : "transfer";
}

RangeOf parse_range_of(std::string_view word) {
  for (const RangeOf each : {RangeOf::message, RangeOf::transfer}) {
    if (to_string(each) == word) return each;
  }
  throw ConfigError(fmt::format("\"{}\" is neither message nor transfer. Calibrate again.", word));
}

bool is_same(const Placement& a, const Placement& b) {
  return a.ranks == b.ranks && a.ranks_on_node() == b.ranks_on_node();
}

bool is_alike(const Placement& a, const Placement& b) {
  return (a.nodes() == 1) == (b.nodes() == 1);
}

Bytes size_in_range(const LinkTerms& terms, RangeOf range_of, Bytes m) {
  return range_of == RangeOf::message ? m : terms.transfer * m;
}

std::string MessagePrediction::basis() const {
  if (sizes_extrapolated && ranks_extrapolated) return "extrapolated in sizes and ranks";
  if (sizes_extrapolated) return "extrapolated in sizes";
  return ranks_extrapolated ? "extrapolated in ranks" : "interpolated";
}

std::optional<Seconds> closed_form_time(const AlgorithmFit& fit, const Placement& layout, Bytes m) {
  const auto terms = fit.carrier.terms(layout, m);
  if (!terms) return std::nullopt;
  const auto form = closed_form(fit, *terms, m);
  if (!form) return std::nullopt;
  return form->time;
}

std::optional<MessagePrediction> predict_message(const AlgorithmFit& fit, const Placement& layout,
                                                 Bytes m) {
  const auto measured = std::ranges::find_if(
      fit.layouts, [&](const LayoutFit& each) { return is_same(each.layout, layout); });
  if (measured != fit.layouts.end()) return as_measured(fit, *measured, m);
  const LayoutFit* near = nearest_of(fit.layouts, layout);
  if (near == nullptr) return std::nullopt;
  auto prediction =
      fit.ranges.empty() ? by_least(fit, *near, layout, m) : by_fit(fit, *near, layout, m);
  if (prediction) prediction->ranks_extrapolated = is_beyond(fit, layout);
  return prediction;
}

Seconds straight_line(const AlgorithmFit& fit, const Placement& layout, Bytes m) {
  EXPECT(!fit.layouts.empty());
  const LayoutFit* near = nearest_of(fit.layouts, layout);
  if (near == nullptr) near = &fit.layouts.back();
  const Segment& line = near->line;
  return line.alpha.value + m * line.beta.value;
}

}  // namespace dlscale::model
