#include "model/communication/algorithm_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "core/error.hpp"

namespace dlscale::model {
namespace {

double distance(const Placement& a, const Placement& b) {
  return std::abs(std::log(static_cast<double>(a.ranks) / b.ranks));
}

/// The range of a size; if samples there crossed no link of the kind, the nearest where some did.
const LinkFit* link_at(const std::vector<LinkRange>& ranges, Bytes size,
                       std::optional<LinkFit> LinkRange::*kind) {
  const auto found =
      std::ranges::find_if(ranges, [&](const LinkRange& range) { return size < range.to; });
  const auto at = std::min<std::ptrdiff_t>(found - ranges.begin(), std::ssize(ranges) - 1);
  const LinkFit* best = nullptr;
  std::ptrdiff_t nearest = std::ssize(ranges);
  for (std::ptrdiff_t i = 0; i < std::ssize(ranges); ++i) {
    const auto& link = ranges[static_cast<std::size_t>(i)].*kind;
    if (!link || std::abs(i - at) >= nearest) continue;
    best = &*link;
    nearest = std::abs(i - at);
  }
  return best;
}

/// By the closed form alone; nothing where a link or the algorithm is not known.
std::optional<Seconds> closed_form(const AlgorithmFit& fit, const LinkTerms& terms, Bytes m) {
  const Bytes size = size_in_range(terms, fit.range_of, m);
  const auto part = [&](double alpha, double beta, const LinkFit* link) -> std::optional<Seconds> {
    if (alpha == 0 && beta == 0) return Seconds();
    if (link == nullptr) return std::nullopt;
    return alpha * link->alpha.value + beta * (m * link->beta.value);
  };
  const auto intra =
      part(terms.alpha_intra, terms.beta_intra, link_at(fit.ranges, size, &LinkRange::intra));
  const auto inter =
      part(terms.alpha_inter, terms.beta_inter, link_at(fit.ranges, size, &LinkRange::inter));
  if (!intra || !inter) return std::nullopt;
  return *intra + *inter + terms.gamma * (m * fit.gamma);
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

/// The time on the nearest layout, moved to this one by `ratio`.
MessagePrediction moved(const LayoutFit& from, Bytes m, double ratio, std::string algorithm) {
  MessagePrediction prediction;
  prediction.time = ratio * from.cost.time(m);
  prediction.algorithm = std::move(algorithm);
  prediction.sizes_extrapolated = !from.cost.covers(m);
  return prediction;
}

/// From several layouts, by the fit over all of them.
std::optional<MessagePrediction> by_fit(const AlgorithmFit& fit, const LayoutFit& near,
                                        const Placement& layout, Bytes m) {
  const auto there = fit.carrier.terms(layout, m);
  const auto here = fit.carrier.terms(near.layout, m);
  if (!there || !here) return std::nullopt;
  const Bytes same = fit.range_of == RangeOf::message ? m : there->transfer / here->transfer * m;
  const auto time = closed_form(fit, *there, m);
  const auto measured = closed_form(fit, *here, same);
  if (!time || !measured || measured->si() <= 0) return std::nullopt;
  return moved(near, same, *time / *measured, fit.carrier.algorithm_for(layout, m));
}

/// α + β m of one layout as the same of another, if messages travel by that algorithm.
std::optional<Seconds> moved_line(const Carrier& carrier, const LayoutFit& near,
                                  const Placement& layout, Bytes m) {
  const auto here = carrier.terms(near.layout, m);
  const auto there = carrier.terms(layout, m);
  if (!here || !there) return std::nullopt;
  const Segment& segment = near.cost.segment(m);
  const double alpha =
      (there->alpha_intra + there->alpha_inter) / (here->alpha_intra + here->alpha_inter);
  const double beta =
      (there->beta_intra + there->beta_inter) / (here->beta_intra + here->beta_inter);
  return alpha * segment.alpha.value + beta * (m * segment.beta.value);
}

/// From the nearest layout alone: by the algorithm that would take least time.
std::optional<MessagePrediction> by_least(const AlgorithmFit& fit, const LayoutFit& near,
                                          const Placement& layout, Bytes m) {
  std::optional<Seconds> least;
  std::string algorithm;
  for (const Carrier& carrier : plain_carriers(fit.carrier.collective, false)) {
    const auto time = moved_line(carrier, near, layout, m);
    if (!time || (least && *time >= *least)) continue;
    least = time;
    algorithm = carrier.algorithm_for(layout, m);
  }
  const Seconds measured = near.cost.time(m).value;
  if (!least || measured.si() <= 0) return std::nullopt;
  return moved(near, m, *least / measured, algorithm);
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

std::optional<MessagePrediction> predict_message(const AlgorithmFit& fit, const Placement& layout,
                                                 Bytes m) {
  const auto measured = std::ranges::find_if(
      fit.layouts, [&](const LayoutFit& each) { return is_same(each.layout, layout); });
  if (measured != fit.layouts.end()) return moved(*measured, m, 1, {});
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
