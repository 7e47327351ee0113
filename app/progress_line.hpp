#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace dlscale::app {

/// How far something long is: one line of standard error that is written over where that is a
/// terminal, and else a plain line at most every half minute.
class ProgressLine {
 public:
  enum class Kind { silent, plain, terminal };
  /// What suits standard error; silent where that was asked for.
  static Kind kind_for(bool quiet);

  explicit ProgressLine(Kind kind) : kind_(kind) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& text);
  /// Clears the way for other lines.
  void clear();

 private:
  Kind kind_;
  bool shows_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// "45 s", "12 min", "3 h 20 min".
std::string duration_text(double seconds);

}  // namespace dlscale::app
