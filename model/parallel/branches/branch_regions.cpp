#include "model/parallel/branches/branch_regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <variant>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

using RegionKind = BranchRegion::Kind;

template <class... Kinds>
bool is_one_of(const Layer& layer) {
  return (std::holds_alternative<Kinds>(layer.kind) || ...);
}

bool is_grouped(const Layer& layer) {
  const auto* convolution = std::get_if<Convolution>(&layer.kind);
  return convolution != nullptr && convolution->groups > 1;
}

/// A product that mixes all features.
bool mixes(const Layer& layer) {
  return is_one_of<Linear>(layer) || (is_one_of<Convolution>(layer) && !is_grouped(layer));
}

/// Whether a layer works within a head, a feature or a group.
bool stays_within(const Layer& layer) {
  return is_one_of<Relu, Activation, SiluMultiply, Dropout, Rope, AttentionScores, AttentionSoftmax,
                   AttentionContext, RelativeScores, BatchNorm>(layer) ||
         is_grouped(layer);
}

/// Finds the region that ends in a product, walking back to those that begin it.
class SliceSearch {
 public:
  SliceSearch(const Network& network, const Layer& last) : network_(&network), last_(&last) {}

  std::optional<BranchRegion> find(const std::vector<bool>& taken) {
    for (const LayerId input : last_->inputs) {
      if (!walk(network_->layer(input))) return {};
    }
    if (!is_region() || leaks()) return {};
    inside_.insert(last_->id);
    const auto is_taken = [&](LayerId id) { return taken[id.index()]; };
    if (std::ranges::any_of(inside_, is_taken)) return {};
    BranchRegion region;
    region.kind = has_scores_ ? RegionKind::heads : RegionKind::slices;
    region.layers.assign(inside_.begin(), inside_.end());
    region.entries = entries_of(*network_, region.layers);
    std::erase_if(region.entries, [&](LayerId id) {
      return is_one_of<RelativePositions>(network_->layer(id));  // each rank has those of its heads
    });
    region.exit = last_->id;
    region.most_ways = ways_;
    return region;
  }

 private:
  bool walk(const Layer& layer) {
    if (inside_.contains(layer.id)) return true;
    if (is_one_of<RelativePositions>(layer)) return true;
    if (mixes(layer)) {
      begins_.insert(layer.id);
      inside_.insert(layer.id);
      features_ = std::gcd(features_, layer.output.channels);
      return layer.kind.index() == last_->kind.index();
    }
    if (!stays_within(layer)) return false;
    count(layer);
    inside_.insert(layer.id);
    return std::ranges::all_of(layer.inputs,
                               [&](LayerId input) { return walk(network_->layer(input)); });
  }

  void count(const Layer& layer) {
    if (const auto* scores = std::get_if<AttentionScores>(&layer.kind)) {
      has_scores_ = true;
      groups_ = std::gcd(groups_, std::gcd(scores->heads, scores->kv_heads));
    }
    if (is_grouped(layer)) groups_ = std::gcd(groups_, std::get<Convolution>(layer.kind).groups);
    has_norm_ |= is_one_of<BatchNorm>(layer);
  }

  /// Of plain convolutions alone, slices would be tensor parallelism, not branches.
  bool is_region() {
    ways_ = groups_ > 0 ? groups_ : features_;
    const bool of_images = is_one_of<Convolution>(*last_);
    return inside_.size() > begins_.size() && (of_images ? groups_ > 0 : !has_norm_);
  }

  /// Whether anything outside reads what is between.
  [[nodiscard]] bool leaks() const {
    return std::ranges::any_of(inside_, [&](LayerId id) {
      return std::ranges::any_of(network_->consumers(id), [&](LayerId reader) {
        return reader != last_->id && !inside_.contains(reader);
      });
    });
  }

  const Network* network_;
  const Layer* last_;
  std::set<LayerId> inside_;
  std::set<LayerId> begins_;
  int features_ = 0;
  int groups_ = 0;
  int ways_ = 1;
  bool has_scores_ = false;
  bool has_norm_ = false;
};

}  // namespace

std::vector<LayerId> entries_of(const Network& network, const std::vector<LayerId>& layers) {
  const std::set<LayerId> inside(layers.begin(), layers.end());
  std::set<LayerId> entries;
  for (const LayerId id : layers) {
    for (const LayerId input : network.layer(id).inputs) {
      if (!inside.contains(input)) entries.insert(input);
    }
  }
  return {entries.begin(), entries.end()};
}

std::vector<BranchRegion> branch_regions(const Network& network) {
  std::vector<BranchRegion> regions;
  std::vector<bool> taken(network.layers().size());
  for (const Layer& layer : network.layers()) {
    if (!mixes(layer)) continue;
    auto region = SliceSearch(network, layer).find(taken);
    if (!region) continue;
    for (const LayerId id : region->layers) taken[id.index()] = true;
    regions.push_back(std::move(*region));
  }
  for (BranchRegion& region : path_regions(network, taken)) regions.push_back(std::move(region));
  std::ranges::sort(regions, {}, &BranchRegion::exit);
  return regions;
}

parallel::NetworkFacts branch_facts(const std::vector<BranchRegion>& regions) {
  parallel::NetworkFacts facts;
  for (const BranchRegion& region : regions) {
    if (region.kind == RegionKind::paths) continue;
    facts.branches = std::gcd(facts.branches.value_or(0), region.most_ways);
  }
  return facts;
}

void check_branches(const Network& network, const std::vector<BranchRegion>& regions, int ranks,
                    int branches) {
  if (regions.empty()) {
    throw ConfigError(fmt::format(
        "network {} has no attention heads, feed-forward blocks, groups or paths side by side, so "
        "that ranks cannot take a branch each. Use data parallelism.",
        network.name()));
  }
  if (branches < 1 || ranks % branches != 0) {
    throw ConfigError(
        fmt::format("branches is {}, and {} ranks do not make groups of so many. Write a divisor "
                    "of the ranks.",
                    branches, ranks));
  }
  parallel::ParallelPlan plan;
  plan.branches = branches;
  plan.data = ranks / branches;
  const parallel::NetworkFacts facts = branch_facts(regions);
  parallel::check(plan, ranks, facts);
  if (facts.branches) return;
  const int most = std::ranges::max_element(regions, {}, &BranchRegion::most_ways)->most_ways;
  if (branches <= most) return;
  throw ConfigError(fmt::format(
      "branches is {}, and {} has at most {} paths side by side, so that ranks would have none. "
      "Write {} or less.",
      branches, network.name(), most, most));
}

}  // namespace dlscale::model
