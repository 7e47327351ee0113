#include "report/results/axes.hpp"

#include <algorithm>
#include <set>

namespace dlscale::report {
namespace {

std::set<std::string> names_of(std::span<const Axes> all) {
  std::set<std::string> names;
  for (const Axes& axes : all) {
    for (const auto& [name, value] : axes) names.insert(name);
  }
  return names;
}

bool varies(std::span<const Axes> all, const std::string& name) {
  const std::string first = axis_or_empty(all.front(), name);
  return std::ranges::any_of(all,
                             [&](const Axes& axes) { return axis_or_empty(axes, name) != first; });
}

}  // namespace

std::string axis_or_empty(const Axes& axes, const std::string& name) {
  const auto found = axes.find(name);
  return found == axes.end() ? "" : found->second;
}

std::string axis_or_empty(const Measurement& measurement, const std::string& name) {
  return axis_or_empty(measurement.axes, name);
}

std::vector<std::string> varying_axes(std::span<const Axes> all) {
  std::vector<std::string> varying;
  for (const std::string& name : names_of(all)) {
    if (varies(all, name)) varying.push_back(name);
  }
  return varying;
}

std::string constant_axes(std::span<const Axes> all) {
  std::string text;
  for (const std::string& name : names_of(all)) {
    if (varies(all, name)) continue;
    text += (text.empty() ? "" : ", ") + name + "=" + axis_or_empty(all.front(), name);
  }
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 16 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

bool in_order(const std::string& a, const std::string& b) {
  if (is_number(a) && is_number(b)) return std::stoll(a) < std::stoll(b);
  return a < b;
}

}  // namespace dlscale::report
