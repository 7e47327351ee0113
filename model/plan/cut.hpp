#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"

namespace dlscale::model {

/// Gradients grouped into messages. Gradients are in the order in which backward finishes them.
/// Message i ends with gradient `last[i]` and is ready once that is.
struct Cut {
  /// Index of the last gradient of each message, ascending; empty where nothing is sent.
  std::vector<std::size_t> last;
  std::vector<double> bytes;  ///< by message, > 0
  [[nodiscard]] std::size_t messages() const { return last.size(); }
  bool operator==(const Cut&) const = default;
};

/// Returns one message for each gradient.
Cut cut_singly(std::span<const double> gradients);

/// Closes a message once it holds `limit` bytes, and the first one once it holds `first` bytes.
/// gradient_buckets() of core/network/step.hpp does the same with 25 MiB and 1 MiB. Both are > 0.
Cut cut_in_buckets(std::span<const double> gradients, Bytes first, Bytes limit);

/// Message i holds the next groups[i] gradients. The groups cover all gradients.
Cut cut_by_groups(std::span<const double> gradients, std::span<const std::size_t> groups);

}  // namespace dlscale::model
