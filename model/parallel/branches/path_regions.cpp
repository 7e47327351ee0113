#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <variant>

#include "model/parallel/branches/branch_regions.hpp"

namespace dlscale::model {
namespace {

bool is_join(const Layer& layer) {
  const bool joins =
      std::holds_alternative<Concat>(layer.kind) || std::holds_alternative<Sum>(layer.kind);
  return joins && layer.inputs.size() > 1;
}

/// Layers before a join, in groups that hang together.
class Paths {
 public:
  Paths(const Network& network, const Layer& join)
      : network_(&network), join_(join.id), parent_(network.layers().size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    inside_.resize(parent_.size());
  }

  /// Adds layers backwards from the join, as long as two groups or more remain. Of all places to
  /// begin, the one with the shortest longest path counts.
  std::optional<BranchRegion> find(const std::vector<bool>& taken) {
    bool forked = false;
    for (std::size_t at = join_.index(); at-- > 1;) {
      if (!leads_only_here(at)) continue;
      if (taken[at]) break;
      add(at);
      const std::size_t paths = works_.size();
      if (forked && paths < 2) break;
      forked |= paths >= 2;
      if (forked) judge();
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool leads_only_here(std::size_t at) const {
    const auto& readers = network_->consumers(LayerId(at));
    return std::ranges::all_of(
        readers, [&](LayerId reader) { return reader == join_ || inside_[reader.index()]; });
  }

  std::size_t root(std::size_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

  void add(std::size_t at) {
    inside_[at] = true;
    members_.push_back(at);
    double work = static_cast<double>(network_->layers()[at].forward_macs());
    for (const LayerId reader : network_->consumers(LayerId(at))) {
      if (reader == join_) continue;
      const std::size_t other = root(reader.index());
      if (other == at) continue;
      if (const auto found = works_.find(other); found != works_.end()) {
        work += found->second;
        works_.erase(found);
      }
      parent_[other] = at;
    }
    all_ += static_cast<double>(network_->layers()[at].forward_macs());
    if (work > 0) works_[at] = work;
  }

  /// Work that ranks save: all but the longest path.
  void judge() {
    double longest = 0;
    for (const auto& [group, work] : works_) longest = std::max(longest, work);
    if (all_ - longest < saved_) return;
    saved_ = all_ - longest;
    std::map<std::size_t, std::vector<LayerId>> groups;
    for (const std::size_t at : members_) groups[root(at)].emplace_back(at);
    BranchRegion region;
    region.kind = BranchRegion::Kind::paths;
    region.exit = join_;
    region.adds = std::holds_alternative<Sum>(network_->layer(join_).kind);
    for (auto& [group, layers] : groups) {
      std::ranges::sort(layers);
      region.layers.insert(region.layers.end(), layers.begin(), layers.end());
      region.paths.push_back(std::move(layers));
    }
    std::ranges::sort(region.layers);
    region.entries = entries_of(*network_, region.layers);
    region.most_ways = static_cast<int>(works_.size());
    best_ = std::move(region);
  }

  const Network* network_;
  LayerId join_;
  std::vector<std::size_t> parent_;
  std::vector<bool> inside_;
  std::vector<std::size_t> members_;
  std::map<std::size_t, double> works_;  ///< of groups with products, by root
  double all_ = 0;
  double saved_ = 0;
  std::optional<BranchRegion> best_;
};

}  // namespace

std::vector<BranchRegion> path_regions(const Network& network, std::vector<bool> taken) {
  std::vector<BranchRegion> regions;
  for (std::size_t at = network.layers().size(); at-- > 1;) {
    const Layer& layer = network.layers()[at];
    if (!is_join(layer) || taken[at]) continue;
    auto region = Paths(network, layer).find(taken);
    if (!region) continue;
    for (const LayerId id : region->layers) taken[id.index()] = true;
    regions.push_back(std::move(*region));
  }
  return regions;
}

}  // namespace dlscale::model
