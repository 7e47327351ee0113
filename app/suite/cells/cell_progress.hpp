#pragma once
#include <cstddef>
#include <string>

namespace dlscale::app {

/// "[12/200 cells] allreduce.4 (about 3 min left)". `done` counts finished cells, `now` names the
/// current one, and `seconds_left` is the estimate for the rest.
std::string cell_progress(std::size_t done, std::size_t cells, const std::string& now,
                          double seconds_left);

}  // namespace dlscale::app
