#include "model/machine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "model/topology/datasheet_efficiency.hpp"

namespace dlscale::model {
namespace {

/// T = start + n / bandwidth, from a data sheet.
Piecewise nominal_cost(const Estimate<Seconds>& start, const Estimate<SecondsPerByte>& per_byte,
                       Bytes largest) {
  Segment segment;
  segment.to = largest;
  segment.alpha = start;
  segment.beta = per_byte;
  return Piecewise({segment});
}

/// A copy from line rate without start-up to the measured rate of PCI Express of that nominal rate.
AffineFit nominal_copy(const LinkSpec& link, Bytes largest) {
  const LinkShares shares = pcie_shares(link.bandwidth);
  const SecondsPerByte at_best = 1 / link.bandwidth;
  return {1, 1, DType::f32,
          nominal_cost({link.latency, {}, std::max(link.latency, shares.startup)},
                       {at_best, at_best, at_best / shares.efficiency}, largest),
          link.source};
}

template <class Q>
Estimate<Q> computed(Q at_best) {
  const SheetRange& range = computing_shares.range;
  return {at_best, range.low * at_best, range.high * at_best};
}

void check_nominal(const Cluster& cluster) {
  const auto missing = [&](std::string_view what) {
    return ConfigError(
        fmt::format("cluster {} gives no {}, so nothing can be predicted from its data "
                    "sheet. Add it, or measure and calibrate.",
                    cluster.name, what));
  };
  if (cluster.device.peak.empty()) throw missing("device peak");
  if (cluster.device.memory_bandwidth.si() <= 0) throw missing("device memory bandwidth");
  if (cluster.host_device.bandwidth.si() <= 0) throw missing("host_device bandwidth");
}

/// SGD with momentum reads weights, gradients and momenta and writes weights and momenta; with
/// 16-bit kernels it also writes weights of half the size.
AffineFit nominal_update(const Device& device, DType dtype, Bytes largest) {
  const double passes = element_bytes(dtype) == 4 ? 5 : 5.5;
  return {
      1, 1, dtype,
      nominal_cost(computed(device.launch), computed(passes / device.memory_bandwidth), largest),
      device.source};
}

/// The least time of decoding over that of a data sheet. Files state Pillow, a picture a core,
/// which loaders that decode in batches, at a smaller size or on the GPU go below. [a judgement]
constexpr double fastest_decoding = 0.3;

/// The middle of that range, in logarithms, is the answer: neither end is likelier. On a processor,
/// which decodes beside training, the stated time is.
Estimate<Seconds> nominal_decoding(const Cluster& cluster) {
  const Seconds stated = cluster.host.decode;
  const double middle = cluster.device.kind == DeviceKind::cpu ? 1 : std::sqrt(fastest_decoding);
  return {middle * stated, fastest_decoding * stated, stated};
}

}  // namespace

Machine nominal_machine(const Cluster& cluster) {
  check_nominal(cluster);
  const Device& device = cluster.device;
  Machine machine;
  machine.cluster = cluster;
  const Bytes all(1e15);  // all sizes are within the range of a data sheet
  machine.h2d = {nominal_copy(cluster.host_device, all)};
  for (const DType dtype : all_dtypes) machine.update.push_back(nominal_update(device, dtype, all));
  LoaderFit loader;
  loader.decode = nominal_decoding(cluster);
  loader.source = cluster.host.source;
  machine.loaders = {loader};
  machine.memory_bandwidth["data sheet"] = Estimate<BytesPerSecond>::exact(device.memory_bandwidth);
  return machine;
}

}  // namespace dlscale::model
