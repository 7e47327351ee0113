#include "report/sections/history_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "core/text/numbers.hpp"
#include "core/text/time_text.hpp"
#include "report/history/history_strips.hpp"
#include "report/history/history_table.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::MarkKind;
using history::SeriesKey;
using history::Strip;
using regression::ChangePoint;
using regression::ChangePoints;
using regression::Direction;
using regression::HistorySegment;
using regression::NewPoint;
using regression::Verdict;

/// A unit in which the values of a strip have few digits.
struct StripUnit {
  std::string name;
  double factor = 1;
};

StripUnit unit_of(const Strip& strip) {
  if (strip.key.unit != "s") return {strip.key.unit, 1};
  const double value = strip.commits.back().value;
  if (value < 1e-6) return {"ns", 1e9};
  if (value < 1e-3) return {"µs", 1e6};
  if (value < 1) return {"ms", 1e3};
  return {"s", 1};
}

/// The strips of the same suite and metric, which only their axes tell apart.
std::vector<const Strip*> alike(const Strip& strip, std::span<const Strip> strips) {
  std::vector<const Strip*> found;
  for (const Strip& each : strips) {
    const bool is_alike = each.key.suite == strip.key.suite && each.key.metric == strip.key.metric;
    if (is_alike) found.push_back(&each);
  }
  return found;
}

/// Names of the axes that tell the strips apart, as few and short ones as do.
std::set<std::string> telling_axes(const std::vector<const Strip*>& strips) {
  std::map<std::string, std::size_t> lengths;
  for (const Strip* strip : strips) {
    for (const auto& [name, value] : strip->key.axes) {
      lengths[name] = std::max(lengths[name], name.size() + value.size());
    }
  }
  std::vector<std::pair<std::size_t, std::string>> longest_first;
  std::set<std::string> telling;
  for (const auto& [name, length] : lengths) {
    longest_first.emplace_back(length, name);
    telling.insert(name);
  }
  std::ranges::sort(longest_first, std::greater{});
  const auto kinds = [&] {
    std::set<history::Facts> distinct;
    for (const Strip* strip : strips) {
      history::Facts axes = strip->key.axes;
      std::erase_if(axes, [&](const auto& axis) { return !telling.contains(axis.first); });
      distinct.insert(std::move(axes));
    }
    return distinct.size();
  };
  const std::size_t all = kinds();
  for (const auto& [length, name] : longest_first) {
    telling.erase(name);
    if (kinds() < all) telling.insert(name);
  }
  return telling;
}

/// "2. conv layer=res2a_branch2b": the number of a strip and what tells it from the others. The
/// time of a suite needs no metric. One strip alone has its full name.
std::string title_of(const Strip& strip, std::span<const Strip> strips, std::size_t number) {
  if (strips.size() == 1) return fmt::format("{}. {}", number, strip.key.name());
  const std::set<std::string> telling = telling_axes(alike(strip, strips));
  const bool is_of_all = std::ranges::all_of(
      strips, [&](const Strip& each) { return each.key.suite == strip.key.suite; });
  std::string title = fmt::format("{}.", number);
  if (!is_of_all || telling.empty()) title += " " + strip.key.suite;
  for (const auto& [axis, value] : strip.key.axes) {
    if (!telling.contains(axis)) continue;
    title += axis == "benchmark" ? " " + value : fmt::format(" {}={}", axis, value);
  }
  return strip.key.metric == "time" ? title : fmt::format("{}: {}", title, strip.key.metric);
}

std::vector<std::string> titles_of(std::span<const Strip> strips) {
  std::vector<std::string> titles;
  for (const Strip& strip : strips) titles.push_back(title_of(strip, strips, titles.size() + 1));
  return titles;
}

std::string direction_text(Direction direction) {
  switch (direction) {
    case Direction::smaller_is_better:
      return "lower is better";
    case Direction::larger_is_better:
      return "higher is better";
    case Direction::steady:
      return "should stay as it is";
  }
  return "";
}

/// "last 3 worse: no change yet"; empty if the latest commits are at the level.
std::string latest_text(const Strip& strip) {
  if (strip.latest_worse == 0) return "";
  return fmt::format("last {} worse: no change yet", strip.latest_worse);
}

bool is_improvement(const history::StripMark& mark) {
  return mark.movement == Verdict::improved;
}

char letter_of(MarkKind kind) {
  switch (kind) {
    case MarkKind::alert:
      break;  // has a word
    case MarkKind::annotation:
      return 'N';
    case MarkKind::environment:
      return 'E';
    case MarkKind::machine:
      return 'M';
  }
  return 'A';
}

