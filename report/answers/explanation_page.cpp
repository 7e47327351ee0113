#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/plan_names.hpp"
#include "report/figure/stacked_bars.hpp"

namespace dlscale::report {
namespace {

/// A change of a training, and what it would bring.
struct ExplainedChange {
  std::string change;
  /// Relative change of samples a second, 0.1 for 10 % more; absent if unknown, or if the training
  /// now waits for memory that it lacks.
  std::optional<double> gain = {};
  std::optional<double> seconds = {};  ///< of an iteration
  std::string fits = {};               ///< "yes", "unsure"; empty without plans
  std::string why_not = {};            ///< a reason against it
};

/// The explanation of one training.
struct Explained {
  std::string network;
  std::string cluster;
  std::string place;                     ///< "16 ranks", "64 ranks with tensor 4"
  Json iteration;                        ///< "t_iter_s" and its interval
  std::string bound;                     ///< "compute", "products (52.9 % of it)"
  std::vector<ExplainedChange> changes;  ///< the best first
  double lacking = 0;                    ///< bytes that its fullest rank lacks
};

std::vector<ExplainedChange> changes_of_run(const Json& one) {
  const double now = one.at("prediction").at("images_per_s").get<double>();
  std::vector<ExplainedChange> changes;
  for (const Json& advice : one.at("advice")) {
    ExplainedChange change{advice.at("change").get<std::string>()};
    if (const auto rate = number_in(advice, "images_per_s")) change.gain = *rate / now - 1;
    change.seconds = number_in(advice, "t_iter_s");
    const Json& reason = advice.at("why_not");
    if (reason.is_string()) change.why_not = reason.get<std::string>();
    changes.push_back(std::move(change));
  }
  return changes;
}

Explained explained_run(const Json& one) {
  const Json& prediction = one.at("prediction");
  const Json& run = prediction.at("run");
  return {run.at("network").get<std::string>(),
          run.at("cluster").get<std::string>(),
          counted(run.at("ranks").get<long long>(), "rank"),
          {{"t_iter_s", prediction.at("time").at("t_iter_s")},
           {"t_iter_low_s", prediction.at("t_iter_low_s")},
           {"t_iter_high_s", prediction.at("t_iter_high_s")}},
          prediction.at("bound").get<std::string>(),
          changes_of_run(one)};
}

Explained explained_plan(const Json& one) {
  std::vector<ExplainedChange> changes;
  for (const Json& each : one.at("improvements")) {
    changes.push_back({each.at("change").get<std::string>(), number_in(each, "gain"),
                       number_in(each, "t_iter_s"), each.at("fits").get<std::string>()});
  }
  const Json& parts = one.at("parts");
  const Json& most =
      *std::max_element(parts.begin(), parts.end(), [](const Json& a, const Json& b) {
        return a.at("share").get<double>() < b.at("share").get<double>();
      });
  return {one.at("network").get<std::string>(),
          one.at("cluster").get<std::string>(),
          fmt::format("{} with {}", counted(one.at("gpus").get<long long>(), "rank"),
                      PlanNames(Json::array({one}))(one)),
          one,
          fmt::format("{} ({} of it)", most.at("part").get<std::string>(),
                      percent(most.at("share").get<double>())),
          std::move(changes),
          std::max(0.0, -number_in(one, "free_bytes").value_or(0))};
}

Explained explained(const Json& one) {
  return one.contains("prediction") ? explained_run(one) : explained_plan(one);
}

/// Plans list changes that help alone, also those whose gain is unknown.
bool does_help(const ExplainedChange& change) {
  if (!change.gain) return change.seconds && !change.fits.empty();
  return *change.gain > 0 && change.why_not.empty();
}

/// "+4.2 %" of samples a second, or the time of an iteration.
std::string gain_text(const ExplainedChange& change) {
  return change.gain ? signed_percent(*change.gain) : to_text(Seconds(*change.seconds));
}

const char* gain_words(const ExplainedChange& change) {
  return change.gain ? "samples a second" : "an iteration";
}

std::vector<ExplainedChange> helpful(const Explained& one) {
  std::vector<ExplainedChange> changes;
  std::ranges::copy_if(one.changes, std::back_inserter(changes), does_help);
  std::ranges::stable_sort(changes, std::greater{},
                           [](const ExplainedChange& change) { return change.gain.value_or(0); });
  return changes;
}

std::string explanation_verdict(const Explained& one) {
  const std::string lacks =
      one.lacking > 0
          ? fmt::format("; it does not fit: the fullest rank lacks {}", gigabytes(one.lacking))
          : "";
  const std::string now = fmt::format("an iteration takes {} on {}, bound by {}{}",
                                      iteration_text(one.iteration), one.place, one.bound, lacks);
  const std::vector<ExplainedChange> changes = helpful(one);
  if (changes.empty()) return fmt::format("No change that was tried helps: {}.", now);
  const ExplainedChange& best = changes.front();
  return fmt::format("Most helps: {}, {} {}{}. Now {}.", best.change, gain_text(best),
                     gain_words(best), best.fits == "unsure" ? ", if it fits the memory" : "", now);
}

std::vector<Tile> explanation_tiles(const Explained& one) {
  std::vector<Tile> tiles{
      {"Iteration now", to_text(Seconds(one.iteration.at("t_iter_s").get<double>())),
       iteration_detail(one.iteration), Tone::plain},
      {"Bound by", one.bound, "on " + one.place, Tone::plain}};
  const std::vector<ExplainedChange> changes = helpful(one);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, changes.size()); ++i) {
    tiles.push_back({changes[i].change, gain_text(changes[i]), gain_words(changes[i]), Tone::good});
  }
  if (changes.empty()) {
    tiles.push_back(
        {"Changes that help", "0", fmt::format("of {} tried", one.changes.size()), Tone::plain});
  }
  return tiles;
}

