#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// Rows of results that do not concern a machine, or cannot.
struct LeftOutRows {
  std::size_t rows = 0;
  std::string why;  ///< "bench comm, dtype f64 (training has f32)"
};

/// What calibrate() with these options left out of the results that it made `machine` from, by
/// reason, in the order of their text. Rows that gave way to better ones of their kind (arrays of
/// memory smaller than the largest, more loader threads than the fewest) are not among them, nor
/// are those of messages beside work that measured nothing to take.
std::vector<LeftOutRows> left_out(std::span<const ResultFile> results, const Machine& machine,
                                  const CalibrateOptions& options);

/// "25 rows of bench comm, dtype f64 (training has f32)".
std::string to_text(const LeftOutRows& left);

/// Whether nothing at all was fitted.
bool is_empty(const Machine& machine);

}  // namespace dlscale::model
