#include "core/collective/names.hpp"

namespace dlscale::collective {

std::optional<Collective> collective_named(std::string_view name) {
  for (const Collective each : collectives) {
    if (to_string(each) == name) return each;
  }
  return {};
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective each : collectives) names.emplace_back(to_string(each));
  return names;
}

}  // namespace dlscale::collective
