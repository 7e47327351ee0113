#pragma once
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// A row with the reason why it could not be measured.
Measurement unsupported(const Unsupported& error);

}  // namespace dlscale::bench
