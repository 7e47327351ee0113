#pragma once
#include <algorithm>
#include <concepts>
#include <type_traits>

#include "core/cluster/cluster.hpp"
#include "model/machine/machine_fields.hpp"

namespace dlscale::model::machine_file {

/// The fields of DeviceUnits for a Reader or a Writer. Clocks are > 0.
template <class File, class Units>
requires std::same_as<std::remove_const_t<Units>, DeviceUnits>
void describe(File& file, Units& units) {
  file.integer("multiprocessors", units.multiprocessors, 1);
  file.integer("cores", units.cores, 1);
  file.rate("boost_clock_hz", units.boost_clock);
  file.rate("base_clock_hz", units.base_clock);
  file.rate("tensor_clock_hz", units.tensor_clock);
  const Hertz least = std::min({units.boost_clock, units.base_clock, units.tensor_clock});
  file.require(least > Hertz(), "boost_clock_hz", "or another clock is 0, which no GPU has");
}

}  // namespace dlscale::model::machine_file
