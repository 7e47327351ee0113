#include "report/prediction/explanation_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::Advice;
using model::Explanation;
using model::PartOfIteration;
using model::Sensitivity;

/// Fraction of the iteration below which a change counts as none.
constexpr double nothing = 0.00005;

double change_to(const Explanation& explanation, Seconds iteration) {
  const Seconds total = explanation.prediction.time.total;
  return (iteration - total) / total;
}

double gain_of(const Explanation& explanation, const Advice& advice) {
  return advice.images_per_s / explanation.prediction.images_per_s - 1;
}

bool input_has_effect(const Explanation& explanation, const Sensitivity& input) {
  return std::abs(change_to(explanation, input.better)) >= nothing ||
         std::abs(change_to(explanation, input.worse)) >= nothing;
}

/// "alexnet on p40x16, …, 16 ranks".
std::string explanation_title(const Explanation& explanation, std::string_view what) {
  const Run& run = explanation.prediction.run;
  return fmt::format("{}: {}, {}", what, run_title(run, samples_of(explanation.prediction)),
                     counted(run.ranks, "rank"));
}

/// The change of the iteration as a time.
template <class Row>
auto change_by(const Explanation& explanation, Seconds Row::*iteration) {
  return
      [&explanation, iteration](const Row& row) { return change_to(explanation, row.*iteration); };
}

Fields<PartOfIteration> part_fields(const Explanation& explanation) {
  using F = Field<PartOfIteration>;
  using enum Meaning;
  return {
      {"part", key, &PartOfIteration::name, "part", as::words},
      {"busy_s", value, &PartOfIteration::busy, "takes ms", as::milliseconds},
      {"t_iter_without_s", value, &PartOfIteration::without, "iteration without ms",
       as::milliseconds},
      F::table("change", change_by(explanation, &PartOfIteration::without), as::signed_percent),
  };
}

Fields<Sensitivity> input_fields(const Explanation& explanation) {
  using F = Field<Sensitivity>;
  using enum Meaning;
  return {
      {"input", key, &Sensitivity::input, "10 % better", as::words},
      {"t_iter_better_s", value, &Sensitivity::better, "iteration ms", as::milliseconds},
      F::table("change", change_by(explanation, &Sensitivity::better), as::signed_percent),
      F::table("10 % worse", change_by(explanation, &Sensitivity::worse), as::signed_percent),
      F::json("t_iter_worse_s", &Sensitivity::worse),
  };
}

bool is_known(const Advice& advice) {
  return advice.why_not.empty();
}

std::string change_of(const Advice& advice) {
  return fmt::format("{} {}", advice.setting, advice.value);
}

Fields<Advice> advice_fields(const Explanation& explanation) {
  using F = Field<Advice>;
  using enum Meaning;
  const auto iteration = [](const Advice& advice) {
    return is_known(advice) ? std::optional(advice.iteration) : std::nullopt;
  };
  const auto rate = [](const Advice& advice) {
    return is_known(advice) ? std::optional(advice.images_per_s) : std::nullopt;
  };
  const auto gain_cell = [&explanation](const Advice& advice) {
    const double gain = gain_of(explanation, advice);
    return Cell{signed_percent(gain), gain > nothing ? Tone::good : Tone::plain};
  };
  return {
      {"change", key, change_of, "with", as::words},
      {"t_iter_s", value, iteration, "iteration ms", as::milliseconds},
      {"images_per_s", value, rate, fmt::format("{}/s", samples_of(explanation.prediction)),
       [rate](const Advice& advice) { return is_known(advice) ? rate_text(*rate(advice)) : "–"; }},
      {"why_not", remark, [](const Advice& advice) { return text_or_null(advice.why_not); }},
      F::table("gain", gain_cell),
  };
}

Table parts_table(const Explanation& explanation) {
  Table table = table_of(part_fields(explanation), explanation.parts);
  table.title = explanation_title(explanation, "Parts");
  const model::Prediction& prediction = explanation.prediction;
  table.notes.push_back(fmt::format("the iteration takes {} ms, bound by {}",
                                    milliseconds(prediction.time.total), prediction.bound));
  table.notes.emplace_back(
      "parts run beside one another: without one, the others show; so much a perfect one would "
      "help");
  for (const model::Note& note : prediction.notes) table.notes.push_back(note_text(note));
  return table;
}

