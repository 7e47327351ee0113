#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model {

/// The ceilings of a device in one precision, by its data sheet.
struct NominalRoofline {
  FlopsPerSecond peak;       ///< of tensor cores, where products in the precision take them
  FlopsPerSecond core_peak;  ///< of ordinary cores in f32
  BytesPerSecond memory;
  /// All multiprocessors together, at the clock of the peak:
  ///   S · bytes a clock · clock        [bytes a clock: KernelConstants::shared_rate]
  /// Absent where products do not wait for shared memory.
  std::optional<BytesPerSecond> shared;
};

/// The least times that a roofline allows for some work. Zero where a level moves nothing.
struct RooflineBounds {
  Seconds arithmetic;  ///< F / peak, of executed operations
  Seconds shared;      ///< Q_shared / its bandwidth
  Seconds memory;      ///< Q / memory bandwidth
  [[nodiscard]] Seconds least() const;
  RooflineBounds& operator+=(const RooflineBounds& other);
};

/// Work of a step, or of several alike, and its time by StepTimes.
struct NominalWork {
  Flops declared;         ///< of products, else as work() says
  Flops executed;         ///< the same with minimal filtering where ordinary cores take it
  Bytes memory;           ///< operands and results of products once, and passes_of()
  Bytes shared;           ///< operands that tiles of products read from shared memory
  Seconds time;           ///< by the data sheet, with launches
  RooflineBounds bounds;  ///< sums over the steps
  NominalWork& operator+=(const NominalWork& other);
  /// Executed operations a byte of memory; 0 without bytes.
  [[nodiscard]] FlopsPerByte intensity() const;
};

/// A step of a network under the roofline.
struct NominalStep {
  LayerId layer;
  Pass pass = Pass::forward;
  NominalWork work;
};

/// A training step of a network on one device, under its data sheet's roofline.
struct NominalPlacement {
  NominalRoofline roofline;
  std::vector<NominalStep> steps;  ///< forward, then backward, in the order in which they run
  Seconds update;
  sheet::TimeRange range;               ///< factors on all times, 90 %
  [[nodiscard]] Seconds total() const;  ///< all steps and the update
};

/// Places every step of a network under the roofline of a data sheet, of software that computes in
/// the first of ways_of(). Tiles read from shared memory
///   Q_shared = reads · s · F/2 · (1/b_m + 1/b_n)
/// with the largest tile (b_m, b_n) within the product. Direct convolutions read s
/// bytes for each multiply-add. [Wang et al., arXiv:2009.05257: hierarchical and time-based
/// rooflines; symbols as in product_time()] F is what runs: minimal filtering takes fewer
/// operations than a layer declares. Requires has_kernel_times(), a peak in the precision (f16
/// without one: in f32), batch ≥ 1.
NominalPlacement place_network(const Network& network, const Device& device, const Run& run,
                               const ComputeTraits& traits,
                               const sheet::KernelConstants& constants);

}  // namespace dlscale::model
