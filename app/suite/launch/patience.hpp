#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

namespace dlscale::app {

/// Retry policy for a scheduler that does not answer. Its programs fail for a while if its daemon
/// is busy or restarts; a job that is waited for is not given up for that.
class Patience {
 public:
  using Seconds = std::chrono::seconds;

  /// The pause before the next try: twice as long each time, up to a minute. Nothing after ten
  /// minutes of silence.
  std::optional<Seconds> next_pause() {
    if (waited_ >= most) return std::nullopt;
    const Seconds pause = pause_;
    waited_ += pause;
    pause_ = std::min(2 * pause_, Seconds(60));
    return pause;
  }
  /// Whether next_pause() was never called.
  [[nodiscard]] bool is_new() const { return waited_ == Seconds(0); }

  static constexpr Seconds most{600};

 private:
  Seconds pause_{1};
  Seconds waited_{0};
};

}  // namespace dlscale::app
