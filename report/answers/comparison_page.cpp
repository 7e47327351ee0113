#include "report/answers/comparison_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/comparison_names.hpp"
#include "report/comparison/common_change.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/comparison/row_words.hpp"
#include "report/figure/comparison_figures.hpp"
#include "report/figure/waterfall.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

/// A row of the answer, under the part of its key that not all rows share.
struct ComparedRow {
  std::string name;
  double a = 0;  ///< s
  double b = 0;
  double ratio = 1;
  std::optional<double> low;
  std::optional<double> high;
  std::string verdict;
  std::string method;
  bool judged = true;
  bool of_one_launch = false;  ///< of a side; unknown in answers of earlier versions
  std::string held_by = {};    ///< "family", "place" or "rounding" where the verdict is withheld
  bool counted = true;         ///< by the verdict
};

int urgency(const ComparedRow& row) {
  constexpr std::array<std::string_view, 5> order{"wrong", "regressed", "improved", "inconclusive",
                                                  "unchanged"};
  return static_cast<int>(std::ranges::find(order, row.verdict) - order.begin());
}

double size_of(const ComparedRow& row) {
  return row.ratio > 0 ? std::abs(std::log(row.ratio)) : 0;
}

/// "A (results/old)"; "A" in answers of earlier versions, which do not name it.
std::string side_of(const Json& answer, const char* key, const char* letter) {
  return side_name(letter, answer.value(key, letter));
}

/// Counts the judged rows of several launches; all where these do not give the verdict.
void choose_counted(const std::string& verdict, std::vector<ComparedRow>& rows) {
  const auto gives = [&verdict](const ComparedRow& row) {
    return row.counted && row.verdict == verdict;
  };
  for (ComparedRow& row : rows) row.counted = row.judged && !row.of_one_launch;
  if (std::ranges::any_of(rows, gives)) return;
  for (ComparedRow& row : rows) row.counted = row.judged;
}

/// Rows that regressed first, the largest change first among equals.
std::vector<ComparedRow> compared_rows(const Json& answer) {
  const std::map<std::string, std::string> names = row_names(answer);
  std::vector<ComparedRow> rows;
  for (const Json& row : answer.at("rows")) {
    rows.push_back({names.at(full_name(row)), row.at("a_s").get<double>(),
                    row.at("b_s").get<double>(), row.at("ratio").get<double>(),
                    number_in(row, "ratio_low"), number_in(row, "ratio_high"),
                    row.at("verdict").get<std::string>(), row.at("method").get<std::string>(),
                    row.at("role").get<std::string>() == "judged", row.value("launches", 0) == 1});
    const Json held = row.value("held_by", Json());  // absent in answers of earlier versions
    if (held.is_string()) rows.back().held_by = held.get<std::string>();
  }
  choose_counted(answer.at("verdict").get<std::string>(), rows);
  std::ranges::stable_sort(rows, [](const ComparedRow& a, const ComparedRow& b) {
    return std::pair(urgency(a), -size_of(a)) < std::pair(urgency(b), -size_of(b));
  });
  return rows;
}

/// The change that the counted rows have in common; absent in answers of earlier versions.
std::optional<CommonChange> common_of(const Json& answer, const std::vector<ComparedRow>& rows) {
  const Json common = answer.value("common_change", Json());
  if (common.is_null()) return {};
  CommonChange found{common.at("ratio").get<double>(), common.at("ratio_low").get<double>(),
                     common.at("ratio_high").get<double>(), common.at("rows").get<std::size_t>(),
                     common.at("explained").get<std::size_t>(),
                     common.at("explains").get<bool>()};
  const auto counted = std::ranges::count_if(rows, &ComparedRow::counted);
  return std::cmp_equal(counted, found.rows) ? std::optional(found) : std::nullopt;
}

/// Whether one change explains the counted rows, which the machine may have made.
bool is_common(const Json& answer, const std::vector<ComparedRow>& rows) {
  const std::optional<CommonChange> common = common_of(answer, rows);
  return common && common->explains;
}

/// "the time of an iteration"; "time" if rows are of other series too.
std::string measured_in(const Json& answer) {
  const Json& rows = answer.at("rows");
  const bool is_of_iterations = std::all_of(rows.begin(), rows.end(), [](const Json& row) {
    return row.at("series") == "t_iter" || row.at("role") != "judged";
  });
  return is_of_iterations ? "time of an iteration" : "time";
}

