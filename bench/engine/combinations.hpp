#pragma once
#include <tuple>
#include <vector>

namespace dlscale::bench {

/// Of no lists: the one combination of nothing, from which those of more lists are made.
inline std::vector<std::tuple<>> combinations() {
  return {{}};
}

/// Every combination of a value of each list, as a benchmark makes cells of its axes: in the order
/// of the first list, then of the second, and so on. None if a list is empty.
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
