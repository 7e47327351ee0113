#include "model/topology/datasheet_efficiency.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "model/topology/link_laws.hpp"

namespace dlscale::model {
namespace {

/// Fraction carried, at most 1: power laws can exceed the nominal rate outside the usual range.
double part_of(BytesPerSecond carried, BytesPerSecond nominal) {
  EXPECT(nominal > BytesPerSecond());
  return std::min(1.0, carried / nominal);
}

BytesPerSecond slowest_between_nodes(BytesPerSecond nominal, int cards) {
  EXPECT(cards >= 1);
  return through_cards(nominal, cards, slowest_links.line_efficiency,
                       slowest_links.card_efficiency);
}

}  // namespace

LinkShares pcie_shares(BytesPerSecond nominal) {
  const double growth =
      nominal < pcie3_x16 ? slowest_links.most_pcie_growth : slowest_links.least_pcie_growth;
  return {part_of(slowest_links.pcie_efficiency * grown_pcie(nominal, growth), nominal),
          slowest_links.local_latency};
}

LinkShares nvlink_shares() {
  return {slowest_links.nvlink_efficiency, slowest_links.local_latency};
}

LinkShares tcp_shares(BytesPerSecond nominal, int cards) {
  return {part_of(std::min(slowest_between_nodes(nominal, cards), most_of_tcp), nominal),
          slowest_links.tcp_latency};
}

LinkShares rdma_shares(BytesPerSecond nominal, int cards) {
  return {part_of(slowest_between_nodes(nominal, cards), nominal), slowest_links.rdma_latency};
}

LinkShares slower_of(const LinkShares& one, const LinkShares& other) {
  return {std::min(one.efficiency, other.efficiency), std::max(one.startup, other.startup)};
}

}  // namespace dlscale::model
