#include "report/figure/figures.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/results/bandwidths.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/calibrate/measured_on.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/axes.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double bandwidth_height = 400;
constexpr double right_of_curves = 110;

/// Ranks, ranks per node, and location of the messages.
using Setting = std::tuple<int, int, model::MessageMemory>;

struct Measured {
  double bytes = 0;
  double busbw = 0;  ///< GB/s
  double low = 0;
  double high = 0;
};

struct BandwidthCurve {
  std::vector<Measured> points;
  const model::CollectiveFit* fit = nullptr;
};

using BandwidthCurves = std::map<Setting, BandwidthCurve>;

int count_of(const Measurement& row, const std::string& axis) {
  const std::string text = axis_or_empty(row, axis);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

/// Whether a row sends messages as training sends its gradients, and has a time.
bool counts(const Measurement& row) {
  return is_timed(row) && is_of_messages(row) && is_sent_as_in_training(row) &&
         axis_or_empty(row, "collective") == "all_reduce" && row.series.contains("time");
}

std::optional<double> bus_rate(const Measurement& row, double seconds) {
  const auto rates = bandwidths(row, Seconds(seconds));
  if (!rates || !rates->busbw) return {};
  return rates->busbw->si() * 1e-9;
}

void append_points(BandwidthCurves& curves, std::span<const ResultFile> results) {
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (!counts(row)) continue;
      const Summary& time = row.at("time").summary;
      const auto busbw = bus_rate(row, time.median);
      const auto low = bus_rate(row, time.ci95_high);
      const auto high = bus_rate(row, time.ci95_low);
      if (!busbw || *busbw <= 0 || !low || !high) continue;
      double bytes = 0;
      const std::string text = axis_or_empty(row, "bytes");
      std::from_chars(text.data(), text.data() + text.size(), bytes);
      curves[{count_of(row, "ranks"), count_of(row, "ranks_on_node"), model::memory_of(row)}]
          .points.push_back({bytes, *busbw, *low, *high});
    }
  }
}

void append_fits(BandwidthCurves& curves, std::span<const model::CollectiveFit> fits) {
  for (const model::CollectiveFit& fit : fits) {
    if (fit.collective != "all_reduce" || fit.ranks < 2) continue;
    const auto memory = fit.memory == model::to_string(model::MessageMemory::device)
                            ? model::MessageMemory::device
                            : model::MessageMemory::host;
    BandwidthCurve& curve = curves[{fit.ranks, fit.ranks_on_node, memory}];
    if (curve.fit == nullptr) curve.fit = &fit;
  }
}

/// The range of sizes of the line: that of the measured points, else that of the fit's segments.
std::pair<double, double> sizes_of(const BandwidthCurve& curve) {
  if (!curve.points.empty()) {
    const auto [least, most] = std::ranges::minmax_element(curve.points, {}, &Measured::bytes);
    return {least->bytes, most->bytes};
  }
  const auto& segments = curve.fit->cost.segments();
  return {std::max(1.0, segments.front().from.si()), std::max(2.0, segments.back().from.si() * 4)};
}

/// The rate that the fit predicts for a message, and the ends of its 95 % interval.
struct FittedRate {
  double bytes = 0;
  double busbw = 0;  ///< GB/s
  double low = 0;
  double high = 0;  ///< 0: unbounded
};

FittedRate fitted_rate(const model::CollectiveFit& fit, double bytes) {
  const auto factor = bus_factor("all_reduce", fit.ranks).value_or(0);
  const auto rate = [&](Seconds time) {
    return time.si() > 0 ? factor * bytes / time.si() * 1e-9 : 0;
  };
  const model::Estimate<Seconds> time = fit.cost.time(Bytes(bytes));
  return {bytes, rate(time.value), rate(time.high), rate(time.low)};
}

std::vector<FittedRate> fitted_line(const BandwidthCurve& curve) {
  std::vector<FittedRate> line;
  const auto [from, to] = sizes_of(curve);
  constexpr int steps = 160;
  for (int i = 0; i <= steps; ++i) {
    const double bytes = from * std::pow(to / from, static_cast<double>(i) / steps);
    if (const FittedRate rate = fitted_rate(*curve.fit, bytes); rate.busbw > 0) {
      line.push_back(rate);
    }
  }
  return line;
}

