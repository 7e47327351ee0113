#include "model/topology/datasheet_efficiency.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Fraction carried, at most 1: power laws can exceed the nominal rate outside the usual range.
double part_of(BytesPerSecond carried, BytesPerSecond nominal) {
  EXPECT(nominal > BytesPerSecond());
  return std::min(1.0, carried / nominal);
}

BytesPerSecond slowest_between_nodes(BytesPerSecond nominal, int cards) {
  EXPECT(cards >= 1);
  return through_cards(nominal, cards, slowest_links.line_efficiency,
                       slowest_links.card_efficiency);
}

constexpr double beyond = 1.25;        // as in the domains of the scaling model
constexpr double smaller_batch = 0.5;  // times the smallest

const ComputingEvidence* evidence_in(DType dtype) {
  const auto* found = std::ranges::find(computing_evidence, dtype, &ComputingEvidence::dtype);
  return found == computing_evidence.end() ? nullptr : found;
}

template <class Q>
bool is_beyond(Q value, Q least, Q most) {
  return value > beyond * most || beyond * value < least;
}

/// "4.37 to 15.7"
template <class Q>
std::string range_text(Q least, Q most, double unit) {
  if (least == most) return fmt::format("{:.4g}", least.si() / unit);
  return fmt::format("{:.4g} to {:.4g}", least.si() / unit, most.si() / unit);
}

/// Differences of a run on a GPU from the evidence, a clause each.
std::vector<std::string> differences(const Device& device, const Run& run,
                                     const ComputingEvidence& known) {
  std::vector<std::string> unlike;
  if (run.dtype == DType::f32 && device.peak.contains(DType::tf32)) {
    unlike.emplace_back("those in f32 are of GPUs without TF32, in which this one may compute");
  }
  const auto peak = device.peak.find(run.dtype);
  if (peak != device.peak.end() && is_beyond(peak->second, known.least_peak, known.most_peak)) {
    unlike.push_back(fmt::format("their GPUs have {} TFLOP/s in {}, this one {:.4g}",
                                 range_text(known.least_peak, known.most_peak, 1e12),
                                 dtype_name(run.dtype), peak->second.si() / 1e12));
  }
  if (is_beyond(device.memory_bandwidth, known.least_memory, known.most_memory)) {
    unlike.push_back(fmt::format("memories of {} GB/s, this one {:.4g}",
                                 range_text(known.least_memory, known.most_memory, 1e9),
                                 device.memory_bandwidth.si() / 1e9));
  }
  if (run.batch < smaller_batch * known.least_batch) {
    unlike.push_back(
        fmt::format("batches of {} and more, not of {}", known.least_batch, run.batch));
  }
  return unlike;
}

}  // namespace

LinkShares pcie_shares(BytesPerSecond nominal) {
  const double growth =
      nominal < pcie3_x16 ? slowest_links.most_pcie_growth : slowest_links.least_pcie_growth;
  return {part_of(slowest_links.pcie_efficiency * grown_pcie(nominal, growth), nominal),
          slowest_links.local_latency};
}

LinkShares nvlink_shares() {
  return {slowest_links.nvlink_efficiency, slowest_links.local_latency};
}

LinkShares tcp_shares(BytesPerSecond nominal, int cards) {
  const BytesPerSecond by_sockets =
      one_after_the_other(slowest_between_nodes(nominal, cards), slowest_links.socket_rate);
  return {part_of(by_sockets, nominal), slowest_links.tcp_latency};
}

LinkShares rdma_shares(BytesPerSecond nominal, int cards) {
  return {part_of(slowest_between_nodes(nominal, cards), nominal), slowest_links.rdma_latency};
}

LinkShares slower_of(const LinkShares& one, const LinkShares& other) {
  return {std::min(one.efficiency, other.efficiency), std::max(one.startup, other.startup)};
}

std::string beyond_evidence(const Cluster& cluster, const Run& run) {
  const Device& device = cluster.device;
  if (device.kind == DeviceKind::cpu)
    return "the published trainings are of GPUs, not of processors";
  const ComputingEvidence* known = evidence_in(run.dtype);
  if (known == nullptr) {
    return fmt::format("none is in {}", dtype_name(run.dtype));
  }
  const std::vector<std::string> unlike = differences(device, run, *known);
  if (unlike.empty()) return {};
  return fmt::format("{}", fmt::join(unlike, "; "));
}

}  // namespace dlscale::model
