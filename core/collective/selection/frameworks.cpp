#include "core/base/error.hpp"
#include "core/collective/selection/selection.hpp"

namespace dlscale::collective {
namespace {

/// Names of gloo's files; "pairwise" is our name of its all-to-all.
std::string_view gloo_name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::all_gather:
      return "ring";
    case Collective::broadcast:
      return "binomial";
    case Collective::all_to_all:
      return "pairwise";
    case Collective::reduce:
      return "ring_gather";
    case Collective::reduce_scatter:
      return "halving_doubling";
  }
  fail_expectation("a collective");
}

}  // namespace

Selection gloo(Collective collective, int p) {
  EXPECT(p >= 1);
  const std::string_view name = gloo_name(collective);
  return {name, find(collective, name)};
}

Selection horovod_hierarchical(int p, int ranks_on_node) {
  EXPECT(p >= 1 && ranks_on_node >= 1 && ranks_on_node <= p);
  const std::string_view name = p > ranks_on_node ? "hierarchical" : "ring";
  return {name, find(Collective::all_reduce, name)};
}

}  // namespace dlscale::collective
