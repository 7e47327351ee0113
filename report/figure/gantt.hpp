#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// A stretch of time in which a lane does one kind of work.
struct GanttBox {
  std::size_t kind = 0;
  double start = 0;  ///< s
  double end = 0;    ///< s
  std::string text;  ///< shown within it where there is room: the number of a micro-batch
};

struct GanttLane {
  std::string name;             ///< "stage 1"
  std::string remark;           ///< behind it: "idle 4.3 %"
  std::vector<GanttBox> boxes;  ///< in the order of time; between them, the lane is idle
};

/// A stretch of time that is drawn.
struct GanttWindow {
  double from = 0;  ///< s
  double to = 0;    ///< s
};

/// Work of several lanes over time.
struct Gantt {
  std::string title;
  std::string idle;                  ///< a word for gaps between boxes
  std::vector<std::string> kinds;    ///< words, at most as many as colours
  std::vector<GanttWindow> windows;  ///< drawn beside one another at one scale
  std::vector<GanttLane> lanes;
  Table data;  ///< the numbers of all lanes
};

/// "pipeline": a row for each lane, from top to bottom, with a coloured box for each stretch of
/// work and grey gaps. Words with lines down to a box name kinds. Absent without a lane or window.
std::optional<Figure> gantt(const Gantt& chart);

}  // namespace dlscale::report::figure
