#include "model/plan/duration_text.hpp"

#include <fmt/format.h>

#include "core/text/quantity_text.hpp"

namespace dlscale::model {

std::string duration_text(Seconds time) {
  constexpr double minute = 60;
  constexpr double hour = 60 * minute;
  constexpr double day = 24 * hour;
  const double seconds = time.si();
  if (seconds < 2 * minute) return to_text(time);
  if (seconds < 2 * hour) return fmt::format("{:.4g} min", seconds / minute);
  if (seconds < 3 * day) return fmt::format("{:.4g} h", seconds / hour);
  return fmt::format("{:.4g} days", seconds / day);
}

}  // namespace dlscale::model