/// The rate after each change that helps, the rate now being 1.
std::optional<Figure> changes_figure(const Explained& one) {
  figure::StackedBars bars{"changes", "Samples a second after one change",
                           "samples a second, × those of now (higher is better)", ""};
  bars.unit = "×";
  bars.factor = 1;
  bars.remarks = "fits";
  bars.bars.push_back({"", "now", {{"samples a second", 1}}});
  for (const ExplainedChange& change : helpful(one)) {
    if (!change.gain) continue;
    bars.bars.push_back(
        {signed_percent(*change.gain), change.change, {{"samples a second", 1 + *change.gain}}});
    bars.bars.back().remark = change.fits == "unsure" ? "may not fit" : "";
  }
  return figure::stacked_bars(bars);
}

Table changes_table(const Explained& one) {
  Table table{"Changes on " + one.place,
              {{"change", Align::left},
               {"samples a second"},
               {"iteration"},
               {"fits", Align::left},
               {"against it", Align::left}},
              {},
              {"One thing is changed at a time and predicted anew."}};
  for (const ExplainedChange& change : one.changes) {
    table.rows.push_back({{change.change},
                          {change.gain ? signed_percent(*change.gain) : "–"},
                          {change.seconds ? to_text(Seconds(*change.seconds)) : "–"},
                          {change.fits},
                          {change.why_not}});
  }
  return table;
}

/// A list of an explanation, with the columns of its table.
struct ExplainedList {
  const char* key;
  const char* title;
  std::vector<std::string> columns;
};

std::vector<ExplainedList> explained_lists() {
  return {{"parts",
           "Where the time goes",
           {"part", "kind", "time_s", "busy_s", "share", "t_iter_without_s"}},
          {"inputs", "A tenth better or worse", {"input", "t_iter_better_s", "t_iter_worse_s"}},
          {"groups", "Groups of ranks", {"group", "ranks", "nodes", "ranks_on_node", "link"}},
          {"stages",
           "Stages",
           {"stage", "forward_s", "backward_s", "recompute_s", "layer_messages_s",
            "stage_messages_s", "fill_s", "wait_s", "drain_s", "gradients_s", "update_s"}}};
}

/// A section for each list that the explanations have, with a table an explanation.
std::vector<Section> explanation_sections(const Json& explanations) {
  Section changes{"changes-tried", "All changes that were tried", {}};
  for (const Json& one : explanations) changes.blocks.emplace_back(changes_table(explained(one)));
  std::vector<Section> sections{std::move(changes)};
  for (const ExplainedList& each : explained_lists()) {
    Section section{each.key, each.title, {}};
    for (const Json& one : explanations) {
      const auto list = one.find(each.key);
      if (list == one.end() || list->empty()) continue;
      section.blocks.emplace_back(table_of_objects(
          *list, fmt::format("{}: {}", each.title, explained(one).place), each.columns));
    }
    if (!section.blocks.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

/// The notes of predictions, each once.
Section explanation_notes(const Json& answer) {
  Section notes = notes_section(answer);
  auto& lines = std::get<Items>(notes.blocks.front()).lines;
  for (const Json& one : answer.at("explanations")) {
    if (!one.contains("prediction")) continue;
    for (const Json& note : one.at("prediction").at("notes")) {
      const auto text = note.at("text").get<std::string>();
      if (std::ranges::find(lines, text) == lines.end()) lines.push_back(text);
    }
  }
  return notes;
}

Page page_of_explanations(const Json& answer) {
  const Json& explanations = answer.at("explanations");
  const Explained last = explained(explanations.back());
  Page page = explanation_opening(answer);
  page.data = sheet_badge(answer, last.iteration);
  page.data_section = "notes";
  if (auto figure = changes_figure(last)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = explanation_sections(explanations);
  page.sections.push_back(explanation_notes(answer));
  return page;
}

}  // namespace

Page explanation_opening(const Json& answer) {
  const Explained last = explained(answer.at("explanations").back());
  Page page;
  page.kind = "explanation";
  page.question = fmt::format("What would train {} faster on {}?", last.network, last.cluster);
  page.verdict = explanation_verdict(last);
  page.tiles = explanation_tiles(last);
  return page;
}

AnswerPage explanation_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "explanations", [](const Json& answer) {
    AnswerPage made{page_of_explanations(answer), {}};
    made.document.records.columns = {{"place", Align::left, Meaning::key},
                                     {"change", Align::left, Meaning::key},
                                     {"gain", Align::right, Meaning::value}};
    for (const Json& each : answer.at("explanations")) {
      const Explained one = explained(each);
      made.document.tables.push_back(changes_table(one));
      for (const ExplainedChange& change : one.changes) {
        made.document.records.rows.push_back(
            {{one.place}, {change.change}, {change.gain ? exact(*change.gain) : ""}});
      }
    }
    return made;
  });
}

}  // namespace dlscale::report