long long count_of(const std::vector<ComparedRow>& rows, std::string_view verdict) {
  return std::ranges::count_if(
      rows, [verdict](const ComparedRow& row) { return row.counted && row.verdict == verdict; });
}

const ComparedRow* first_of(const std::vector<ComparedRow>& rows, std::string_view verdict) {
  const auto found = std::ranges::find_if(
      rows, [verdict](const ComparedRow& row) { return row.counted && row.verdict == verdict; });
  return found == rows.end() ? nullptr : &*found;
}

std::string ratio_interval(const ComparedRow& row) {
  if (!row.low || !row.high) return "unknown";
  return changes_from_to(row.low, row.high);
}

std::string change_text(const ComparedRow& row) {
  return fmt::format("{} by {} (95 % interval {})", row.name, signed_percent(row.ratio - 1),
                     ratio_interval(row));
}

std::string withheld_because(const Json& answer) {
  if (answer.at("place_differences").empty()) return "the intervals are too wide";
  return "A and B were measured at different places: " +
         answer.at("place_differences").at(0).get<std::string>();
}

/// Whether rows of one launch alone give the verdict.
bool rests_on_one_launch(const Json& answer, const std::vector<ComparedRow>& rows) {
  const auto verdict = answer.at("verdict").get<std::string>();
  if (verdict != "regressed" && verdict != "improved") return false;
  return std::ranges::none_of(rows, [&verdict](const ComparedRow& row) {
    return row.judged && !row.of_one_launch && row.verdict == verdict;
  });
}

/// Keys that could not be compared, for other reasons than a wrong answer.
std::size_t not_compared(const Json& answer) {
  const std::size_t all = answer.at("not_compared").size();
  return all - std::min(all, answer.at("wrong").size());
}

/// The answer where the verdict is inconclusive, and its reasons.
std::string open_verdict(const Json& answer, const std::vector<ComparedRow>& rows) {
  const long long open = count_of(rows, "inconclusive");
  const auto number = std::ranges::count_if(rows, &ComparedRow::counted);
  if (open == 0) {
    const std::string others = number == 0   ? "nothing else was measured in both"
                               : number == 1 ? "the other did not regress"
                                             : fmt::format("none of {} others regressed", number);
    return fmt::format("Not known: {} could not be compared; {}.",
                       counted(static_cast<long long>(not_compared(answer)), "measurement"),
                       others);
  }
  const auto held = [&rows](std::string_view why) {
    return std::ranges::count_if(
        rows, [why](const ComparedRow& row) { return row.counted && row.held_by == why; });
  };
  const WithheldRows withheld{held("family"), held("rounding")};
  const long long wide = open - withheld.by_family - withheld.by_rounding;
  std::string reasons = withheld_text(withheld, answer.at("margin").get<double>(), "measurement");
  if (wide == open || !answer.at("place_differences").empty()) {
    reasons = ", since " + withheld_because(answer);
  } else if (wide > 0) {
    reasons += fmt::format(". {} {} too wide", counted(wide, "interval"), wide == 1 ? "is" : "are");
  }
  return fmt::format("Not known: {} of {} {} inconclusive{}.", open,
                     counted(number, "measurement"), open == 1 ? "is" : "are", reasons);
}

/// " Not counted: 2 not compared, 12 not measured in B."
std::string not_counted(const Json& answer, const std::vector<ComparedRow>& rows) {
  const bool is_in_verdict =
      answer.at("verdict") == "inconclusive" && count_of(rows, "inconclusive") == 0;
  const std::string text = left_out_text(0, is_in_verdict ? 0 : not_compared(answer),
                                         answer.at("missing").size());
  return text.empty() ? "" : fmt::format(" Not counted: {}.", text);
}

