#include "model/published/curves/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/results/bandwidths.hpp"
#include "model/published/curves/rank_step.hpp"
#include "model/published/curves/size_curve.hpp"

namespace dlscale::model {
namespace {

using cases::CasePrediction;
using cases::CurveCase;

/// More ranks than this many times the largest given number are outside of the domain.
constexpr double farthest_step = 4;
/// A larger median error, in ln T, of the law at given numbers of ranks is outside of the domain.
constexpr double worst_doubt = 0.3;

/// The law that predicts a case, or the reason why none does.
struct Way {
  std::function<CurveTime(Bytes)> time = {};  ///< empty: not covered
  std::string refusal = {};                   ///< reason for not_covered
  std::string doubt = {};                     ///< reason for outside_domain; empty: inside
  const SizeCurve* sizes = nullptr;           ///< the curve whose sizes are covered
  bool same_ranks = false;
};

Way refused(std::string why) {
  Way way;
  way.refusal = std::move(why);
  return way;
}

std::string too_far(const CurveCase& curve, int given) {
  if (curve.scale() <= farthest_step * given) return {};
  return fmt::format("{} {} are asked and at most {} given: more than {} times as many",
                     curve.scale(), curve.ranks > 0 ? "ranks" : "nodes", given, farthest_step);
}

Way same_ranks_way(const RankCurve& given, int nodes) {
  Way way;
  way.time = [&given](Bytes m) { return same_ranks(given.times, m); };
  way.sizes = &given.times;
  way.same_ranks = true;
  if (nodes > 0 && given.nodes > 0 && nodes != given.nodes) {
    way.doubt = fmt::format("as many ranks are given, but on {} nodes, not {}", given.nodes, nodes);
  }
  return way;
}

Way ringed_way(const KnownCurves& known, const CurveCase& curve, const LinkRings& rings) {
  const AskedRanks asked{curve.collective, curve.scale()};
  Way way;
  way.time = [&known, &curve, rings, asked](Bytes m) {
    return ringed(known.alike, curve.cluster, rings, asked, m);
  };
  way.sizes = &known.alike.back().times;
  if (!rings.direct) {
    way.doubt = fmt::format(
        "no ring of direct links joins {} GPUs of such a node: {} at most lead "
        "through others",
        asked.ranks, rings.count);
  }
  return way;
}

/// The rings of links that predict this case; empty if they do not.
std::optional<LinkRings> rings_that_tell(const KnownCurves& known, const CurveCase& curve) {
  const bool by_links = curve.nodes == 1 && curve.ranks > 0 &&
                        curve.buffer == cases::BufferMemory::device &&
                        bus_factor(curve.collective, curve.ranks).has_value();
  if (!by_links) return {};
  const auto joined = [&](const RankCurve& given) {
    return link_rings(curve.cluster, given.ranks).has_value();
  };
  if (!std::ranges::all_of(known.alike, joined)) return {};
  return link_rings(curve.cluster, curve.ranks);
}

/// A sentence if the given numbers of ranks predict each other badly, at the median of the sizes
/// asked; otherwise empty.
std::string poor_foresight(const KnownCurves& known, const CurveCase& curve) {
  const AskedRanks asked{curve.collective, curve.scale()};
  std::vector<double> doubts;
  for (const Bytes m : curve.query) {
    const double doubt = rank_doubt(known.alike, asked, m);
    if (std::isfinite(doubt)) doubts.push_back(doubt);
  }
  if (doubts.empty()) return {};
  const double middle = median(doubts);
  if (middle <= worst_doubt) return {};
  return fmt::format(
      "fewer ranks foretell the times on {} by a factor of {:.2f} only, so that more "
      "are a guess",
      known.alike.back().ranks, std::exp(middle));
}

Way more_ranks_way(const KnownCurves& known, const CurveCase& curve) {
  const AskedRanks asked{curve.collective, curve.scale()};
  Way way;
  way.time = [&known, asked](Bytes m) { return more_ranks(known.alike, asked, m); };
  way.sizes = &known.alike.back().times;
  way.doubt = too_far(curve, known.alike.back().ranks);
  if (way.doubt.empty()) way.doubt = poor_foresight(known, curve);
  return way;
}

Way one_step_way(const RankCurve& given, const CurveCase& curve) {
  if (!bus_factor(curve.collective, given.ranks)) {
    return refused(
        fmt::format("how {} grows with the ranks is not known, and one number of ranks "
                    "does not tell it",
                    curve.collective));
  }
  const AskedRanks asked{curve.collective, curve.scale()};
  Way way;
  way.time = [&given, asked](Bytes m) { return one_step(given, asked, m); };
  way.sizes = &given.times;
  way.doubt = asked.ranks < given.ranks ? "fewer ranks are asked than any curve is given for"
                                        : too_far(curve, given.ranks);
  return way;
}

Way over_nodes_way(const RankCurve& in_node, const CurveCase& curve) {
  if (!curve.cluster.inter_node || !bus_factor(curve.collective, curve.nodes) || curve.nodes < 2) {
    return refused(
        "only one node is given, and the link between nodes, their number or what the "
        "collective sends over it is not told");
  }
  const NodeStep step{curve.collective, curve.ranks, curve.nodes, *curve.cluster.inter_node};
  Way way;
  way.time = [&in_node, step](Bytes m) { return over_nodes(in_node, step, m); };
  way.sizes = &in_node.times;
  way.doubt = fmt::format(
      "only one node is given: what {} take is told by the data sheet of the "
      "link between them",
      curve.nodes);
  return way;
}

Way way_of(const KnownCurves& known, const CurveCase& curve) {
  const std::vector<RankCurve>& alike = known.alike;
  const int asked = curve.scale();
  const auto above = std::ranges::lower_bound(alike, asked, {}, &RankCurve::ranks);
  if (above != alike.end() && above->ranks == asked) return same_ranks_way(*above, curve.nodes);
  if (alike.empty()) {
    if (known.in_node) return over_nodes_way(*known.in_node, curve);
    return refused("no curve is given that tells of such a number of ranks");
  }
  if (asked < 2) return refused("one rank sends nothing, and no curve is given for it");
  if (const auto rings = rings_that_tell(known, curve)) return ringed_way(known, curve, *rings);
  if (above == alike.begin()) return one_step_way(alike.front(), curve);
  if (above != alike.end()) {
    Way way;
    way.time = [below = above - 1, above, asked](Bytes m) {
      return between_ranks(*below, *above, asked, m);
    };
    way.sizes = &above->times;
    return way;
  }
  if (alike.size() == 1) return one_step_way(alike.front(), curve);
  return more_ranks_way(known, curve);
}

/// Whether no collective can take that time: the given times differ too far to be extrapolated.
bool is_absurd(Seconds time) {
  return !std::isfinite(time.si()) || time.si() < 1e-30 || time.si() > 1e30;
}

std::optional<cases::PredictedValue> value_of(const CurveTime& time) {
  if (is_absurd(time.low) || is_absurd(time.value) || is_absurd(time.high)) return {};
  return cases::PredictedValue{time.value.si(), time.low.si(), time.high.si()};
}

std::string uncovered_sizes(const Way& way, std::span<const Bytes> query) {
  const auto beyond = [&](Bytes m) { return !way.sizes->covers(m); };
  const auto count = std::ranges::count_if(query, beyond);
  if (count == 0) return {};
  return fmt::format("{} of {} sizes lie beyond those given", count, query.size());
}

void tell_terms(CasePrediction& prediction, const CurveTime& time, const char* basis) {
  prediction.terms.push_back({"latency", time.latency_share * time.value, basis});
  prediction.terms.push_back({"transfer", (1 - time.latency_share) * time.value, basis});
}

CasePrediction predict_one(const CurveCase& curve) {
  if (curve.query.empty()) return cases::not_covered(curve.id, "no size is asked");
  const KnownCurves known = known_curves(curve);
  Way way = way_of(known, curve);
  if (!way.time) return cases::not_covered(curve.id, way.refusal);
  CasePrediction prediction;
  prediction.id = curve.id;
  prediction.unit = cases::CaseUnit::time_s;
  std::optional<CurveTime> last;
  for (const Bytes m : curve.query) {
    const CurveTime time = way.time(m);
    prediction.values.push_back(value_of(time));
    if (prediction.values.back()) last = time;
  }
  if (!last) return cases::not_covered(curve.id, "the given times differ too far to be extended");
  const std::string sizes = uncovered_sizes(way, curve.query);
  tell_terms(prediction, *last, way.same_ranks && sizes.empty() ? "interpolated" : "extrapolated");
  if (way.doubt.empty()) way.doubt = sizes;
  if (!way.doubt.empty()) prediction.status = cases::PredictionStatus::outside_domain;
  prediction.reason = way.doubt;
  return prediction;
}

}  // namespace

std::vector<CasePrediction> predict_curves(std::span<const CurveCase> curves) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(curves.size());
  for (const CurveCase& curve : curves) predictions.push_back(predict_one(curve));
  return predictions;
}

}  // namespace dlscale::model