/// Leaves room for labels on the right.
Frame bandwidth_frame(const BandwidthCurves& curves, double top, bool labelled) {
  double from = 1e300;
  double to = 0;
  double least = 1e300;
  double most = 0;
  const auto meet = [&](double bytes, double low, double high) {
    from = std::min(from, bytes);
    to = std::max(to, bytes);
    least = std::min(least, low);
    most = std::max(most, high);
  };
  for (const auto& [setting, curve] : curves) {
    for (const Measured& each : curve.points) meet(each.bytes, each.low, each.high);
    if (curve.fit == nullptr) continue;
    for (const FittedRate& each : fitted_line(curve)) meet(each.bytes, each.busbw, each.busbw);
  }
  return frame_in(
      {80, top, figure_width - 100 - (labelled ? right_of_curves : 0), bandwidth_height - top - 46},
      {from * 0.8, to * 1.25, 0, 1, Spacing::logarithmic},
      {least * 0.8, most * 1.25, 0, 1, Spacing::logarithmic});
}

std::string setting_name(const Setting& setting) {
  const auto [ranks, on_node, memory] = setting;
  std::string name = counted(ranks, "rank");
  if (ranks != on_node && on_node != 0) name += fmt::format(", {} on a node", on_node);
  if (memory == model::MessageMemory::device) name += ", memory of devices";
  return name;
}

/// Draws the line of a fit over the band of its interval, as far as the frame reaches.
void draw_fit(Canvas& canvas, const Frame& frame, const std::vector<FittedRate>& rates,
              std::size_t index) {
  std::vector<Point> line;
  std::vector<Point> band;
  std::vector<Point> back;
  const auto y = [&frame](double rate) {
    return frame.y.at(std::clamp(rate, frame.y.low, frame.y.high));
  };
  for (const FittedRate& each : rates) {
    const double x = frame.x.at(each.bytes);
    line.push_back({x, frame.y.at(each.busbw)});
    band.push_back({x, y(each.low)});
    back.push_back({x, y(each.high > 0 ? each.high : frame.y.high)});
  }
  band.insert(band.end(), back.rbegin(), back.rend());
  canvas.area(band, fill_class(index) + " faint");
  canvas.lines(line, stroke_class(index) + " wide");
}

void draw_bandwidth(Canvas& canvas, const Frame& frame, const Setting& setting,
                    const BandwidthCurve& curve, std::size_t index) {
  if (curve.fit != nullptr) draw_fit(canvas, frame, fitted_line(curve), index);
  for (const Measured& each : curve.points) {
    const double x = frame.x.at(each.bytes);
    std::string title = fmt::format("{}, {} bytes: {} GB/s measured", setting_name(setting),
                                    each.bytes, significant(each.busbw, 4));
    if (curve.fit != nullptr) {
      title +=
          fmt::format(", {} fitted", significant(fitted_rate(*curve.fit, each.bytes).busbw, 4));
    }
    canvas.line({x, frame.y.at(each.low)}, {x, frame.y.at(each.high)}, stroke_class(index));
    canvas.circle({x, frame.y.at(each.busbw)}, 3.5, fill_class(index), title);
  }
}

/// The largest size of a curve and its rate.
std::optional<Point> last_point(const BandwidthCurve& curve) {
  if (curve.points.empty()) {
    const std::vector<FittedRate> line = fitted_line(curve);
    if (line.empty()) return {};
    return Point{line.back().bytes, line.back().busbw};
  }
  const Measured& last = *std::ranges::max_element(curve.points, {}, &Measured::bytes);
  return Point{last.bytes, last.busbw};
}

/// Draws a legend of the settings; returns the y below it.
double draw_settings(Canvas& canvas, const BandwidthCurves& curves) {
  std::vector<LegendEntry> legend;
  for (const auto& [setting, curve] : curves) {
    legend.push_back({setting_name(setting), fill_class(legend.size())});
  }
  return draw_legend(canvas, {80, 14}, figure_width - 90, legend);
}

