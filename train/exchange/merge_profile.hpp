#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/network/merge.hpp"
#include "train/exchange/arrivals.hpp"

namespace dlscale::train {

/// How a merged schedule puts gradients together, and the cost of messages that it was made for.
struct MergePlan {
  Groups groups;
  LinearCost cost;
};

/// Learns from the first iterations, in which every gradient travels alone, when gradients are
/// ready and what messages take, as MG-WFBP does.
class MergeProfile {
 public:
  /// Iterations that are watched; the first of them prepares libraries and does not count.
  static constexpr std::size_t iterations = 3;

  explicit MergeProfile(std::vector<Bytes> gradients);

  void begin_backward(std::shared_ptr<const backend::Mark> mark);
  /// The next gradient is ready at `mark`.
  void add_ready(std::shared_ptr<const backend::Mark> mark);
  /// After all of an iteration is done, with its transfers.
  void end_iteration(std::span<const Transfer> transfers);
  [[nodiscard]] bool is_complete() const { return watched_ == iterations; }

  /// The plan for all ranks: by the times at which a gradient was ready on the last of them, and a
  /// and b fitted to the messages as rank 0 saw them; medians of the iterations that count. Rank 0
  /// decides. Collective.
  [[nodiscard]] MergePlan agree(backend::Communicator& communicator, Schedule schedule) const;

 private:
  std::vector<Bytes> gradients_;
  std::shared_ptr<const backend::Mark> begin_;
  std::vector<std::shared_ptr<const backend::Mark>> marks_;
  std::vector<std::vector<double>> ready_;     ///< by gradient, s
  std::vector<std::vector<double>> messages_;  ///< by gradient, s
  std::size_t watched_ = 0;
};

}  // namespace dlscale::train
