#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace dlscale::backend {

/// The tightest CPU limit on the path from a control group to the root, in processors. `groups` is
/// the text of /proc/self/cgroup, `root` is the mount point of the control groups. Reads cpu.max of
/// version 2, and cpu.cfs_quota_us over cpu.cfs_period_us of version 1.
std::optional<double> quota_of(const std::string& groups, const std::filesystem::path& root);

/// The tightest memory limit in bytes: memory.max of version 2, memory.limit_in_bytes of version 1.
std::optional<double> memory_limit_of(const std::string& groups, const std::filesystem::path& root);

}  // namespace dlscale::backend
