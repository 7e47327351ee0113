#pragma once
#include "core/base/units.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"

namespace dlscale::model {

/// How managed memory is used.
enum class ManagedUse {
  on_demand,  ///< kernels fault pages in, and all pages count as needed
  /// The program names the tensors of the next step ahead, and drops those that are no longer
  /// needed [OC-DNN, doi 10.1109/HiPC.2018.00024].
  advised,
};

/// An iteration with managed memory, in its steady state.
struct ManagedTime {
  Seconds total;
  Seconds stall;
  Bytes in;   ///< to the device
  Bytes out;  ///< to the host
};

/// Pages of tensors on a device with the memory `budget`, of which `fixed` stays, and what each
/// step has beside tensors, as gradients. Every use brings the missing pages in; the least recently
/// used ones leave (LRU). An iteration is simulated after another one. On demand a step takes
///   max(t, in / B_fault),
/// as a kernel's other blocks run while some wait for pages. B_fault was measured where each page
/// that came made another leave, so that it includes that. Advised, pages come during the step
/// before, and both directions work at once:
///   Σ max(t, in of the next step / B, out / B)                                               (8.4)
/// Backward reads tensors in the reverse order of forward, so that LRU keeps the right ones and
/// moves only the excess. On demand, pages of dead tensors move as well: out in backward, and in
/// again when forward overwrites them. [D, derived: (8.5) for this order of accesses] Wrong where
/// the driver evicts whole blocks of 2 MiB that hold several tensors.
/// Throws ConfigError if a step alone exceeds the budget.
ManagedTime managed_time(const SpilledTraining& training, const HostLink& link, Bytes budget,
                         ManagedUse use);

}  // namespace dlscale::model
