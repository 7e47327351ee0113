#include "bench/workbench/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>

#include "backend/comm/together.hpp"
#include "backend/compute/check/check.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
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

/// Maps NaN to infinity, which exceeds all errors.
double comparable(double error) {
  return std::isnan(error) ? HUGE_VAL : error;
}

constexpr std::string_view operands_of_it = "its tensors and workspace";

void expect_free(std::string_view what, Bytes needed, Bytes free, std::string_view where) {
  if (needed <= free) return;
  throw Unsupported(fmt::format("{} take {}, and {} of {} are free", what, to_text(needed),
                                to_text(free), where));
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

Check parse_check(const std::string& text) {
  if (text == "yes") return Check::reference;
  if (text == "no") return Check::none;
  throw ConfigError(
      fmt::format("{} is \"{}\" (neither yes nor no). Write yes to compare every answer with the "
                  "reference backend before it is timed.",
                  option_name("check"), text));
}

void expect_memory(const backend::ComputeDevice& device, Bytes operands, Bytes copies,
                   int ranks_on_node) {
  const auto own = device.own_memory();
  if (own) expect_free(operands_of_it, operands, own->free, "the device's memory");
  expect_host_memory(operands_of_it, copies + (own ? Bytes(0) : operands), ranks_on_node);
}

void expect_host_memory(std::string_view what, Bytes needed, int ranks_on_node) {
  const std::optional<Bytes> free = free_memory();
  if (free) expect_free(what, ranks_on_node * needed, *free, "the host's memory");
}

Finding find_on_all(backend::Communicator& communicator, const std::function<Finding()>& find) {
  Finding mine;
  together(communicator, [&] { mine = find(); });
  const double error = comparable(mine.error);
  std::array<double, 3> worst{mine.unsupported.empty() ? 0.0 : 1.0, error,
                              comparable(mine.mean_error.value_or(0))};
  communicator.all_reduce(worst, backend::Reduction::max);
  if (worst[0] > 0 && mine.unsupported.empty()) mine.unsupported = "another rank cannot run it";
  if (worst[1] > error) mine.worst = "a result on another rank";
  mine.error = worst[1];
  if (mine.mean_error) mine.mean_error = worst[2];
  return mine;
}

std::optional<Measurement> rejected(const Finding& finding, DType dtype) {
  Measurement measurement;
  const double allowed = backend::allowed_error(dtype);
  if (!finding.unsupported.empty()) {
    measurement.status = Status::unsupported;
    measurement.reason = finding.unsupported;
  } else if (finding.error > allowed) {
    measurement.status = Status::wrong;
    measurement.reason =
        fmt::format("{} differs from the reference by {:.1e}, relative ({:.0e} is allowed for {})",
                    finding.worst, finding.error, allowed, dtype_name(dtype));
  } else {
    return std::nullopt;
  }
  return measurement;
}

void add_check(const Finding& finding, Check check, Measurement& measurement) {
  if (check == Check::none) {
    measurement.warnings.push_back(
        fmt::format("the answer was not checked against the reference. Measure with {} yes before "
                    "you trust the "
                    "speed.",
                    option_name("check")));
  } else if (finding.unsupported.empty() && std::isfinite(finding.error)) {
    measurement.max_relative_error = finding.error;
    measurement.mean_relative_error = finding.mean_error;
  }
}

}  // namespace dlscale::bench
