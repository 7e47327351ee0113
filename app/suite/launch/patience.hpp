#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

namespace dlscale::app {

/// How long a scheduler that does not answer is asked again. Its programs fail for a while where
/// its daemon is busy or starts anew, which is no reason to give up a job that is waited for.
class Patience {
 public:
  using Seconds = std::chrono::seconds;

  /// How long to wait before it is asked again: each time twice as long, up to a minute. Nothing
  /// once it has been silent for ten minutes.
  std::optional<Seconds> next_pause() {
    if (waited_ >= most) return std::nullopt;
    const Seconds pause = pause_;
    waited_ += pause;
    pause_ = std::min(2 * pause_, Seconds(60));
    return pause;
  }
  /// Whether next_pause() was never asked.
  [[nodiscard]] bool is_new() const { return waited_ == Seconds(0); }

  static constexpr Seconds most{600};

 private:
  Seconds pause_{1};
  Seconds waited_{0};
};

}  // namespace dlscale::app
