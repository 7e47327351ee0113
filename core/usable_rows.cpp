#include "core/usable_rows.hpp"

namespace dlscale {

bool is_timed(const Measurement& measurement) {
  return measurement.status == Status::ok || measurement.status == Status::unstable;
}

bool has_normal_values(const Measurement& measurement) {
  const auto values = measurement.axes.find("values");
  return values == measurement.axes.end() || values->second == normal_values;
}

}  // namespace dlscale
