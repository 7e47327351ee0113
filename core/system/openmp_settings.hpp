#pragma once
#include <functional>

namespace dlscale {

/// Returns the value of an environment variable; null if it is not set.
using ReadVariable = std::function<const char*(const char*)>;

/// Throws ConfigError if a variable of OpenMP has a value that its libraries cannot read or carry
/// out. Some of them end or hang over such a value in the first parallel region, and others leave
/// it aside. Call it before that region.
void check_openmp_settings(const ReadVariable& variable);

}  // namespace dlscale
