#include "model/topology/in_network.hpp"

#include "core/base/error.hpp"

namespace dlscale::model {

int levels_of(const AddingSwitches& switches, int nodes) {
  EXPECT(nodes >= 1 && switches.down_links >= 2);
  int levels = 0;
  for (int below = nodes; below > 1 || levels == 0; ++levels) {
    below = below / switches.down_links + (below % switches.down_links > 0 ? 1 : 0);
  }
  return levels;
}

Seconds in_network_all_reduce(const AddingSwitches& switches, const collective::Links& links,
                              const Placement& placement, Bytes m) {
  EXPECT(placement.nodes() >= 2);
  const auto& [inter, intra] = links;
  const double g = placement.ranks_on_node();
  const int h = levels_of(switches, placement.nodes());
  const Seconds within =
      2 * (g - 1) * (intra.alpha + m / g * intra.beta) + (g - 1) * (m / g * intra.gamma);
  return within + inter.alpha + 2.0 * h * switches.hop + m * inter.beta / switches.efficiency;
}

}  // namespace dlscale::model