Table inputs_table(const Explanation& explanation) {
  std::vector<Sensitivity> shown;
  std::vector<std::string> idle;
  for (const Sensitivity& input : explanation.inputs) {
    if (input_has_effect(explanation, input)) {
      shown.push_back(input);
    } else {
      idle.push_back(input.input);
    }
  }
  Table table = table_of(input_fields(explanation), shown);
  table.title = explanation_title(explanation, "Inputs");
  if (!idle.empty()) {
    table.notes.push_back(fmt::format("without effect: {}", fmt::join(idle, ", ")));
  }
  table.notes.emplace_back(
      "each changed alone, a rate times or over 1.1 and a time over or times 1.1, and predicted "
      "anew");
  return table;
}

Table advice_table(const Explanation& explanation) {
  std::vector<Advice> known;
  std::ranges::copy_if(explanation.advice, std::back_inserter(known), is_known);
  Table table = table_of(advice_fields(explanation), known);
  table.title = explanation_title(explanation, "Other ways to run");
  for (const Advice& advice : explanation.advice) {
    if (is_known(advice)) continue;
    table.notes.push_back(fmt::format("{}: {}", change_of(advice), advice.why_not));
  }
  table.notes.emplace_back(
      "one choice changed at a time; another batch or precision trains another way, too");
  return table;
}

/// A record of an explanation: the iteration itself, a part, an input or another way to run.
struct Told {
  const Explanation* explanation;
  const char* kind;
  std::string name;
  std::optional<Seconds> busy = {};
  std::optional<Seconds> iteration = {};
  std::optional<Seconds> worse = {};
  std::optional<double> images_per_s = {};
  std::string why_not = {};
  std::string bound = {};
};

Fields<Told> explanation_record_fields() {
  using enum Meaning;
  const auto run = [](const Told& told) -> const Run& { return told.explanation->prediction.run; };
  const auto change = [](const Told& told) {
    return told.iteration ? std::optional(change_to(*told.explanation, *told.iteration))
                          : std::nullopt;
  };
  return joined<Told>({
      part_of<Told>(picked(run_fields(), {"network", "cluster", "ranks", "batch"}), run),
      {{"kind", key, &Told::kind},
       {"name", key, &Told::name},
       {"busy_s", value, &Told::busy},
       {"t_iter_s", value, &Told::iteration},
       {"change", value, change},
       {"worse_t_iter_s", value, &Told::worse},
       {"images_per_s", value, &Told::images_per_s},
       {"why_not", remark, &Told::why_not},
       {"bound", remark, &Told::bound}},
  });
}

void add_rows(const Explanation& explanation, std::vector<Told>& rows) {
  const model::Prediction& prediction = explanation.prediction;
  rows.push_back({.explanation = &explanation,
                  .kind = "iteration",
                  .name = "",
                  .iteration = prediction.time.total,
                  .images_per_s = prediction.images_per_s,
                  .bound = prediction.bound});
  for (const PartOfIteration& part : explanation.parts) {
    rows.push_back({&explanation, "part", part.name, part.busy, part.without});
  }
  for (const Sensitivity& input : explanation.inputs) {
    rows.push_back({&explanation, "input", input.input, {}, input.better, input.worse});
  }
  for (const Advice& advice : explanation.advice) {
    Told& told = rows.emplace_back(&explanation, "advice", change_of(advice));
    told.why_not = advice.why_not;
    if (!is_known(advice)) continue;
    told.iteration = advice.iteration;
    told.images_per_s = advice.images_per_s;
  }
}

Table explanation_records(std::span<const Explanation> explanations) {
  std::vector<Told> rows;
  for (const Explanation& explanation : explanations) add_rows(explanation, rows);
  return records_of(explanation_record_fields(), rows);
}

Json explanation_object(const Explanation& explanation) {
  return {{"prediction", object_of(prediction_fields(), explanation.prediction)},
          {"parts", list_of(part_fields(explanation), explanation.parts)},
          {"inputs", list_of(input_fields(explanation), explanation.inputs)},
          {"advice", list_of(advice_fields(explanation), explanation.advice)}};
}

Json explanations_object(std::span<const Explanation> explanations) {
  Json list = Json::array();
  for (const Explanation& explanation : explanations) {
    list.push_back(explanation_object(explanation));
  }
  return {{"step", number(model::sensitivity_step)}, {"explanations", std::move(list)}};
}

}  // namespace

Document explanation_document(std::span<const Explanation> explanations) {
  EXPECT(!explanations.empty());
  Document document;
  for (const Explanation& explanation : explanations) {
    document.tables.push_back(parts_table(explanation));
    document.tables.push_back(inputs_table(explanation));
    document.tables.push_back(advice_table(explanation));
  }
  document.records = explanation_records(explanations);
  document.json = json_answer(
      "dlscale.explanation",
      [all = std::vector<Explanation>(explanations.begin(), explanations.end())] {
        return explanations_object(all);
      },
      notes_with_kinds);
  return document;
}

}  // namespace dlscale::report
