#include "train/data/images.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::train {

void check_normalisation(const backend::ComputeDevice& device, Normalisation normalisation) {
  if (normalisation == Normalisation::host || device.own_memory()) return;
  throw ConfigError(fmt::format(
      "{} computes on the host, where the loader threads normalise pictures: bytes would spare no "
      "copy. Normalise them on the host.",
      device.name()));
}

}  // namespace dlscale::train