/// "regressed", "E1", "N1": the labels of a strip's marks.
std::vector<std::string> mark_labels(const Strip& strip) {
  std::map<char, int> counts;
  std::vector<std::string> labels;
  for (const history::StripMark& mark : strip.marks) {
    const char letter = letter_of(mark.kind);
    labels.push_back(mark.movement ? std::string(verdict_name(*mark.movement))
                                   : fmt::format("{}{}", letter, ++counts[letter]));
  }
  return labels;
}

ChangePoints scaled(ChangePoints found, double factor) {
  for (HistorySegment& segment : found.segments) segment.level *= factor;
  for (ChangePoint& change : found.changes) {
    change.level_before *= factor;
    change.level_after *= factor;
  }
  for (double& mode : found.modes) mode *= factor;
  return found;
}

/// The median that results have for a strip's series, unless the history already has that run.
std::optional<double> reported_in(const HistoryView& view, const Strip& strip) {
  const auto found = std::ranges::find(view.reported, strip.series.back(), &ReportedValue::series);
  if (found == view.reported.end()) return std::nullopt;
  for (const history::CommitPoint& commit : strip.commits) {
    if (std::ranges::find(commit.runs, found->value) != commit.runs.end()) return std::nullopt;
  }
  return found->value;
}

figure::StripNote note_of(const history::StripMark& mark, const std::string& label) {
  using Kind = figure::StripNote::Kind;
  return {mark.at, label, mark.text,
          !mark.movement         ? Kind::other
          : is_improvement(mark) ? Kind::better
                                 : Kind::worse};
}

figure::StripRow row_of(const HistoryView& view, const Strip& strip, std::string title) {
  const StripUnit unit = unit_of(strip);
  const std::string number = title.substr(0, title.find(' ') + 1);
  figure::StripRow row{number + strip.key.name(),
                       unit.name,
                       {},
                       {},
                       scaled(strip.found, unit.factor),
                       direction_text(strip.key.direction),
                       {},
                       {},
                       std::move(title),
                       latest_text(strip)};
  for (const history::CommitPoint& commit : strip.commits) {
    row.values.push_back(commit.value * unit.factor);
    row.labels.push_back(
        fmt::format("{}, {}", short_commit(commit.commit), time_text(commit.time)));
  }
  const std::vector<std::string> labels = mark_labels(strip);
  for (std::size_t i = 0; i < strip.marks.size(); ++i) {
    row.notes.push_back(note_of(strip.marks[i], labels[i]));
  }
  if (const auto value = reported_in(view, strip)) row.reported = *value * unit.factor;
  return row;
}

/// Remarks on the levels of strips.
Items strip_remarks(const HistoryView& view, const std::vector<std::string>& names) {
  Items items;
  for (std::size_t i = 0; i < view.strips.size(); ++i) {
    for (const std::string& remark : view.strips[i].remarks) {
      items.lines.push_back(fmt::format("{}: {}", names[i], remark));
    }
  }
  return items;
}

Table marks_table(const HistoryView& view, const std::vector<std::string>& names) {
  Table table;
  table.title = "Marks of the strips";
  table.columns = {{"strip", Align::left},
                   {"mark", Align::left},
                   {"commit", Align::left},
                   {"time", Align::left},
                   {"what", Align::left}};
  for (std::size_t i = 0; i < view.strips.size(); ++i) {
    const Strip& strip = view.strips[i];
    const std::vector<std::string> labels = mark_labels(strip);
    for (std::size_t mark = 0; mark < strip.marks.size(); ++mark) {
      const history::CommitPoint& commit = strip.commits.at(strip.marks[mark].at);
      table.rows.push_back({{names[i]},
                            {labels[mark]},
                            {short_commit(commit.commit)},
                            {time_text(commit.time)},
                            {strip.marks[mark].text}});
    }
  }
  table.notes = {
      "N: what people said of a change; E: another environment, a new baseline; M: another host or "
      "kernel of the same class"};
  return table;
}

bool is_beyond(const ReportedValue& value) {
  const NewPoint& judged = value.kept->judged;
  return judged.has_bounds() && (value.value > judged.highest || value.value < judged.lowest);
}

Tone value_tone(const ReportedValue& value) {
  if (!is_beyond(value)) return Tone::plain;
  const bool larger = value.value > value.kept->judged.highest;
  if (value.key.direction == Direction::steady) return Tone::caution;
  return larger == (value.key.direction == Direction::larger_is_better) ? Tone::good : Tone::bad;
}

