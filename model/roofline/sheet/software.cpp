#include "model/roofline/sheet/software.hpp"

#include <algorithm>

namespace dlscale::model::sheet {
namespace {

/// Libraries of this year and later have age 0; those 2.8 years older, age 1.
constexpr double year_of_today = 2019.5;
constexpr double years_of_age = 2.8;

}  // namespace

Software software_with(const ComputeTraits& traits) {
  Software software;
  software.layout = traits.layout.value_or(software.layout);
  software.elementwise = traits.elementwise.value_or(software.elementwise);
  software.update = traits.update.value_or(software.update);
  const double year = traits.libraries.value_or(year_of_today);
  software.age = std::max(0.0, (year_of_today - year) / years_of_age);
  return software;
}

}  // namespace dlscale::model::sheet