/// Names the settings beside the ends of their curves.
void draw_setting_labels(Canvas& canvas, const Frame& frame, const BandwidthCurves& curves) {
  std::vector<SideLabel> labels;
  std::size_t index = 0;
  for (const auto& [setting, curve] : curves) {
    const std::string stroke = stroke_class(index++);
    if (const auto end = last_point(curve)) {
      labels.push_back(
          {{frame.x.at(end->x), frame.y.at(end->y)}, setting_name(setting), stroke, "", ""});
    }
  }
  draw_side_labels(canvas, {frame.x.to + 4, 0, right_of_curves, bandwidth_height - 46}, labels);
}

/// "1.02 to 1.08"; an end of 0 is unknown.
std::string interval_of(double low, double high) {
  return from_to(significant(low, 4), high > 0 ? significant(high, 4) : "?");
}

/// A row for each measured point; for a curve without any, a row for each end of its fit.
Table bandwidth_table(const BandwidthCurves& curves) {
  Table table{"Bus bandwidth of an all-reduce",
              {{"ranks", Align::left},
               {"message"},
               {"measured GB/s"},
               {"95 % interval"},
               {"fitted GB/s"},
               {"interval of the fit"}},
              {},
              {}};
  for (const auto& [setting, curve] : curves) {
    const auto append = [&](double bytes, const std::string& measured,
                            const std::string& interval) {
      std::vector<Cell> row{
          {setting_name(setting)}, {to_text(Bytes(bytes))}, {measured}, {interval}};
      const FittedRate rate = curve.fit == nullptr ? FittedRate{} : fitted_rate(*curve.fit, bytes);
      row.push_back({rate.busbw > 0 ? significant(rate.busbw, 4) : "–"});
      row.push_back({rate.busbw > 0 ? interval_of(rate.low, rate.high) : "–"});
      table.rows.push_back(std::move(row));
    };
    for (const Measured& each : curve.points) {
      append(each.bytes, significant(each.busbw, 4), interval_of(each.low, each.high));
    }
    if (!curve.points.empty()) continue;
    const auto [from, to] = sizes_of(curve);
    for (const double bytes : {from, to}) append(bytes, "–", "–");
  }
  return table;
}

}  // namespace

std::optional<Figure> bus_bandwidth(std::span<const ResultFile> results,
                                    std::span<const model::CollectiveFit> fits) {
  BandwidthCurves curves;
  append_points(curves, results);
  append_fits(curves, fits);
  std::erase_if(curves, [](const auto& each) {
    return each.second.fit == nullptr && each.second.points.size() < 2;
  });
  if (curves.empty()) return {};
  Canvas canvas(figure_width, bandwidth_height);
  const bool labelled = curves.size() <= most_labelled;
  const Frame frame =
      bandwidth_frame(curves, labelled ? 14 : draw_settings(canvas, curves), labelled);
  draw_axes(canvas, frame, size_ticks(frame.x), decade_ticks(frame.y), "message size",
            "bus bandwidth, GB/s (higher is better)");
  std::size_t index = 0;
  for (const auto& [setting, curve] : curves)
    draw_bandwidth(canvas, frame, setting, curve, index++);
  if (labelled) draw_setting_labels(canvas, frame, curves);
  const bool fitted =
      std::ranges::any_of(curves, [](const auto& each) { return each.second.fit != nullptr; });
  const std::string title =
      std::string("Bus bandwidth of an all-reduce: measured (points: median, 95 % interval)") +
      (fitted ? " and as the fitted α + β m says (lines, with the 95 % interval as a band)" : "");
  const std::string alt = fmt::format(
      "Bus bandwidth of an all-reduce in GB/s against the size of the message, both axes "
      "logarithmic, for {}. The tables have the numbers.",
      counted(static_cast<long long>(curves.size()), "setting"));
  return Figure{
      "allreduce", title, alt, canvas.svg(title, alt), "allreduce.svg", bandwidth_table(curves)};
}

}  // namespace dlscale::report::figure
