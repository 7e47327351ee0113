#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "train/exchange/arrivals.hpp"

namespace dlscale::train {

/// An interval of the host's clock.
struct Interval {
  Instant start;
  Instant end;
};

/// Total time before `until` of transfers that follow one another.
Seconds busy_before(std::span<const Transfer> transfers, Instant until);

/// Time during which at least one transfer was in flight outside the waits. Transfers may overlap;
/// waits do not.
Seconds busy_outside(std::span<const Transfer> transfers, std::span<const Interval> waits);

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
