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

/// Groups of a merged schedule, and the message cost they were computed from.
struct MergePlan {
  Groups groups;
  LinearCost cost;
};

/// Measures when gradients become ready and how long messages take, as MG-WFBP does. In these first
/// iterations every gradient is a message of its own.
class MergeProfile {
 public:
  /// Number of profiled iterations. The first prepares libraries and does not count.
  static constexpr std::size_t iterations = 3;

  explicit MergeProfile(std::vector<Bytes> gradients);

  void begin_backward(std::shared_ptr<const backend::Mark> mark);
  /// Adds the next gradient, which is ready at `mark`.
  void add_ready(std::shared_ptr<const backend::Mark> mark);
  /// Ends an iteration, after all its work is done, with its transfers.
  void end_iteration(std::span<const Transfer> transfers);
  [[nodiscard]] bool is_complete() const { return watched_ == iterations; }

  /// The plan for all ranks, from medians of the iterations that count. It uses the time at which a
  /// gradient was ready on the last rank, and a and b fitted to rank 0's messages. Rank 0 decides.
  /// Collective.
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
