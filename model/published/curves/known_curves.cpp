#include "model/published/curves/known_curves.hpp"

#include <algorithm>
#include <utility>

namespace dlscale::model {
namespace {

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