/// Results beside the levels of their series, largest difference first, details last.
Table reported_table(const HistoryView& view) {
  std::vector<const ReportedValue*> values;
  for (const ReportedValue& value : view.reported) {
    if (value.kept && value.kept->judged.has_bounds()) {
      values.push_back(&value);
    }
  }
  std::ranges::stable_sort(values, {}, [](const ReportedValue* value) {
    return std::pair(value->key.is_detail(),
                     -std::abs(std::log(value->value / value->kept->judged.level)));
  });
  Table table;
  table.title = "What is reported here, beside the level of its history";
  table.columns = {{"series", Align::left}, {"reported"}, {"level"},        {"against level"},
                   {"as before between"},   {"commits"},  {"", Align::left}};
  table.columns.back().heading = "remark";
  for (const ReportedValue* value : values) {
    const NewPoint& judged = value->kept->judged;
    table.rows.push_back({{value->key.name()},
                          {history_value(value->key, value->value)},
                          {history_value(value->key, judged.level)},
                          {signed_percent(value->value / judged.level - 1), value_tone(*value)},
                          {fmt::format("{} and {}", history_value(value->key, judged.lowest),
                                       history_value(value->key, judged.highest))},
                          {std::to_string(judged.history)},
                          {is_beyond(*value) ? "beyond" : ""}});
  }
  table.notes = {
      "level: the median of the commits since the last change; values between the bounds are as "
      "before (a robust prediction interval and the margin)"};
  return table;
}

/// Results without a history, and the differences of their environment.
Items unknown_items(const HistoryView& view) {
  std::map<std::string, long long> by_difference;
  long long never = 0;
  long long short_ones = 0;
  for (const ReportedValue& value : view.reported) {
    if (value.kept) {
      short_ones += value.kept->judged.has_bounds() ? 0 : 1;
    } else if (value.differs.empty()) {
      ++never;
    } else {
      ++by_difference[value.differs];
    }
  }
  const auto series = [](long long count) { return fmt::format("{} series", count); };
  Items items;
  for (const auto& [difference, count] : by_difference) {
    items.lines.push_back(
        fmt::format("{} of another environment than the history has last, so a new baseline: {}",
                    series(count), difference));
  }
  if (never > 0) {
    items.lines.push_back(fmt::format("{} that the history does not have; {} puts them there",
                                      series(never), view.commands.add));
  }
  if (short_ones > 0) {
    items.lines.push_back(series(short_ones) + " of too few commits to judge by");
  }
  return items;
}

/// Commands that search the range of an unreviewed alert for its commit.
Items bisect_items(const HistoryView& view) {
  Items items;
  for (const history::Alert& alert : view.report.alerts) {
    if (!alert.fails()) continue;
    items.lines.push_back(
        fmt::format("It changed after {} and at {} at the latest. Which commit it was: {}",
                    alert.before, alert.latest, view.commands.bisect(short_commit(alert.commit))));
  }
  return items;
}

void append_items(Section& section, Items items) {
  if (!items.lines.empty()) section.blocks.emplace_back(std::move(items));
}

void append_or_list(Section& section, Table table) {
  if (table.rows.size() > most_unfolded_rows) {
    append_folded(section, std::move(table));
  } else if (!table.rows.empty()) {
    section.blocks.emplace_back(std::move(table));
  } else if (!table.notes.empty()) {
    section.blocks.emplace_back(Paragraph{table.title + ":"});
    section.blocks.emplace_back(Items{std::move(table.notes)});
  }
}

}  // namespace

std::optional<Figure> history_figure(const HistoryView& view) {
  const std::vector<std::string> names = titles_of(view.strips);
  std::vector<figure::StripRow> rows;
  for (std::size_t i = 0; i < view.strips.size(); ++i) {
    rows.push_back(row_of(view, view.strips[i], names[i]));
  }
  return figure::history_strips(rows);
}

std::string name_in_strips(const HistoryView& view, const std::string& series) {
  if (view.strips.size() == 1) return "the series below";
  for (std::size_t i = 0; i < view.strips.size(); ++i) {
    const Strip& strip = view.strips[i];
    if (std::ranges::find(strip.series, series) == strip.series.end()) continue;
    const std::string title = title_of(strip, view.strips, i + 1);
    return fmt::format("series {} ({})", i + 1, title.substr(title.find(' ') + 1));
  }
  return "";
}

Section history_section(const HistoryView& view) {
  Section section{"history", "History", {}};
  if (view.report.series.empty()) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("Nothing of what is reported here is in {} yet. {} puts it there.",
                              view.report.store, view.commands.add)});
    return section;
  }
  const Document document = history_check_document(view.report);
  section.blocks.emplace_back(Paragraph{fmt::format("{}: {}.", view.report.store, document.lead)});
  append_items(section, bisect_items(view));
  if (Table table = reported_table(view); !table.rows.empty())
    append_or_list(section, std::move(table));
  append_items(section, unknown_items(view));
  for (const Table& table : document.tables) append_or_list(section, table);
  section.blocks.emplace_back(FigureSlot{"history"});
  const std::vector<std::string> names = titles_of(view.strips);
  append_items(section, strip_remarks(view, names));
  append_folded(section, marks_table(view, names));
  return section;
}

}  // namespace dlscale::report
