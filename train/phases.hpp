#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "backend/compute/compute.hpp"
#include "train/exchange/busy_time.hpp"

namespace dlscale::train {

/// The phases of an iteration on a device's timeline, consecutive and without gaps. Query them once
/// the device has finished them; recording does not block the device.
class Phases {
 public:
  struct Phase {
    std::string_view name;
    std::shared_ptr<const backend::Mark> start;
    std::shared_ptr<const backend::Mark> end;
  };

  /// The device passed `start` at `when` of the host's clock.
  Phases(std::shared_ptr<const backend::Mark> start, Instant when);
  /// Ends a phase, which began where the previous one ended.
  void end(std::string_view name, std::shared_ptr<const backend::Mark> mark);

  [[nodiscard]] const std::vector<Phase>& all() const { return phases_; }
  /// Start of the first phase, on the host's clock.
  [[nodiscard]] Instant began() const { return when_; }
  /// Total time of all phases with that name.
  [[nodiscard]] Seconds duration(std::string_view name) const;
  [[nodiscard]] Seconds total() const;
  /// Time at which the device passed a mark, on the host's clock.
  [[nodiscard]] Instant when(const backend::Mark& mark) const;
  /// Start of the first phase with that name.
  [[nodiscard]] Instant start_of(std::string_view name) const;
  /// Intervals of the phases with that name, in order.
  [[nodiscard]] std::vector<Interval> intervals(std::string_view name) const;
  [[nodiscard]] const std::shared_ptr<const backend::Mark>& last() const;

 private:
  std::shared_ptr<const backend::Mark> start_;
  Instant when_;
  std::vector<Phase> phases_;
};

}  // namespace dlscale::train
