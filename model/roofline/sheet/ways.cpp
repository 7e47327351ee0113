#include "model/roofline/sheet/ways.hpp"

#include <algorithm>

namespace dlscale::model::sheet {
namespace {

constexpr Elementwise most_fused(NetworkFamily family) {
  return family == NetworkFamily::transformer ? Elementwise::all : Elementwise::norm_act;
}

/// Each way with each of the values of a trait.
template <class Trait, class Value>
void split(std::vector<ComputeTraits>& ways, Trait ComputeTraits::*trait,
           std::initializer_list<Value> values) {
  std::vector<ComputeTraits> all;
  for (const ComputeTraits& way : ways) {
    for (const Value value : values) {
      all.push_back(way);
      all.back().*trait = value;
    }
  }
  ways = std::move(all);
}

}  // namespace

std::vector<ComputeTraits> ways_of(const ComputeTraits& traits, NetworkFamily family) {
  std::vector<ComputeTraits> ways{traits};
  if (!traits.layout) {
    split(ways, &ComputeTraits::layout, {ImageLayout::channels_first, ImageLayout::channels_last});
  }
  if (!traits.elementwise) {
    split(ways, &ComputeTraits::elementwise,
          {*usual_traits(family).elementwise, most_fused(family)});
  }
  if (traits.search == AlgorithmSearch::heuristic) {
    split(ways, &ComputeTraits::search, {AlgorithmSearch::exhaustive, AlgorithmSearch::direct});
  }
  return ways;
}

ComputeTraits quickest_way(const ComputeTraits& traits, NetworkFamily family) {
  ComputeTraits quick = traits;
  quick.layout = ImageLayout::channels_last;
  quick.elementwise = most_fused(family);
  quick.search = AlgorithmSearch::exhaustive;
  return quick;
}

double age_of(const ComputeTraits& traits, const KernelConstants& constants) {
  return std::max(0.0, (constants.new_libraries - traits.libraries) / constants.years_of_age);
}

}  // namespace dlscale::model::sheet
