#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"

namespace dlscale::model {

/// Gradients put together into messages. Gradients stand in the order in which backward leaves
/// them; message i holds those up to and with `last[i]`, after which it is ready.
struct Cut {
  std::vector<std::size_t> last;  ///< ascending; empty where nothing is sent
  std::vector<double> bytes;      ///< by message, > 0
  [[nodiscard]] std::size_t messages() const { return last.size(); }
  bool operator==(const Cut&) const = default;
};

/// One message a gradient.
Cut cut_singly(std::span<const double> gradients);

/// A message is closed once it holds `first` bytes, or `limit` bytes if it is not the first, as
/// gradient_buckets() of core/network/step.hpp does with 1 MiB and 25 MiB. Both > 0.
Cut cut_in_buckets(std::span<const double> gradients, Bytes first, Bytes limit);

/// Message i holds the next groups[i] gradients; together all of them.
Cut cut_by_groups(std::span<const double> gradients, std::span<const std::size_t> groups);

}  // namespace dlscale::model
