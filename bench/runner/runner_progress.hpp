#pragma once
#include <chrono>
#include <cstddef>
#include <string_view>

namespace dlscale::bench {

/// Progress on standard error: the current cell and the estimated remaining time. On a terminal it
/// is one line that is overwritten, else a line every few seconds.
class Progress {
 public:
  enum class Output { none, standard_error };
  explicit Progress(Output output);
  void expect(std::size_t cells) { expected_ = cells; }
  void next(std::string_view cell);
  void clear() const;  ///< frees the terminal line for a row of the table

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double seconds_left() const;

  Output output_;
  bool terminal_;
  std::size_t expected_ = 0;
  std::size_t started_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_;
};

}  // namespace dlscale::bench
