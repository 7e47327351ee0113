#include "report/kernels/roofline_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text/numbers.hpp"
#include "report/kernels/kernel_tables.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::AlgorithmErrors;
using model::JudgedSample;
using model::KernelJudgement;

bool passes(const AlgorithmErrors& errors, const RooflineLimits& limits) {
  return errors.median <= limits.median && errors.p90 <= limits.p90;
}

/// Algorithms that the limits apply to: all except the last entry, which covers all together.
std::vector<const AlgorithmErrors*> judged_algorithms(const KernelJudgement& judgement) {
  std::vector<const AlgorithmErrors*> all;
  for (const AlgorithmErrors& errors : judgement.algorithms) {
    if (&errors != &judgement.algorithms.back()) all.push_back(&errors);
  }
  return all;
}

std::string sentence(const KernelJudgement& judgement, const RooflineLimits& limits) {
  const auto all = judged_algorithms(judgement);
  const auto kept = std::ranges::count_if(
      all, [&](const AlgorithmErrors* errors) { return passes(*errors, limits); });
  const AlgorithmErrors& sum = judgement.algorithms.back();
  std::string text = fmt::format(
      "Of {} at shapes not fitted, the times of {} of {} algorithms are predicted within the "
      "limits (median error {}, 90 % within {}); all together: median {}, 90 % within {} (naive "
      "roofline: {}), and {} of them lie in their 95 % intervals.",
      counted(sum.samples, "time"), kept, all.size(), percent(limits.median), percent(limits.p90),
      percent(sum.median), percent(sum.p90), percent(sum.naive_median), percent(sum.within));
  const model::ChoicePart& choice = judgement.choice.all;
  if (choice.predicted.choices > 0) {
    text += fmt::format(
        " Choosing by prediction loses {} of time (limit {}){}.", percent(choice.predicted.loss()),
        percent(limits.choice),
        choice.repeated.choices > 0
            ? fmt::format(", choosing by another measurement {}", percent(choice.repeated.loss()))
            : "");
  }
  return text;
}

/// Errors of an algorithm, in the order of JSON.
Fields<AlgorithmErrors> error_fields() {
  using enum Meaning;
  const auto threads = [](const AlgorithmErrors& errors) {
    return errors.threads > 0 ? std::optional(errors.threads) : std::nullopt;
  };
  return {
      {"algorithm", key, &AlgorithmErrors::algorithm, "algorithm", as::words},
      {"threads", key, threads, "threads", as::exact_or_dash},
      {"kernels", value, &AlgorithmErrors::kernels, "shapes", as::exact},
      {"samples", value, &AlgorithmErrors::samples, "times", as::exact},
      {"extrapolated", value, &AlgorithmErrors::extrapolated, "extrapolated", as::exact},
      {"bias", value, &AlgorithmErrors::bias, "bias", as::signed_percent},
      {"median_abs", value, &AlgorithmErrors::median, "median", as::percent},
      {"p90_abs", value, &AlgorithmErrors::p90, "90 % within", as::percent},
      {"in_interval", value, &AlgorithmErrors::within, "in interval", as::percent},
      {"naive_median_abs", value, &AlgorithmErrors::naive_median, "naive median", as::percent},
      {"naive_p90_abs", value, &AlgorithmErrors::naive_p90, "naive 90 %", as::percent},
      {"repeats_differ", value, &AlgorithmErrors::repeats, "repeats differ", as::percent},
  };
}

/// The first columns of both tables of errors.
Fields<AlgorithmErrors> first_errors() {
  return picked(error_fields(),
                {"algorithm", "threads", "kernels", "samples", "bias", "median_abs", "p90_abs"});
}

