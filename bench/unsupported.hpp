#pragma once
#include "core/error.hpp"
#include "core/measurement.hpp"

namespace dlscale::bench {

/// A row that says why it could not be measured.
Measurement unsupported(const Unsupported& error);

}  // namespace dlscale::bench
