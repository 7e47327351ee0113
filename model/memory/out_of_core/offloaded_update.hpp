#pragma once
#include "core/base/units.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"

namespace dlscale::model {

/// A host that updates parameters by Adam.
struct HostUpdate {
  BytesPerSecond memory;  ///< > 0, rate at which the update passes its operands
  /// Bytes of a parameter: it reads and writes weight and two moments in f32, and reads a gradient.
  double f32_bytes = 28;
};

/// Rate of a server with two processors, of which each has six channels of DDR4-2666: 256 GB/s, of
/// which an update reaches 0.53. [D: 10^9 parameters in 0.22 s, ZeRO-Offload, arXiv:2101.06840, its
/// table of CPU-Adam; from memory, not checked against its text]
inline constexpr BytesPerSecond server_update_rate{136e9};

/// An iteration with the optimiser's states and the update on the host (ZeRO-Offload).
struct OffloadedUpdate {
  Seconds total;
  Seconds stall;   ///< the device waits for gradients to leave, for the update, or for weights
  Seconds update;  ///< of the processor
  Bytes device;    ///< weights that stay on the device
  Bytes host;      ///< weights in f32, moments and gradients
  Bytes link;      ///< each way: gradients down, weights up, in the precision of products
};

/// For P parameters of e bytes in products:
///   t = t_f + max(t_b, e P / B) + max(P (28 + e) / B_host, e P / B)
/// Gradients leave while backward makes them, and weights return piece by piece while the processor
/// updates. [D from arXiv:2101.06840] Requires parameters ≥ 1 and element_bytes of 2 or 4. Wrong
/// where processors of a node update for several devices at once: divide `memory` among them.
OffloadedUpdate offloaded_update(const SpilledTraining& training, double parameters,
                                 double element_bytes, const HostLink& link,
                                 const HostUpdate& host);

}  // namespace dlscale::model
