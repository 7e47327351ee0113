#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace dlscale {

/// Progress of a long operation on standard error: one line that is overwritten on a terminal, else
/// a plain line at most every half minute.
class ProgressLine {
 public:
  enum class Kind { silent, plain, terminal };
  /// The kind that suits standard error; silent if `quiet`.
  static Kind kind_for(bool quiet);

  explicit ProgressLine(Kind kind) : kind_(kind) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// On a terminal, shows as much of the text as fits into one row: of a longer text only the last
  /// row could be overwritten.
  void show(const std::string& text);
  /// Clears the line before other output.
  void clear();

 private:
  Kind kind_;
  bool shows_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// The beginning of a line, ended by "…", that leaves the last of `columns` columns free; the whole
/// line if it fits.
std::string fitted(const std::string& text, std::size_t columns);

/// "45 s", "12 min", "3 h 20 min".
std::string duration_text(double seconds);

}  // namespace dlscale
