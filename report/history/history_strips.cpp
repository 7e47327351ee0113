#include "report/history/history_strips.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {
namespace {

using regression::ChangePoint;
using regression::HistorySegment;
using regression::HistoryShape;

constexpr std::size_t most_points = 100;
constexpr double left_of_plot = 72;   ///< room for ticks, px
constexpr double right_of_plot = 88;  ///< room for the last level

bool usable(double value) {
  return std::isfinite(value) && value > 0;
}

bool is_drawn(const std::optional<double>& reported) {
  return reported && usable(*reported);
}

/// First of the last points of a strip, which are drawn.
std::size_t first_point(const StripRow& row) {
  return row.values.size() > most_points ? row.values.size() - most_points : 0;
}

/// The commit of a point.
std::string label_of(const StripRow& row, std::size_t at) {
  return at < row.labels.size() ? row.labels[at] : fmt::format("point {}", at);
}

/// The beginning of a hash, or of another name of a commit; dates behind it are left out.
std::string short_label(std::string label) {
  constexpr std::size_t letters = 9;
  label = label.substr(0, label.find_first_of(", "));
  const bool is_hash = std::ranges::all_of(
      label, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  return is_hash ? label.substr(0, letters) : cut_to_width(label, letters + 3);
}

double width_of(std::string_view text) {
  constexpr double glyph_of_words = 7.2;  // narrower than digits
  return glyph_of_words * static_cast<double>(display_width(text));
}

/// Draws the levels, the last with its value beside the plot, and where one changed.
void draw_levels(Canvas& canvas, const Frame& frame, const StripRow& row, double first) {
  for (const HistorySegment& segment : row.found.segments) {
    const double from = std::max(first, static_cast<double>(segment.first));
    const auto to = static_cast<double>(segment.last);
    if (to < first) continue;
    const double y = frame.y.at(segment.level);
    canvas.line({frame.x.at(from - 0.4), y}, {frame.x.at(to + 0.4), y}, "s0 wide");
  }
  if (!row.found.segments.empty()) {
    const double level = row.found.segments.back().level;
    canvas.text({frame.x.to + 6, frame.y.at(level) + 4},
                fmt::format("{} {}", significant(level, 4), row.unit), Anchor::start);
  }
  for (const ChangePoint& change : row.found.changes) {
    const double middle = static_cast<double>(change.before + change.after) / 2;
    if (middle < first) continue;
    canvas.line({frame.x.at(middle), frame.y.from}, {frame.x.at(middle), frame.y.to}, "dash");
  }
}

void draw_points(Canvas& canvas, const Frame& frame, const StripRow& row, std::size_t first) {
  for (std::size_t i = first; i < row.values.size(); ++i) {
    if (!usable(row.values[i])) continue;
    canvas.circle(
        {frame.x.at(static_cast<double>(i)), frame.y.at(row.values[i])}, 2.5, "c3",
        fmt::format("{}: {} {}", label_of(row, i), significant(row.values[i], 4), row.unit));
  }
}

/// Draws the line of a note: for worse with a full triangle upwards, for better with an empty one
/// downwards.
void draw_note_line(Canvas& canvas, const Frame& frame, const StripNote& note, double x) {
  constexpr double size = 4;
  const double top = frame.y.to;
  if (note.kind == StripNote::Kind::other) {
    canvas.line({x, frame.y.from}, {x, top}, "s3");
    return;
  }
  const bool is_worse = note.kind == StripNote::Kind::worse;
  const double tip = is_worse ? top : top + 2 * size;
  const double base = is_worse ? top + 2 * size : top;
  canvas.line({x, frame.y.from}, {x, top + 2 * size}, is_worse ? "s1" : "s0");
  canvas.area(std::array{Point{x - size, base}, Point{x, tip}, Point{x + size, base}},
              is_worse ? "c1" : "hollow s0");
}

/// A text above a strip.
struct StripLabel {
  double x = 0;  ///< middle of the text, as wanted
  std::string text;
  std::string_view classes;
  std::string title;
};

bool is_of(const StripNote& note, const ChangePoint& change) {
  return note.at == change.after && note.kind != StripNote::Kind::other;
}

/// "improved -7.7 % at b1a6cb961 (162.3 to 149.8 us)"; if `brief`, without the commit and levels.
StripLabel change_label(const StripRow& row, const ChangePoint& change, bool brief) {
  StripLabel label;
  const auto note = std::ranges::find_if(
      row.notes, [&change](const StripNote& each) { return is_of(each, change); });
  if (note != row.notes.end()) {
    label.text = note->label + " ";
    label.title = note->text;
  }
  label.text += signed_percent(change.ratio - 1);
  if (brief) return label;
  if (!row.labels.empty()) label.text += " at " + short_label(label_of(row, change.after));
  label.text += fmt::format(" ({} to {} {})", significant(change.level_before, 4),
                            significant(change.level_after, 4), row.unit);
  return label;
}

/// The texts of changes, notes and the latest points, from left to right.
std::vector<StripLabel> labels_of(const Frame& frame, const StripRow& row, std::size_t first,
                                  bool brief) {
  std::vector<StripLabel> labels;
  for (const ChangePoint& change : row.found.changes) {
    const double middle = static_cast<double>(change.before + change.after) / 2;
    if (middle < static_cast<double>(first)) continue;
    labels.push_back(change_label(row, change, brief));
    labels.back().x = frame.x.at(middle);
  }
  for (const StripNote& note : row.notes) {
    const bool is_drawn = note.at >= first && note.at < row.values.size();
    const bool is_told = std::ranges::any_of(
        row.found.changes, [&note](const ChangePoint& change) { return is_of(note, change); });
    if (!is_drawn || is_told) continue;
    labels.push_back(
        {frame.x.at(static_cast<double>(note.at) - 0.5), note.label, "bold", note.text});
  }
  std::ranges::stable_sort(labels, {}, &StripLabel::x);
  if (!row.latest.empty()) labels.push_back({frame.x.to, row.latest, "", ""});
  return labels;
}

/// Draws the texts side by side above the plot, those of changes in full if that fits.
void draw_labels(Canvas& canvas, const Frame& frame, const StripRow& row, std::size_t first) {
  constexpr double gap = 10;
  constexpr double room = figure_width - left_of_plot - 4;
  for (const bool brief : {false, true}) {
    const std::vector<StripLabel> labels = labels_of(frame, row, first, brief);
    std::vector<double> wanted;
    std::vector<double> widths;
    double all = -gap;
    for (const StripLabel& label : labels) {
      widths.push_back(width_of(label.text));
      wanted.push_back(label.x - widths.back() / 2);
      all += widths.back() + gap;
    }
    if (all > room && !brief) continue;
    const std::vector<double> places =
        spread(wanted, widths, left_of_plot, left_of_plot + room, gap);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      canvas.text({places[i], frame.y.to - 4}, labels[i].text, Anchor::start, labels[i].classes,
                  labels[i].title);
    }
    return;
  }
}

void draw_note_lines(Canvas& canvas, const Frame& frame, const StripRow& row, std::size_t first) {
  for (const StripNote& note : row.notes) {
    if (note.at < first || note.at >= row.values.size()) continue;
    draw_note_line(canvas, frame, note, frame.x.at(static_cast<double>(note.at) - 0.5));
  }
}

/// Draws the reported value, if the history lacks it, as a ring after the last point.
void draw_reported(Canvas& canvas, const Frame& frame, const StripRow& row) {
  if (!is_drawn(row.reported)) return;
  const auto after = static_cast<double>(row.values.size());
  canvas.circle({frame.x.at(after), frame.y.at(*row.reported)}, 4, "hollow s1",
                fmt::format("reported here, not in the history: {} {}",
                            significant(*row.reported, 4), row.unit));
}

std::string_view shape_words(const StripRow& row) {
  switch (row.found.shape) {
    case HistoryShape::too_short:
      return "; too few commits to judge";
    case HistoryShape::steady:
      return row.latest.empty() ? "; no change" : "";
    case HistoryShape::changed:
      break;  // the change has its own text
    case HistoryShape::bimodal:
      return "; jumps between levels";
  }
  return "";
}

/// Draws the title, shortened to fit, and at the right "us, lower is better; no change".
void draw_heading(Canvas& canvas, const StripRow& row, double top) {
  constexpr double bold_glyph = 8.4;
  constexpr double gap = 16;
  const std::string rest =
      fmt::format("{}{}{}{}", row.unit, row.remark.empty() ? "" : ", ", row.remark,
                  shape_words(row));
  const double room = figure_width - 8 - gap - width_of(rest);
  const std::string& title = row.title.empty() ? row.name : row.title;
  canvas.text({4, top + 12}, cut_to_width(title, static_cast<std::size_t>(room / bold_glyph)),
              Anchor::start, "bold", row.name);
  canvas.text({figure_width - 4, top + 12}, rest, Anchor::end, "soft");
}

constexpr double plot_height = 66;

/// Height of what stands above the plot: the heading, and texts if there are any.
double heading_height(const StripRow& row) {
  const bool is_labelled = !row.found.changes.empty() || !row.notes.empty() || !row.latest.empty();
  return is_labelled ? 36 : 20;
}

double height_of(const StripRow& row) {
  return heading_height(row) + plot_height + 14;
}

void draw_strip(Canvas& canvas, const StripRow& row, double top, bool last) {
  const std::size_t first = first_point(row);
  double least = HUGE_VAL;
  double most = 0;
  const auto consider = [&](double value) {
    if (!usable(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  };
  std::for_each(row.values.begin() + static_cast<std::ptrdiff_t>(first), row.values.end(),
                consider);
  if (row.reported) consider(*row.reported);
  draw_heading(canvas, row, top);
  const double room = (most - least) * 0.15;
  const double width = figure_width - left_of_plot - right_of_plot;
  const Frame frame =
      frame_in({left_of_plot, top + heading_height(row), width, plot_height},
               {static_cast<double>(first) - 1,
                static_cast<double>(row.values.size() + (is_drawn(row.reported) ? 1 : 0))},
               {least - room, most + room});
  draw_axes(canvas, frame, {}, linear_ticks(frame.y), "", "");
  if (last) {
    canvas.text({(frame.x.from + frame.x.to) / 2, frame.y.from + 17}, "commits, the oldest first",
                Anchor::middle, "soft");
  }
  draw_levels(canvas, frame, row, static_cast<double>(first));
  draw_points(canvas, frame, row, first);
  draw_note_lines(canvas, frame, row, first);
  draw_labels(canvas, frame, row, first);
  draw_reported(canvas, frame, row);
}

/// Draws what points, lines and triangles mean in a row at the top.
void draw_strip_legend(Canvas& canvas) {
  constexpr double y = 8;
  constexpr double size = 4;
  double x = 8;
  const auto name = [&](double mark, std::string_view text) {
    canvas.text({x + mark, y + 4}, text, Anchor::start, "soft");
    x += mark + width_of(text) + 14;
  };
  canvas.circle({x, y}, 2.5, "c3");
  name(8, "value of a commit");
  canvas.line({x, y}, {x + 18, y}, "s0 wide");
  name(24, "level: median between changes");
  canvas.area(std::array{Point{x - size, y + size}, Point{x, y - size}, Point{x + size, y + size}},
              "c1");
  name(10, "regressed");
  canvas.area(std::array{Point{x - size, y - size}, Point{x, y + size}, Point{x + size, y - size}},
              "hollow s0");
  name(10, "improved");
}

/// The caption, with the marks that the legend leaves out.
std::string strip_title(const std::vector<const StripRow*>& rows) {
  constexpr std::array letters{std::pair('E', "another environment"),
                               std::pair('M', "another machine or kernel"),
                               std::pair('N', "a note by people")};
  std::string title = "History: the values of commits and the level of each series";
  if (std::ranges::any_of(rows, [](const StripRow* row) { return !row->latest.empty(); })) {
    title += "; what the last commits show may be noise";
  }
  if (std::ranges::any_of(rows, [](const StripRow* row) { return is_drawn(row->reported); })) {
    title += "; a ring: reported here, not in the history";
  }
  for (const auto& [letter, meaning] : letters) {
    const auto has_letter = [letter = letter](const StripNote& note) {
      return note.kind == StripNote::Kind::other && note.label.starts_with(letter);
    };
    if (std::ranges::any_of(rows, [&](const StripRow* row) {
          return std::ranges::any_of(row->notes, has_letter);
        })) {
      title += fmt::format("; {}: {}", letter, meaning);
    }
  }
  return title;
}

/// The segments of all rows, which their lines show.
Table level_numbers(std::span<const StripRow> rows) {
  Table table{"Levels of the strips: the median of each segment",
              {{"strip", Align::left},
               {"from", Align::left},
               {"to", Align::left},
               {"commits"},
               {"level"},
               {"change"}},
              {},
              {}};
  for (const StripRow& row : rows) {
    const auto label = [&row](std::size_t at) { return label_of(row, at); };
    if (row.found.segments.empty()) {
      table.rows.push_back({{row.name}, {}, {}, {std::to_string(row.values.size())}, {"–"}, {}});
    }
    for (const HistorySegment& segment : row.found.segments) {
      const auto change = std::ranges::find(row.found.changes, segment.first, &ChangePoint::after);
      table.rows.push_back(
          {{row.name},
           {label(segment.first)},
           {label(segment.last)},
           {std::to_string(segment.points)},
           {fmt::format("{} {}", significant(segment.level, 4), row.unit)},
           {change == row.found.changes.end() ? "" : signed_percent(change->ratio - 1)}});
    }
  }
  return table;
}

}  // namespace

std::optional<Figure> history_strips(std::span<const StripRow> rows) {
  std::vector<const StripRow*> shown;
  std::size_t fit = 0;
  for (const StripRow& row : rows) {
    const auto first = row.values.begin() + static_cast<std::ptrdiff_t>(first_point(row));
    if (std::count_if(first, row.values.end(), usable) < 2) continue;
    ++fit;
    if (shown.size() < most_strips) shown.push_back(&row);
  }
  if (shown.empty()) return {};
  constexpr double legend = 24;
  constexpr double name_of_axis = 12;
  double height = legend + name_of_axis;
  for (const StripRow* row : shown) height += height_of(*row);
  Canvas canvas(figure_width, height);
  draw_strip_legend(canvas);
  double top = legend;
  for (const StripRow* row : shown) {
    draw_strip(canvas, *row, top, row == shown.back());
    top += height_of(*row);
  }
  std::string title = strip_title(shown);
  if (shown.size() < fit) title += fmt::format(" ({} more are not drawn)", fit - shown.size());
  const std::string alt = fmt::format(
      "The last {} commits at most of {} series, the level of each segment, a broken line where "
      "the level changed, with the change in percent, and marks of alerts, annotations and other "
      "machines. The tables of levels and marks say the same.",
      most_points, shown.size());
  return Figure{"history", title, alt, canvas.svg(title, alt), "history.svg", level_numbers(rows)};
}

}  // namespace dlscale::report::figure