Table errors_table(const KernelJudgement& judgement, const model::LeftOut& left_out,
                   const RooflineLimits& limits) {
  const AlgorithmErrors* sum = &judgement.algorithms.back();
  const auto verdict = [sum, limits](const AlgorithmErrors& errors) {
    return &errors == sum ? Cell{"–"} : kept_cell(passes(errors, limits));
  };
  Table table =
      table_of(joined<AlgorithmErrors>(
                   {first_errors(),
                    picked(error_fields(), {"in_interval", "extrapolated", "naive_median_abs",
                                            "naive_p90_abs", "repeats_differ"}),
                    {Field<AlgorithmErrors>::table("verdict", verdict, Align::left)}}),
               judgement.algorithms);
  table.title = "Error of predicted kernel times at shapes that were not fitted";
  table.notes = {
      "bias: median of (predicted − measured) / measured; median, 90 %: of its absolute value",
      "naive: the algorithm's own work at the highest rates that any algorithm reached",
      "repeats differ: median distance of a measurement from the median of its repeats; – : none",
      fmt::format("fitted to {} other shapes, told apart by a hash of their names",
                  judgement.training_kernels),
      "each number of threads is fitted and judged apart; of others nothing is known"};
  if (judgement.not_judged > 0) {
    table.notes.push_back(fmt::format(
        "{} not judged: too few shapes of that algorithm and pass are in the training half",
        counted(judgement.not_judged, "time")));
  }
  for (const auto& [algorithm, times] : judgement.not_told) {
    table.notes.push_back(fmt::format(
        "{} of {} left out: no shape of the training half has a part of what they do, so that the "
        "model does not tell them",
        counted(times, "time"), algorithm));
  }
  const int others = left_out.other_kernels + left_out.other_precisions + left_out.other_layouts +
                     left_out.beside_others + left_out.other_values;
  if (others > 0) {
    table.notes.push_back(fmt::format(
        "{} left out: {} no convolution by a known algorithm, {} not in f32, {} in a layout that "
        "was asked for, {} beside other ranks, {} of other values",
        counted(others, "result"), left_out.other_kernels, left_out.other_precisions,
        left_out.other_layouts, left_out.beside_others, left_out.other_values));
  }
  return table;
}

/// Errors over all shapes: each half by the fit to the other.
Table both_halves_table(const std::vector<AlgorithmErrors>& algorithms) {
  Table table = table_of(first_errors(), algorithms);
  table.title = "The same over both halves, each predicted by a fit to the other";
  table.notes = {"no limit is held to these: they show what the split's luck is worth"};
  return table;
}

/// "layers of networks, batch 4".
std::string part_text(const model::ChoicePart& part) {
  std::string text =
      part.layers_of == model::LayersOf::networks ? "layers of networks" : "shapes of lists";
  if (part.counting == model::Counting::by_steps) text += ", as often as they run";
  return part.batch > 0 ? fmt::format("{}, batch {}", text, part.batch) : text;
}

std::vector<std::string> choice_notes(const model::ChoiceJudgement& choice) {
  std::vector<std::string> notes{
      "fastest: of all ways that were measured, with a model or without; a question counts where "
      "every algorithm measured under its condition has a time or does not offer the shape",
      "loss: of the sum of times; median loss: of a choice",
      "both halves: all shapes, those of each half by the fit to the other; else the half that "
      "errors are told of"};
  if (choice.all.repeated.choices == 0) {
    notes.emplace_back(
        "by no question all ways were measured twice, so that the share of noise in the loss is "
        "not known");
  } else {
    notes.emplace_back(
        "another measurement: the fastest by the first measurement, judged by the last, and the "
        "other way round, where all ways were measured several times: what noise alone costs");
  }
  const bool weighted = std::ranges::any_of(choice.parts, [](const model::ChoicePart& part) {
    return part.counting == model::Counting::by_steps;
  });
  if (weighted) {
    notes.emplace_back(
        "as often as they run: each as many times as it runs in one iteration of each network");
  }
  if (choice.incomplete > 0) {
    notes.push_back(fmt::format("{} left out where not every algorithm was measured",
                                counted(choice.incomplete, "question")));
  }
  if (choice.unanswered > 0) {
    notes.push_back(fmt::format("{} left out of which no way that was measured has a model",
                                counted(choice.unanswered, "question")));
  }
  for (const auto& [algorithm, times] : choice.not_offered) {
    notes.push_back(fmt::format("{} chosen {} where it is not offered: the next counted", algorithm,
                                counted(times, "time")));
  }
  return notes;
}

