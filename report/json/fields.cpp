#include "report/json/fields.hpp"

namespace dlscale::report {

Json number(Seconds value) {
  return number(value.si());
}

Json optional_number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

Json optional_number(const std::optional<Seconds>& value) {
  return value ? number(*value) : Json(nullptr);
}

}  // namespace dlscale::report
