#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"

namespace dlscale::model {

/// Conditions of a measurement of a copy or an update, measured or wanted.
struct Conditions {
  DType dtype = DType::f32;
  int threads = 1;
  int ranks_on_node = 1;
  explicit Conditions(const AffineFit& fit)
      : dtype(fit.dtype), threads(fit.threads), ranks_on_node(fit.ranks_on_node) {}
  /// The conditions of a run.
  explicit Conditions(const Run& run);
  bool operator==(const Conditions&) const = default;
  /// "in f32 with 2 threads beside 4 ranks".
  [[nodiscard]] std::string text() const;
};

/// The fit with the nearest conditions: precision first, then threads, then ranks on the node.
/// Requires at least one fit.
const AffineFit& nearest(const std::vector<AffineFit>& fits, const Conditions& wanted);

/// The nearest of these fits; notes where `what`, "the update", was measured under other
/// conditions.
const AffineFit& noted_nearest(const Machine& machine, const std::vector<AffineFit>& fits,
                               const Conditions& wanted, std::string_view what, Notes& notes);

/// Source of the time of that size.
TimeSource affine_source(const Machine& machine, const std::vector<AffineFit>& fits,
                         const Conditions& wanted, Bytes size);

}  // namespace dlscale::model
