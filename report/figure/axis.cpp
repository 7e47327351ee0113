#include "report/figure/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/base/error.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::report::figure {
namespace {

std::string short_number(double value) {
  return fmt::format("{:.6g}", value);
}

std::string short_size(double bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:g} {}", bytes, units.at(unit));
}

Scale widened(Scale scale) {
  if (scale.low < scale.high) return scale;
  const double extent = scale.low == 0 ? 1 : std::abs(scale.low) * 0.5;
  scale.low -= scale.spacing == Spacing::linear ? extent : scale.low * 0.5;
  scale.high += extent;
  return scale;
}

/// The name of an axis, which says if its scale is logarithmic; empty without a name.
std::string name_with_scale(std::string_view name, const Scale& scale) {
  const bool is_said = !name.empty() && scale.spacing == Spacing::logarithmic;
  return std::string(name) + (is_said ? ", log scale" : "");
}

}  // namespace

double Scale::at(double value) const {
  const bool logs = spacing == Spacing::logarithmic;
  const double share =
      logs ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

std::vector<Tick> linear_ticks(const Scale& scale) {
  const double rough = (scale.high - scale.low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  std::vector<Tick> ticks;
  const auto last = std::llround(std::floor(scale.high / step + 1e-9));
  for (auto i = std::llround(std::ceil(scale.low / step - 1e-9)); i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    ticks.push_back({value, short_number(value)});
  }
  return ticks;
}

std::vector<Tick> decade_ticks(const Scale& scale) {
  EXPECT(scale.low > 0);
  const bool few = scale.high / scale.low < 1e3;
  std::vector<Tick> ticks;
  const auto last = std::llround(std::floor(std::log10(scale.high)));
  for (auto i = std::llround(std::floor(std::log10(scale.low))); i <= last; ++i) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, static_cast<double>(i));
      const bool wanted = few || digit == 1;
      if (wanted && value >= scale.low * (1 - 1e-9) && value <= scale.high * (1 + 1e-9)) {
        ticks.push_back({value, short_number(value)});
      }
    }
  }
  return ticks;
}

std::vector<Tick> size_ticks(const Scale& scale) {
  std::vector<Tick> ticks;
  for (double size = 1; size <= scale.high * (1 + 1e-9); size *= 16) {
    if (size >= scale.low * (1 - 1e-9)) ticks.push_back({size, short_size(size)});
  }
  return ticks;
}

std::vector<Tick> count_ticks(const std::vector<int>& counts) {
  std::vector<int> unique = counts;
  std::ranges::sort(unique);
  unique.erase(std::ranges::unique(unique).begin(), unique.end());
  std::vector<Tick> ticks;
  ticks.reserve(unique.size());
  for (const int count : unique)
    ticks.push_back({static_cast<double>(count), std::to_string(count)});
  return ticks;
}

Frame frame_in(const Box& box, Scale x, Scale y) {
  x = widened(x);
  y = widened(y);
  x.from = box.x;
  x.to = box.x + box.width;
  y.from = box.y + box.height;
  y.to = box.y;
  return {x, y};
}

void draw_axes(Canvas& canvas, const Frame& frame, const std::vector<Tick>& x_ticks,
               const std::vector<Tick>& y_ticks, std::string_view x_name, std::string_view y_name) {
  const auto& [x, y] = frame;
  double widest = 0;
  for (const Tick& tick : y_ticks) {
    const double at = y.at(tick.value);
    canvas.line({x.from, at}, {x.to, at}, "grid");
    canvas.text({x.from - 6, at + 4}, tick.text, Anchor::end, "soft");
    widest = std::max(widest, glyph * static_cast<double>(display_width(tick.text)));
  }
  double free_from = x.from - 1e3;  // texts of ticks must not touch
  for (const Tick& tick : x_ticks) {
    const double at = x.at(tick.value);
    canvas.line({at, y.from}, {at, y.from + 4}, "axis");
    const double half = glyph * static_cast<double>(display_width(tick.text)) / 2;
    if (at - half < free_from) continue;
    canvas.text({at, y.from + 17}, tick.text, Anchor::middle, "soft");
    free_from = at + half + 4;
  }
  canvas.line({x.from, y.from}, {x.to, y.from}, "axis");
  if (!x_name.empty()) {
    canvas.text({(x.from + x.to) / 2, y.from + 35}, name_with_scale(x_name, x), Anchor::middle,
                "soft");
  }
  if (!y_name.empty()) {
    canvas.upright({x.from - widest - 16, (y.from + y.to) / 2}, name_with_scale(y_name, y));
  }
}

std::vector<double> spread(std::span<const double> wanted, std::span<const double> sizes,
                           double low, double high, double gap) {
  // Labels that touch form a block, which begins where the mean of its labels wants it.
  struct Block {
    double sum = 0;
    double count = 0;
    [[nodiscard]] double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  std::vector<double> offsets;
  double offset = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    offsets.push_back(offset);
    Block block{wanted[i] - offset, 1};
    while (!blocks.empty() && blocks.back().mean() > block.mean()) {
      block = {blocks.back().sum + block.sum, blocks.back().count + block.count};
      blocks.pop_back();
    }
    blocks.push_back(block);
    offset += sizes[i] + gap;
  }
  const double last = std::max(low, high - (offset - gap));
  std::vector<double> places;
  for (const Block& block : blocks) {
    for (double label = 0; label < block.count; ++label) {
      places.push_back(std::clamp(block.mean(), low, last) + offsets[places.size()]);
    }
  }
  return places;
}

void draw_side_labels(Canvas& canvas, const Box& room, std::vector<SideLabel> labels) {
  constexpr double line_height = 15;
  constexpr double leader = 12;
  std::ranges::stable_sort(labels, {}, [](const SideLabel& label) { return label.at.y; });
  const auto columns = static_cast<std::size_t>((room.width - leader) / glyph);
  std::vector<std::vector<std::string>> texts;
  std::vector<double> wanted;
  std::vector<double> heights;
  for (const SideLabel& label : labels) {
    std::istringstream text(wrapped(label.text, columns, 0));
    std::vector<std::string>& lines = texts.emplace_back();
    for (std::string line; std::getline(text, line);) lines.push_back(cut_to_width(line, columns));
    heights.push_back(line_height * static_cast<double>(lines.size()));
    wanted.push_back(label.at.y - line_height / 2);  // its first line beside what it names
  }
  const std::vector<double> places = spread(wanted, heights, room.y, room.y + room.height, 2);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double y = places[i];
    if (!labels[i].stroke.empty()) {
      canvas.line(labels[i].at, {room.x + leader - 3, y + line_height / 2}, labels[i].stroke);
    }
    for (const std::string& line : texts[i]) {
      canvas.text({room.x + leader, y + 12}, line, Anchor::start, labels[i].classes,
                  labels[i].title);
      y += line_height;
    }
  }
}

double draw_legend(Canvas& canvas, Point at, double width,
                   const std::vector<LegendEntry>& entries) {
  double x = at.x;
  for (const LegendEntry& entry : entries) {
    const double need = 22 + glyph * static_cast<double>(display_width(entry.text)) + 14;
    if (x > at.x && x + need > at.x + width) {
      x = at.x;
      at.y += 18;
    }
    canvas.rect({x, at.y - 9, 12, 10}, entry.classes);
    canvas.text({x + 17, at.y}, entry.text);
    x += need;
  }
  return at.y + 18;
}

}  // namespace dlscale::report::figure
