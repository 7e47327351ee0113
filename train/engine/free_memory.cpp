#include "train/engine/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace dlscale::train {
namespace {

/// The number after `key` in a file of keys and numbers.
std::optional<double> find_number(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t digits = line.find_first_of("0123456789", key.size());
    if (digits != std::string::npos) return std::stod(line.substr(digits));
  }
  return std::nullopt;
}

/// Remaining memory of the control group; reclaimable page cache counts as free.
std::optional<double> left_in_group(const std::filesystem::path& group) {
  const auto limit = find_number(group / "memory.max", "");  // "max": unlimited
  const auto used = find_number(group / "memory.current", "");
  if (!limit || !used) return std::nullopt;
  const double cache = find_number(group / "memory.stat", "inactive_file ").value_or(0);
  return std::max(0.0, *limit - *used + cache);
}

}  // namespace

std::optional<Bytes> free_memory(const std::filesystem::path& root) {
  std::optional<double> bytes = find_number(root / "proc/meminfo", "MemAvailable:");
  if (bytes) *bytes *= 1024;  // the kernel's kB are KiB
  if (const auto group = left_in_group(root / "sys/fs/cgroup")) {
    bytes = std::min(bytes.value_or(*group), *group);
  }
  return bytes ? std::optional(Bytes(*bytes)) : std::nullopt;
}

}  // namespace dlscale::train