void add_losses(Table& table, const std::string& of, const model::ChoicePart& part,
                const Cell& limit, const Cell& verdict) {
  const auto add = [&](const char* by, const model::ChoiceLoss& loss, const Cell& allowed,
                       const Cell& said) {
    table.rows.push_back({{of},
                          {by},
                          {std::to_string(loss.choices)},
                          {std::to_string(loss.best)},
                          {milliseconds(loss.chosen)},
                          {milliseconds(loss.least)},
                          {percent(loss.loss())},
                          {percent(loss.median)},
                          allowed,
                          said});
  };
  add("prediction", part.predicted, limit, verdict);
  const Cell none{"–"};
  if (part.repeated.choices > 0) add("another measurement", part.repeated, none, none);
}

Table choice_table(const KernelJudgement& judgement, const RooflineLimits& limits) {
  const model::ChoiceJudgement& choice = judgement.choice;
  Table table;
  table.title = "Choosing the algorithm by prediction";
  table.columns = {{"of", Align::left},
                   {"chosen by", Align::left},
                   {"choices"},
                   {"fastest chosen"},
                   {"chosen ms"},
                   {"fastest ms"},
                   {"loss"},
                   {"median loss"},
                   {"limit"},
                   {"verdict", Align::left}};
  if (choice.all.predicted.choices == 0) {
    table.notes = {choice.incomplete > 0
                       ? "no shape outside of the fit was measured by every algorithm"
                       : "no shape outside of the fit was measured by two algorithms"};
    return table;
  }
  const bool passed = choice.all.predicted.loss() <= limits.choice;
  add_losses(table, part_text(choice.all), choice.all, {percent(limits.choice)}, kept_cell(passed));
  for (const model::ChoicePart& part : choice.parts) {
    add_losses(table, part_text(part), part, {"–"}, {"–"});
  }
  const model::ChoicePart& both = judgement.choice_of_both_halves;
  if (both.predicted.choices > 0) {
    add_losses(table, part_text(both) + ", both halves", both, {"–"}, {"–"});
  }
  table.notes = choice_notes(choice);
  return table;
}

/// A measured time and its prediction.
Fields<JudgedSample> sample_fields() {
  using F = Field<JudgedSample>;
  using enum Meaning;
  const auto what = [](const JudgedSample& judged) -> const model::KernelCase& {
    return judged.sample.what;
  };
  const auto of_case = [](auto... path) {
    return via(&JudgedSample::sample, &model::KernelSample::what, path...);
  };
  const auto beyond = [](const char* separator) {
    return [separator](const JudgedSample& judged) {
      return beyond_text(judged.prediction, separator);
    };
  };
  using model::KernelCase;
  return joined<JudgedSample>({
      {F::json("way", of_case(&KernelCase::way, way_object)),
       F::json("kernel", of_case(&KernelCase::kernel)),
       F::json("batch", of_case(&KernelCase::batch)),
       F::json("layers", via(&JudgedSample::sample, &model::KernelSample::layers))},
      in_records(part_of<JudgedSample>(kernel_fields(), what)),
      {{"measured_s", value, via(&JudgedSample::sample, &model::KernelSample::time), "measured ms",
        as::milliseconds}},
      part_of<JudgedSample>(predicted_fields(), &JudgedSample::prediction),
      {F::json("predicted", via(&JudgedSample::prediction, kernel_prediction_object)),
       {"error", value, &JudgedSample::error, "error", as::signed_percent},
       F::record("beyond", remark, beyond(" ")),
       F::table("beyond", beyond(", "), Align::left),
       F::record("algorithm_flops", value,
                 of_case(&KernelCase::work, &convolution::AlgorithmWork::flops)),
       F::record("algorithm_bytes", value,
                 of_case(&KernelCase::work, &convolution::AlgorithmWork::bytes))},
  });
}

/// The worst predictions, which show the gaps of the model.
Table worst_table(const KernelJudgement& judgement) {
  constexpr std::size_t shown = 10;
  std::vector<JudgedSample> worst = judgement.samples;
  std::ranges::stable_sort(worst, std::greater{},
                           [](const JudgedSample& judged) { return std::abs(judged.error()); });
  worst.resize(std::min(shown, worst.size()));
  Table table = table_of(sample_fields(), worst);
  table.title = "Largest errors";
  table.notes = {"beyond: sizes outside of the range fitted, so that the time is extrapolated",
                 "unseen_terms: no shape of the fit has a part of what this one does, so that the "
                 "time is without it"};
  return table;
}

