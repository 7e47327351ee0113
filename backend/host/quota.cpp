#include "backend/host/quota.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "backend/host/host.hpp"
#include "core/system/input_file.hpp"

namespace dlscale::backend {
namespace {

using std::filesystem::path;
using Limit = std::optional<double>;

Limit tighter(Limit a, Limit b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

Limit ratio(double quota, double period) {
  return quota > 0 && period > 0 ? Limit(quota / period) : std::nullopt;
}

double number_in(const path& file) {
  std::ifstream in(file);
  double value = 0;
  return in >> value ? value : 0;
}

/// Reads "150000 100000", or "max 100000" for no limit.
Limit limit_of_version_2(const path& folder) {
  std::ifstream in(folder / "cpu.max");
  double quota = 0;
  double period = 0;
  return in >> quota >> period ? ratio(quota, period) : std::nullopt;
}

Limit limit_of_version_1(const path& folder) {
  return ratio(number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us"));
}

Limit tightest_upwards(const path& mount, path group, Limit (*limit)(const path&)) {
  Limit tightest = limit(mount);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    tightest = tighter(tightest, limit(mount / group));
  }
  return tightest;
}

bool holds(const std::string& controllers, std::string_view controller) {
  std::istringstream words(controllers);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == controller) return true;
  }
  return false;
}

Limit positive(double value) {
  return value > 0 ? Limit(value) : std::nullopt;
}

Limit memory_of_version_2(const path& folder) {
  return positive(number_in(folder / "memory.max"));  // "max" is not a number
}

Limit memory_of_version_1(const path& folder) {
  return positive(number_in(folder / "memory.limit_in_bytes"));
}

/// `version_2` and `version_1` read the limit of one group from its folder.
Limit tightest_of(const std::string& groups, const path& root, std::string_view controller,
                  Limit (*version_2)(const path&), Limit (*version_1)(const path&)) {
  Limit tightest;
  std::istringstream lines(groups);
  // "0::/user.slice" in version 2, "4:cpu,cpuacct:/docker/…" in version 1
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const path group = line.substr(second + 1);
    if (controllers.empty()) {
      tightest = tighter(tightest, tightest_upwards(root, group, version_2));
    } else if (holds(controllers, controller)) {
      tightest = tighter(tightest, tightest_upwards(root / controllers, group, version_1));
    }
  }
  return tightest;
}

}  // namespace

std::optional<double> quota_of(const std::string& groups, const path& root) {
  return tightest_of(groups, root, "cpu", limit_of_version_2, limit_of_version_1);
}

std::optional<double> memory_limit_of(const std::string& groups, const path& root) {
  return tightest_of(groups, root, "memory", memory_of_version_2, memory_of_version_1);
}

std::optional<double> cpu_quota() {
  return quota_of(content_of("/proc/self/cgroup"), "/sys/fs/cgroup");
}

}  // namespace dlscale::backend
