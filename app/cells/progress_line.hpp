#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace dlscale::app {

/// How far a run of cells is: one line of standard error that is written over where that is a
/// terminal, and else a plain line at most every half minute.
class CellProgressLine {
 public:
  enum class Kind { silent, plain, terminal };
  /// What suits standard error; silent where that was asked for.
  static Kind kind_for(bool quiet);

  CellProgressLine(Kind kind, std::size_t cells) : kind_(kind), cells_(cells) {}
  ~CellProgressLine();
  CellProgressLine(const CellProgressLine&) = delete;
  CellProgressLine& operator=(const CellProgressLine&) = delete;
  /// `done` cells are, `now` is what goes on, and the rest may take so long.
  void show(std::size_t done, const std::string& now, double seconds_left);
  /// Clears the way for other lines.
  void clear();

 private:
  Kind kind_;
  std::size_t cells_;
  bool shows_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// "45 s", "12 min", "3 h 20 min".
std::string duration_text(double seconds);

}  // namespace dlscale::app
