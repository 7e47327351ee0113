#include "model/plan/all_reduce_line.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.hpp"
#include "model/topology/nominal_all_reduce.hpp"

namespace dlscale::model {
namespace {

using collective::Link;
using collective::Links;

constexpr std::array<std::string_view, 5> lines{"ring", "recursive_doubling", "rabenseifner",
                                                "binomial", "hierarchical"};

Link only_startup(const Link& link) {
  return {link.alpha, {}, {}};
}

Link only_bytes(const Link& link) {
  return {{}, link.beta, link.gamma};
}

}  // namespace

std::optional<LinearCost> all_reduce_line(const collective::Algorithm& algorithm,
                                          const Links& links,
                                          const collective::Settings& settings) {
  EXPECT(algorithm.collective == collective::Collective::all_reduce);
  if (std::ranges::find(lines, algorithm.name) == lines.end()) return std::nullopt;
  if (!collective::obstacle(algorithm, settings).empty()) return std::nullopt;
  const Links startups{only_startup(links.inter), only_startup(links.intra)};
  const Links bytes{only_bytes(links.inter), only_bytes(links.intra)};
  return LinearCost{algorithm.cost(startups, settings, Bytes()),
                    algorithm.cost(bytes, settings, Bytes(1)) / Bytes(1)};
}

std::vector<LinearCost> nominal_lines(const Machine& machine, const Placement& placement) {
  EXPECT(placement.ranks >= 2);
  if (machine.fitted || !machine.all_reduce_asked.empty()) return {};
  std::vector<LinearCost> lines;
  for (const NominalAllReduce& one : nominal_all_reduces(machine.cluster, placement)) {
    lines.push_back(one.cost);
  }
  return lines;
}

std::optional<LinearCost> nominal_line(const Machine& machine, const Placement& placement) {
  const std::vector<LinearCost> lines = nominal_lines(machine, placement);
  if (lines.size() != 1) return std::nullopt;
  return lines.front();
}

}  // namespace dlscale::model