/// The answer by the rows that it counts.
std::string counted_verdict(const Json& answer, const std::vector<ComparedRow>& rows) {
  const auto verdict = answer.at("verdict").get<std::string>();
  const auto number = std::ranges::count_if(rows, &ComparedRow::counted);
  const std::string all = counted(number, "measurement");
  if (verdict == "wrong") {
    return fmt::format("{} is wrong: {} from the reference.", side_of(answer, "b", "B"),
                       counted(std::ssize(answer.at("wrong")), "answer") +
                           (answer.at("wrong").size() == 1 ? " differs" : " differ"));
  }
  const bool is_of_one = rests_on_one_launch(answer, rows);
  if (is_common(answer, rows)) {
    const std::string_view answers = verdict == "regressed"      ? "Slower, by the version or by the machine"
                                     : verdict == "inconclusive" ? "Not known"
                                                                 : "No";
    return fmt::format("{}: {}.", answers, common_sentence(*common_of(answer, rows)));
  }
  if (const ComparedRow* worst = first_of(rows, "regressed"); worst != nullptr) {
    return fmt::format("{}: {} of {} regressed in {}, most of all {}.",
                       is_of_one ? "Maybe, if one launch is enough" : "Yes",
                       count_of(rows, "regressed"), all, side_of(answer, "b", "B"),
                       change_text(*worst));
  }
  if (verdict == "inconclusive") {
    return open_verdict(answer, rows);
  }
  if (const ComparedRow* best = first_of(rows, "improved"); best != nullptr) {
    return fmt::format("No{}: {} of {} improved in {}, most of all {}.",
                       is_of_one ? ", if one launch is enough" : "", count_of(rows, "improved"),
                       all, side_of(answer, "b", "B"), change_text(*best));
  }
  return fmt::format("No: none of {} changed by {} or more.", all,
                     percent(answer.at("margin").get<double>()));
}

/// How many rows rest on one launch of a side, and whether the verdict counts them.
std::string launches_text(const std::vector<ComparedRow>& rows) {
  const auto of_one = [&rows](bool counted) {
    return std::ranges::count_if(rows, [counted](const ComparedRow& row) {
      return row.judged && row.of_one_launch && row.counted == counted;
    });
  };
  const bool is_counted = of_one(true) > 0;
  const long long number = of_one(is_counted);
  if (number == 0) return "";
  return fmt::format(" {} {}{} on one launch of a side, whose intervals are too narrow.",
                     grouped(number), is_counted ? "" : "more ", number == 1 ? "rests" : "rest");
}

std::vector<std::string> changed_environment(const Json& answer) {
  return answer.value("changed_environment", std::vector<std::string>());
}

std::string comparison_verdict(const Json& answer, const std::vector<ComparedRow>& rows) {
  std::string text = counted_verdict(answer, rows);
  const auto changed = changed_environment(answer);
  if (!changed.empty() && !is_common(answer, rows)) {  // else the badge says so
    text += fmt::format(" Measured in {}, so a change may not be of the versions.",
                        different_environments(changed));
  }
  return text + not_counted(answer, rows) + launches_text(rows);
}

Tone tone_of_answer(const Json& answer, const std::vector<ComparedRow>& rows) {
  const auto verdict = answer.at("verdict").get<std::string>();
  const bool is_doubtful = is_common(answer, rows) || rests_on_one_launch(answer, rows);
  if (verdict != "wrong" && is_doubtful) return Tone::caution;
  if (verdict == "wrong" || verdict == "regressed") return Tone::bad;
  const bool is_partial = !answer.at("missing").empty();
  return verdict == "inconclusive" || is_partial ? Tone::caution : Tone::good;
}

Tile count_tile(const std::vector<ComparedRow>& rows, const char* name, std::string_view verdict,
                Tone tone) {
  const long long count = count_of(rows, verdict);
  const ComparedRow* first = first_of(rows, verdict);
  return {name, fmt::format("{} of {}", count, std::ranges::count_if(rows, &ComparedRow::counted)),
          first == nullptr ? "" : change_text(*first), count > 0 ? tone : Tone::plain};
}

/// The median change of the counted rows.
Tile typical_tile(const Json& answer, const std::vector<ComparedRow>& rows) {
  std::vector<double> ratios;
  for (const ComparedRow& row : rows) {
    if (row.counted && row.ratio > 0) ratios.push_back(row.ratio);
  }
  const std::optional<CommonChange> common = common_of(answer, rows);
  const std::string interval =
      common ? fmt::format("95 % interval {}; ", changes_from_to(common->low, common->high)) : "";
  return {"Median change in " + measured_in(answer),
          ratios.empty() ? "–" : signed_percent(median(ratios) - 1), interval + "+ is slower",
          Tone::plain};
}

