#pragma once
#include <cstdint>
#include <functional>

namespace dlscale::train {

/// Calls work(0) … work(n - 1), in any order, on the cores this process may use. Stops at the first
/// exception or signal; throws that exception, or Interrupted.
void for_each_index(std::int64_t n, const std::function<void(std::int64_t)>& work);

}  // namespace dlscale::train
