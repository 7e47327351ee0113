#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace dlscale {

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
  /// On a terminal as much of it as one row has room for: of a longer one only the last row could
  /// be written over.
  void show(const std::string& text);
  /// Clears the way for other lines.
  void clear();

 private:
  Kind kind_;
  bool shows_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// The beginning of a line, ended by "…", that leaves the last of so many columns free; all of it
/// where it fits. A character is taken to be one column wide, and none of UTF-8 is cut.
std::string fitted(const std::string& text, std::size_t columns);

/// "45 s", "12 min", "3 h 20 min".
std::string duration_text(double seconds);

}  // namespace dlscale