/// The counts of verdicts, which add up; at most five tiles.
std::vector<Tile> comparison_tiles(const Json& answer, const std::vector<ComparedRow>& rows) {
  const Tone slower = is_common(answer, rows) ? Tone::caution : Tone::bad;
  std::vector<Tile> tiles{count_tile(rows, "Regressed", "regressed", slower),
                          count_tile(rows, "Improved", "improved", Tone::good)};
  for (const auto& [name, verdict, tone] :
       {std::tuple("Inconclusive", "inconclusive", Tone::caution),
        std::tuple("Unchanged", "unchanged", Tone::plain)}) {
    if (count_of(rows, verdict) > 0) tiles.push_back(count_tile(rows, name, verdict, tone));
  }
  const std::size_t missing = answer.at("missing").size();
  if (missing > 0) {
    tiles.push_back(
        {"Not measured in B", std::to_string(missing), "that A measured", Tone::caution});
  }
  constexpr std::size_t most = 5;
  if (tiles.size() < most) tiles.push_back(typical_tile(answer, rows));
  return tiles;
}

std::optional<Figure> changes_figure(const Json& answer, const std::vector<ComparedRow>& rows) {
  std::vector<figure::ForestRow> drawn;
  for (const ComparedRow& row : rows) {
    if (!row.judged || !(row.ratio > 0)) continue;
    drawn.push_back({row.name, row.ratio, row.low, row.high, row.verdict,
                     row.verdict == "regressed", row.verdict == "improved"});
  }
  return figure::forest(drawn, answer.at("margin").get<double>(), "95 % interval",
                        measured_in(answer));
}

/// The training that changed most, part by part.
std::optional<Figure> parts_waterfall(const Json& answer) {
  const Json* most = nullptr;
  const auto size = [](const Json& one) { return std::abs(one.at("change").get<double>()); };
  for (const Json& one : answer.at("attributions")) {
    if (most == nullptr || size(one) > size(*most)) most = &one;
  }
  if (most == nullptr) return {};
  const auto key = most->at("key").get<std::string>();
  const auto names = row_names(answer);
  const auto name = names.find(key);
  figure::Waterfall all{name == names.end() ? key : name->second,
                        most->at("before_s").get<double>(), most->at("after_s").get<double>()};
  for (const Json& part : most->at("parts")) {
    const double before = all.before;
    figure::WaterfallStep step{std::string(phase_word(part.at("part").get<std::string>())),
                               before * part.at("share").get<double>()};
    if (const auto low = number_in(part, "share_low")) step.low = before * *low;
    if (const auto high = number_in(part, "share_high")) step.high = before * *high;
    all.steps.push_back(std::move(step));
  }
  return figure::waterfall(all);
}

Tone tone_of_word(std::string_view verdict) {
  if (verdict == "regressed" || verdict == "wrong") return Tone::bad;
  if (verdict == "improved") return Tone::good;
  return verdict == "inconclusive" ? Tone::caution : Tone::plain;
}

Table rows_table(const Json& answer, const std::vector<ComparedRow>& rows) {
  const std::string a = side_of(answer, "a", "A");
  const std::string b = side_of(answer, "b", "B");
  Table table{fmt::format("{} against {}, what regressed first", b, a),
              {{"measurement", Align::left},
               {"verdict", Align::left},
               {a},
               {b},
               {"change"},
               {"95 % interval"},
               {"", Align::left}},
              {},
              {fmt::format("changes within {} do not matter; less time is better",
                           percent(answer.at("margin").get<double>()))}};
  table.columns.back().heading = "from";
  for (const auto& [benchmark, words] : shared_words(full_names(answer))) {
    if (!words.empty()) {
      table.notes.push_back(fmt::format("all of {}: {}", benchmark, fmt::join(words, " ")));
    }
  }
  for (const ComparedRow& row : rows) {
    table.rows.push_back({{row.judged ? row.name : row.name + " (detail)"},
                          {row.verdict, tone_of_word(row.verdict)},
                          {to_text(Seconds(row.a))},
                          {to_text(Seconds(row.b))},
                          {signed_percent(row.ratio - 1)},
                          {ratio_interval(row)},
                          {row.method}});
  }
  return table;
}

