#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// A group of result rows that a machine does not use.
struct LeftOutRows {
  std::size_t rows = 0;
  std::string why;  ///< for example "bench comm, dtype f64 (training has f32)"
};

/// The rows that calibrate() with these options left out of the results for `machine`, by reason,
/// in the order of their text. Rows replaced by better ones of their kind are not among them:
/// arrays of memory smaller than the largest, or more loader threads than the fewest. Nor are rows
/// of messages beside work that measured nothing usable.
std::vector<LeftOutRows> left_out(std::span<const ResultFile> results, const Machine& machine,
                                  const CalibrateOptions& options);

/// Text of a group: "25 rows of bench comm, dtype f64 (training has f32)".
std::string to_text(const LeftOutRows& left);

/// Whether nothing was fitted.
bool is_empty(const Machine& machine);

/// A summary for people of everything that was fitted: "906 kernel times, 2 update fits, 1
/// all_reduce fit, 1 closed form of messages"; "nothing" if nothing was fitted.
std::string fitted_text(const Machine& machine);

}  // namespace dlscale::model
