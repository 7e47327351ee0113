#include "report/roofline_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "report/kernel_cells.hpp"
#include "report/numbers.hpp"
#include "report/record_columns.hpp"

namespace dlscale::report {
namespace {

using model::AlgorithmErrors;
using model::JudgedSample;
using model::KernelJudgement;

bool passes(const AlgorithmErrors& errors, const RooflineLimits& limits) {
  return errors.median <= limits.median && errors.p90 <= limits.p90;
}

/// Those that limits speak of: all but the last, which is of all together.
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

/// What both tables of errors begin with.
std::vector<Column> error_columns() {
  return {{"algorithm", Align::left},
          {"threads"},
          {"shapes"},
          {"times"},
          {"bias"},
          {"median"},
          {"90 % within"}};
}

std::vector<Cell> error_cells(const AlgorithmErrors& errors) {
  return {{errors.algorithm},
          {errors.threads > 0 ? std::to_string(errors.threads) : "–"},
          {std::to_string(errors.kernels)},
          {std::to_string(errors.samples)},
          {signed_percent(errors.bias)},
          {percent(errors.median)},
          {percent(errors.p90)}};
}

Table errors_table(const KernelJudgement& judgement, const model::LeftOut& left_out,
                   const RooflineLimits& limits) {
  Table table;
  table.title = "Error of predicted kernel times at shapes that were not fitted";
  table.columns = error_columns();
  table.columns.insert(table.columns.end(), {{"in interval"},
                                             {"extrapolated"},
                                             {"naive median"},
                                             {"naive 90 %"},
                                             {"repeats differ"},
                                             {"verdict", Align::left}});
  for (const AlgorithmErrors& errors : judgement.algorithms) {
    const bool is_sum = &errors == &judgement.algorithms.back();
    const bool passed = passes(errors, limits);
    std::vector<Cell> row = error_cells(errors);
    row.insert(
        row.end(),
        {{percent(errors.within)},
         {std::to_string(errors.extrapolated)},
         {percent(errors.naive_median)},
         {percent(errors.naive_p90)},
         {errors.repeats ? percent(*errors.repeats) : "–"},
         is_sum ? Cell{"–"} : Cell{passed ? "kept" : "missed", passed ? Tone::good : Tone::bad}});
    table.rows.push_back(std::move(row));
  }
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
        "{} left out: {} no convolution by a known algorithm, {} not in f32, {} in a layout of "
        "--layout, {} beside other ranks, {} of other --values",
        counted(others, "result"), left_out.other_kernels, left_out.other_precisions,
        left_out.other_layouts, left_out.beside_others, left_out.other_values));
  }
  return table;
}

/// Of all shapes, those of each half by the fit to the other.
Table both_halves_table(const std::vector<AlgorithmErrors>& algorithms) {
  Table table;
  table.title = "The same over both halves, each predicted by a fit to the other";
  table.columns = error_columns();
  for (const AlgorithmErrors& errors : algorithms) table.rows.push_back(error_cells(errors));
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
  add_losses(table, part_text(choice.all), choice.all, {percent(limits.choice)},
             {passed ? "kept" : "missed", passed ? Tone::good : Tone::bad});
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

Table records(const KernelJudgement& judgement) {
  Table table;
  table.columns = kernel_record_columns();
  add_columns(table.columns, Meaning::value,
              {"measured_s", "predicted_s", "low_s", "high_s", "naive_s", "error"});
  add_columns(table.columns, Meaning::remark, {"beyond"});
  add_columns(table.columns, Meaning::value, {"algorithm_flops", "algorithm_bytes"});
  for (const JudgedSample& judged : judgement.samples) {
    const model::KernelCase& what = judged.sample.what;
    const Seconds time = judged.sample.time;
    const auto& predicted = judged.prediction;
    std::vector<Cell> cells = kernel_record_cells(what);
    cells.insert(cells.end(), {{exact(time.si())},
                               {exact(predicted.time.value.si())},
                               {exact(predicted.time.low.si())},
                               {exact(predicted.time.high.si())},
                               {exact(predicted.naive.si())},
                               {exact(judged.error())},
                               {fmt::format("{}", fmt::join(predicted.beyond, " "))},
                               {exact(what.work.flops().si())},
                               {exact(what.work.bytes().si())}});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The worst predictions, to see what the model does not know.
Table worst_table(const KernelJudgement& judgement) {
  constexpr std::size_t shown = 10;
  std::vector<const JudgedSample*> worst;
  worst.reserve(judgement.samples.size());
  for (const JudgedSample& judged : judgement.samples) worst.push_back(&judged);
  std::ranges::stable_sort(worst, std::greater{},
                           [](const JudgedSample* judged) { return std::abs(judged->error()); });
  worst.resize(std::min(shown, worst.size()));
  Table table;
  table.title = "Largest errors";
  table.columns = kernel_columns();
  for (const char* heading : {"measured ms", "predicted ms", "error"}) {
    table.columns.push_back({heading});
  }
  table.columns.push_back({"beyond", Align::left});
  for (const JudgedSample* judged : worst) {
    std::vector<Cell> cells = kernel_cells(judged->sample.what);
    cells.insert(cells.end(), {{milliseconds(judged->sample.time)},
                               {milliseconds(judged->prediction.time.value)},
                               {signed_percent(judged->error())},
                               {fmt::format("{}", fmt::join(judged->prediction.beyond, ", "))}});
    table.rows.push_back(std::move(cells));
  }
  table.notes = {"beyond: sizes outside of the range fitted, so that the time is extrapolated",
                 "unseen_terms: no shape of the fit has a part of what this one does, so that the "
                 "time is without it"};
  return table;
}

/// Whether every measured algorithm has an error: not where the fit has seen too few shapes of one,
/// or none that is like those to be judged.
bool judges_all(const KernelJudgement& judgement) {
  const auto is_judged = [&](const auto& left_out) {
    return std::ranges::find(judgement.algorithms, left_out.first, &AlgorithmErrors::algorithm) !=
           judgement.algorithms.end();
  };
  return judgement.not_judged == 0 && std::ranges::all_of(judgement.not_told, is_judged);
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
  return {sentence(judgement, limits), std::move(tables), records(judgement),
          roofline_json(judgement, limits)};
}

}  // namespace dlscale::report