/// Sentences on each training in both.
Items attribution_items(const Json& answer) {
  Items items;
  for (const Json& one : answer.at("attributions")) {
    items.lines.push_back(fmt::format("{}: {}", one.at("key").get<std::string>(),
                                      one.at("sentence").get<std::string>()));
  }
  return items;
}

void append_list(Page& page, const char* id, const char* title, const Json& lines) {
  if (lines.empty()) return;
  page.sections.push_back({id, title, {Items{lines.get<std::vector<std::string>>()}}});
}

Badge comparison_badge(const Json& answer, const std::vector<ComparedRow>& rows) {
  if (!answer.at("place_differences").empty()) {
    return doubtful_data(withheld_because(answer) + ".");
  }
  if (is_common(answer, rows)) {
    const auto changed = changed_environment(answer);
    if (!changed.empty()) {
      return usable_data(
          fmt::format("A and B were measured in {}.", different_environments(changed)));
    }
    return usable_data("nothing here shows that the machine kept its speed between A and B.");
  }
  const std::size_t differences = answer.at("environment_differences").size();
  if (differences == 0) return good_data("A and B were measured in one environment.");
  return usable_data(counted(static_cast<long long>(differences), "fact") + " of the environment " +
                     (differences == 1 ? "differs." : "differ."));
}

/// Whether one training regressed, so that its parts say more than all changes.
bool is_about_parts(const std::vector<ComparedRow>& rows) {
  return std::ranges::count_if(rows, &ComparedRow::judged) < 3 && count_of(rows, "regressed") > 0;
}

void add_figures(Page& page, const Json& answer, const std::vector<ComparedRow>& rows) {
  std::vector<std::optional<Figure>> figures{changes_figure(answer, rows), parts_waterfall(answer)};
  if (is_about_parts(rows)) std::ranges::reverse(figures);
  for (std::optional<Figure>& figure : figures) {
    if (figure) page.figures.push_back(std::move(*figure));
  }
  page.picture = page.figures.empty() ? "" : page.figures.front().name;
}

Page page_of_comparison(const Json& answer, const std::vector<ComparedRow>& rows) {
  Page page;
  page.kind = "comparison";
  page.question =
      fmt::format("Is {} slower than {}?", side_of(answer, "b", "B"), side_of(answer, "a", "A"));
  page.verdict = comparison_verdict(answer, rows);
  page.tone = tone_of_answer(answer, rows);
  page.tiles = comparison_tiles(answer, rows);
  page.data = comparison_badge(answer, rows);
  if (!answer.at("environment_differences").empty()) page.data_section = "environment";
  add_figures(page, answer, rows);
  page.sections.push_back({"changes", "What changed", {FigureSlot{"forest"}}});
  page.sections.back().blocks.emplace_back(rows_table(answer, rows));
  if (Items items = attribution_items(answer); !items.lines.empty()) {
    page.sections.push_back(
        {"parts", "Where iterations changed", {FigureSlot{"waterfall"}, std::move(items)}});
  }
  append_list(page, "not-compared", "Not compared", answer.at("not_compared"));
  append_list(page, "missing", "Not measured in B", answer.at("missing"));
  append_list(page, "only-b", "Only in B", answer.at("only_b"));
  append_list(page, "environment", "Environments differ (A | B)",
              answer.at("environment_differences"));
  return page;
}

}  // namespace

AnswerPage comparison_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "comparisons", [](const Json& answer) {
    const std::vector<ComparedRow> rows = compared_rows(answer);
    AnswerPage made{page_of_comparison(answer, rows), {}};
    made.document.tables = {rows_table(answer, rows)};
    const std::vector<Json> all(answer.at("rows").begin(), answer.at("rows").end());
    made.document.records = records_of_objects(all, {"key", "series", "role"},
                                               {"a_s", "b_s", "ratio", "ratio_low", "ratio_high"});
    Column verdict{"verdict", Align::left, Meaning::state};
    verdict.states = {"improved", "unchanged", "regressed", "inconclusive", "wrong"};
    made.document.records.columns.push_back(std::move(verdict));
    for (std::size_t i = 0; i < all.size(); ++i) {
      made.document.records.rows[i].push_back({all[i].at("verdict").get<std::string>()});
    }
    return made;
  });
}

}  // namespace dlscale::report
