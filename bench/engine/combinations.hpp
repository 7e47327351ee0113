#pragma once
#include <tuple>
#include <vector>

namespace dlscale::bench {

/// The single empty combination of no lists, which ends the recursion.
inline std::vector<std::tuple<>> combinations() {
  return {{}};
}

/// Every combination of one value per list, for cells from axes: ordered by the first list, then
/// the second, and so on. Empty if a list is empty.
template <class Value, class... Others>
std::vector<std::tuple<Value, Others...>> combinations(const std::vector<Value>& values,
                                                       const std::vector<Others>&... others) {
  const auto rest = combinations(others...);
  std::vector<std::tuple<Value, Others...>> all;
  all.reserve(values.size() * rest.size());
  for (const Value& value : values) {
    for (const auto& each : rest) all.push_back(std::tuple_cat(std::make_tuple(value), each));
  }
  return all;
}

}  // namespace dlscale::bench
