#include "report/parallel/memory_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dlscale::report {

std::string memory_bar(std::span<const BarPart> parts, double device) {
  constexpr double usual = 60;
  constexpr double widest = 72;  // within 80 columns, with its frame
  double need = 0;
  for (const BarPart& part : parts) need += part.bytes;
  const double width = std::max(1.0, std::floor(std::min(usual, widest * device / need)));
  std::string cells;
  std::string legend;
  double sum = 0;
  for (const BarPart& part : parts) {
    sum += part.bytes;
    const double end = std::min(widest, std::round(width * sum / device));
    const auto more =
        static_cast<std::size_t>(std::max(0.0, end - static_cast<double>(cells.size())));
    if (more == 0) continue;
    cells.append(more, part.letter);
    legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", part.letter, part.name);
  }
  const auto card = static_cast<std::size_t>(width);
  if (cells.size() < card) cells.append(card - cells.size(), '.');
  if (cells.size() > card) cells.insert(card, "|");
  return fmt::format("[{}] {}", cells, legend);
}

}  // namespace dlscale::report
