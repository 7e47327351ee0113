#include "app/cpu_ticks.hpp"

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dlscale::app {

std::optional<CpuTicks> read_cpu_ticks(const std::filesystem::path& root) {
  std::ifstream stream(root / "proc/stat");
  std::string line;
  std::getline(stream, line);
  std::istringstream words(line);
  std::string name;
  if (!(words >> name) || name != "cpu") return std::nullopt;
  std::vector<double> ticks;
  for (double one = 0; words >> one;) ticks.push_back(one);
  // user nice system idle iowait irq softirq steal, and then guests, which are in user already
  constexpr std::size_t steal = 7;
  if (ticks.size() <= steal) return std::nullopt;
  CpuTicks sum;
  for (std::size_t i = 0; i <= steal; ++i) sum.all += ticks[i];
  sum.stolen = ticks[steal];
  return sum;
}

}  // namespace dlscale::app
