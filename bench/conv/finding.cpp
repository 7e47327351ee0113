#include "bench/conv/finding.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "backend/comm/together.hpp"
#include "backend/compute/check/check.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "train/engine/free_memory.hpp"

namespace dlscale::bench {
namespace {

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

Check parse_check(const std::string& text) {
  if (text == "yes") return Check::reference;
  if (text == "no") return Check::none;
  throw ConfigError(
      fmt::format("--check is \"{}\" (neither yes nor no). Write yes to compare every answer with "
                  "the reference backend before it is timed.",
                  text));
}

void expect_memory(const backend::ComputeDevice& device, Bytes operands, Bytes copies,
                   int ranks_on_node) {
  const auto own = device.own_memory();
  if (own) expect_free(operands_of_it, operands, own->free, "the device's memory");
  expect_host_memory(operands_of_it, copies + (own ? Bytes(0) : operands), ranks_on_node);
}

void expect_host_memory(std::string_view what, Bytes needed, int ranks_on_node) {
  const std::optional<Bytes> free = train::free_memory();
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
    measurement.warnings.emplace_back(
        "the answer was not checked against the reference. Measure with --check yes before you "
        "trust the speed.");
  } else if (finding.unsupported.empty() && std::isfinite(finding.error)) {
    measurement.max_relative_error = finding.error;
    measurement.mean_relative_error = finding.mean_error;
  }
}

}  // namespace dlscale::bench
