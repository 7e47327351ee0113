#pragma once
#include <vector>

#include "core/base/ids.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"

namespace dlscale::model {

/// A part of a network that ranks compute side by side, each for the samples of all.
struct BranchRegion {
  enum class Kind {
    heads,   ///< attention: groups of heads, whose products add up
    slices,  ///< feed-forward blocks and grouped convolutions: groups of features, likewise
    paths,   ///< whole paths between a fork and a join
  };
  Kind kind = Kind::slices;
  std::vector<LayerId> layers;   ///< in network order, without the join of paths
  std::vector<LayerId> entries;  ///< producers outside, whose outputs each rank needs
  /// heads, slices: the last product of the region, whose partial sums are added. paths: the join.
  LayerId exit;
  bool adds = true;   ///< whether outputs add up at the exit, or stand side by side (Concat)
  int most_ways = 1;  ///< heads, groups or features that ranks share equally; paths: their number
  std::vector<std::vector<LayerId>> paths = {};
};

/// The regions of a network, none within another.
///   heads, slices  a product reads only what other products made by steps within a head, a
///                  feature or a group of channels: scores, softmax, activations, rotations,
///                  grouped convolutions, and batch norms between these
///   paths          two or more chains with products lead to one sum or concatenation. Forks
///                  before them are serial, and stand so that the longest path is the shortest.
/// A branch's products read the samples of all ranks, and nothing outside reads what is between.
/// [SUPER: Jain et al., IPDPS 2021; the search is ours]
std::vector<BranchRegion> branch_regions(const Network& network);

/// The facts by which parallel::check() judges the plan's `branches`: the greatest number that
/// divides all heads and slices. Paths need no equal shares; see check_branches().
parallel::NetworkFacts branch_facts(const std::vector<BranchRegion>& regions);

/// Throws ConfigError with a sentence where the network has no regions, ranks do not make groups
/// of so many, heads or slices cannot be shared equally, or no region has as many paths.
void check_branches(const Network& network, const std::vector<BranchRegion>& regions, int ranks,
                    int branches);

/// The paths between forks and joins among layers that are not `taken`; see branch_regions().
std::vector<BranchRegion> path_regions(const Network& network, std::vector<bool> taken);

/// The producers outside a region whose outputs its layers read, each once.
std::vector<LayerId> entries_of(const Network& network, const std::vector<LayerId>& layers);

}  // namespace dlscale::model
