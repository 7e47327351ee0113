#include <algorithm>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/training_figures.hpp"
#include "report/results/step_parts.hpp"

namespace dlscale::report::figure {
namespace {

constexpr std::size_t most_bars = 64;
constexpr double step_bar = 15;
constexpr double left_of_steps = 150;
constexpr double right_of_steps = 70;

std::vector<StackPart> stacked_parts(const StepTimes& times) {
  std::vector<StackPart> parts;
  for (std::size_t i = 0; i < times.size(); ++i) {
    parts.push_back({std::string(step_part_words.at(i)), times.at(i)});
  }
  return parts;
}

/// Number of groups with a bar among the first `bars`.
std::size_t groups_drawn(const std::vector<StepParts>& groups, std::size_t bars) {
  std::size_t drawn = 0;
  for (std::size_t left_over = bars; left_over > 0 && drawn < groups.size(); ++drawn) {
    left_over -= std::min(left_over, groups[drawn].ranks.size());
  }
  return drawn;
}

void draw_group(Canvas& canvas, const Scale& x, const StepParts& group, std::size_t bars,
                double& y) {
  canvas.text({4, y + 9}, group.name, Anchor::start, "bold");
  y += 20;
  for (std::size_t rank = 0; rank < std::min(bars, group.ranks.size()); ++rank) {
    const std::string who = fmt::format("rank {} of {}", rank, group.ranks.size());
    canvas.text({left_of_steps - 8, y + 10}, who, Anchor::end, "soft");
    draw_stack(canvas, x, {left_of_steps, y, 0, step_bar - 3}, stacked_parts(group.ranks[rank]),
               who);
    y += step_bar;
  }
  y += 2;
}

std::vector<LegendEntry> legend() {
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < step_part_words.size(); ++i) {
    entries.push_back({std::string(step_part_words.at(i)), fill_class(i)});
  }
  return entries;
}

}  // namespace

std::optional<Figure> step_stack(std::span<const ResultFile> results) {
  std::vector<StepParts> groups = step_parts(results);
  if (groups.empty()) return {};
  std::ranges::stable_sort(groups, std::greater{},
                           [](const StepParts& group) { return group.ranks.size(); });
  std::size_t all_bars = 0;
  double longest = 0;
  for (const StepParts& group : groups) {
    all_bars += group.ranks.size();
    for (const auto& times : group.ranks) longest = std::max(longest, 1e3 * step_total(times));
  }
  const std::size_t bars = std::min(all_bars, most_bars);
  groups.resize(groups_drawn(groups, bars));
  const double height =
      76 + 22 * static_cast<double>(groups.size()) + step_bar * static_cast<double>(bars);
  Canvas canvas(figure_width, height);
  draw_legend(canvas, {left_of_steps, 14}, figure_width - left_of_steps, legend());
  const Frame frame =
      frame_in({left_of_steps, 26, figure_width - left_of_steps - right_of_steps, height - 26 - 46},
               {0, longest}, {0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {}, "mean time of a step, ms (more is worse)",
            "");
  double y = 30;
  std::size_t left_over = bars;
  for (const StepParts& group : groups) {
    draw_group(canvas, frame.x, group, left_over, y);
    left_over -= std::min(left_over, group.ranks.size());
  }
  std::string title = "Where the time of a step goes, rank by rank";
  if (bars < all_bars) title += fmt::format(" ({} more ranks are not drawn)", all_bars - bars);
  const std::string alt = fmt::format(
      "Stacked bars of the mean time of a step in milliseconds, a bar for each of {}: compute, "
      "exposed communication, input and other.",
      counted(static_cast<long long>(bars), "rank"));
  return Figure{"step_stack", title, alt, canvas.svg(title, alt), "step_stack.svg"};
}

}  // namespace dlscale::report::figure
