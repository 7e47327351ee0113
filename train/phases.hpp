#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "backend/compute/compute.hpp"
#include "train/exchange/busy_time.hpp"

namespace dlscale::train {

/// The phases of an iteration on the time line of a device, one after the other without a gap. They
/// may be asked for once the device is through with them; asking does not hold it up before.
class Phases {
 public:
  struct Phase {
    std::string_view name;
    std::shared_ptr<const backend::Mark> start;
    std::shared_ptr<const backend::Mark> end;
  };

  /// The device has passed `start`, at the instant `when` of the host's clock.
  Phases(std::shared_ptr<const backend::Mark> start, Instant when);
  /// Ends a phase that began where the one before it ended.
  void end(std::string_view name, std::shared_ptr<const backend::Mark> mark);

  [[nodiscard]] const std::vector<Phase>& all() const { return phases_; }
  /// When the first of them began, on the host's clock.
  [[nodiscard]] Instant began() const { return when_; }
  /// Of all phases of that name.
  [[nodiscard]] Seconds duration(std::string_view name) const;
  [[nodiscard]] Seconds total() const;
  /// When the device passed a mark, on the host's clock.
  [[nodiscard]] Instant when(const backend::Mark& mark) const;
  /// When the first phase of that name began.
  [[nodiscard]] Instant start_of(std::string_view name) const;
  /// From when to when the phases of that name lasted, in order.
  [[nodiscard]] std::vector<Interval> intervals(std::string_view name) const;
  [[nodiscard]] const std::shared_ptr<const backend::Mark>& last() const;

 private:
  std::shared_ptr<const backend::Mark> start_;
  Instant when_;
  std::vector<Phase> phases_;
};

}  // namespace dlscale::train
