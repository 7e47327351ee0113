#pragma once
#include <cstddef>
#include <string>

namespace dlscale::app {

/// "[12/200 cells] allreduce.4 (about 3 min left)": `done` cells are, `now` is what goes on, and the
/// rest may take so long.
std::string cell_progress(std::size_t done, std::size_t cells, const std::string& now,
                          double seconds_left);

}  // namespace dlscale::app