/// Whether every measured algorithm has an error. False if the fit has too few shapes of one, or
/// none similar to the shapes to judge.
bool judges_all(const KernelJudgement& judgement) {
  const auto is_judged = [&](const auto& left_out) {
    return std::ranges::find(judgement.algorithms, left_out.first, &AlgorithmErrors::algorithm) !=
           judgement.algorithms.end();
  };
  return judgement.not_judged == 0 && std::ranges::all_of(judgement.not_told, is_judged);
}

Json loss_object(const model::ChoiceLoss& loss) {
  const bool any = loss.choices > 0;
  return {{"choices", loss.choices},
          {"fastest_chosen", loss.best},
          {"chosen_s", value_of(loss.chosen)},
          {"fastest_s", value_of(loss.least)},
          {"loss", any ? number(loss.loss()) : Json(nullptr)},
          {"median_loss", any ? number(loss.median) : Json(nullptr)}};
}

Json part_object(const model::ChoicePart& part) {
  return {{"layers_of", model::layers_of_name(part.layers_of)},
          {"batch", part.batch > 0 ? Json(part.batch) : Json(nullptr)},
          {"counted", model::counting_name(part.counting)},
          {"by_prediction", loss_object(part.predicted)},
          {"by_repeats", loss_object(part.repeated)}};
}

Json parts_list(const model::ChoiceJudgement& choice) {
  Json parts = Json::array();
  for (const model::ChoicePart& part : choice.parts) parts.push_back(part_object(part));
  return parts;
}

/// Number of occurrences by algorithm.
Json times_object(const auto& counts) {
  Json times = Json::object();
  for (const auto& [algorithm, count] : counts) times[algorithm] = count;
  return times;
}

Json judgement_object(const KernelJudgement& judgement, const RooflineLimits& limits) {
  const model::ChoiceJudgement& choice = judgement.choice;
  const model::ChoicePart& both = judgement.choice_of_both_halves;
  return {
      {"verdict", verdict_word(exit_code(judgement, limits))},
      {"limits",
       {{"median_abs", number(limits.median)},
        {"p90_abs", number(limits.p90)},
        {"choice_loss", number(limits.choice)}}},
      {"training_kernels", judgement.training_kernels},
      {"not_judged", judgement.not_judged},
      {"not_told", times_object(judgement.not_told)},
      {"algorithms", list_of(error_fields(), judgement.algorithms)},
      {"algorithms_of_both_halves", list_of(error_fields(), judgement.algorithms_of_both_halves)},
      {"choice", loss_object(choice.all.predicted)},
      {"choice_by_repeats", loss_object(choice.all.repeated)},
      {"choice_of", model::layers_of_name(choice.all.layers_of)},
      {"choice_parts", parts_list(choice)},
      {"choice_incomplete", choice.incomplete},
      {"choice_unanswered", choice.unanswered},
      {"choice_not_offered", times_object(choice.not_offered)},
      {"choice_of_both_halves", both.predicted.choices > 0 ? part_object(both) : Json(nullptr)},
      {"samples", list_of(sample_fields(), judgement.samples)}};
}

}  // namespace

ExitCode exit_code(const KernelJudgement& judgement, const RooflineLimits& limits) {
  const auto all = judged_algorithms(judgement);
  const bool kept = std::ranges::all_of(
      all, [&](const AlgorithmErrors* errors) { return passes(*errors, limits); });
  const model::ChoiceLoss& choice = judgement.choice.all.predicted;
  const bool chooses = choice.choices > 0;
  if (!kept || (chooses && choice.loss() > limits.choice)) return ExitCode::regression;
  return chooses && judges_all(judgement) ? ExitCode::ok : ExitCode::inconclusive;
}

Document roofline_document(const KernelJudgement& judgement, const model::LeftOut& left_out,
                           const RooflineLimits& limits) {
  std::vector<Table> tables{errors_table(judgement, left_out, limits),
                            choice_table(judgement, limits), worst_table(judgement)};
  if (!judgement.algorithms_of_both_halves.empty()) {
    tables.push_back(both_halves_table(judgement.algorithms_of_both_halves));
  }
  return {sentence(judgement, limits), std::move(tables),
          records_of(sample_fields(), judgement.samples),
          json_answer("dlscale.roofline_validation",
                      [judgement, limits] { return judgement_object(judgement, limits); })};
}

}  // namespace dlscale::report
