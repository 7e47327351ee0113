#pragma once
#include <chrono>
#include <cstddef>
#include <string_view>

namespace dlscale::bench {

/// Which cell is being measured and how long the rest may take, on standard error: one line that is
/// written over on a terminal, else a line every few seconds.
class Progress {
 public:
  enum class Output { none, standard_error };
  explicit Progress(Output output);
  void expect(std::size_t cells) { expected_ = cells; }
  void next(std::string_view cell);
  void clear() const;  ///< makes room on the terminal for a row of the table

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
