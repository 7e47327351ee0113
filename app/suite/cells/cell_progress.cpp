#include "app/suite/cells/cell_progress.hpp"

#include <fmt/format.h>

#include "core/text/progress_line.hpp"

namespace dlscale::app {

std::string cell_progress(std::size_t done, std::size_t cells, const std::string& now,
                          double seconds_left) {
  return fmt::format("[{}/{} cells] {} (about {} left)", done, cells, now,
                     duration_text(seconds_left));
}

}  // namespace dlscale::app
