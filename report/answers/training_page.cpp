#include "report/answers/training_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/plan_page.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/goodput/training_cost_fields.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

/// A whole training of an answer.
struct WholeTraining {
  std::string subject;  ///< "resnet50 on dgx_h100"
  std::string place;    ///< "32 ranks", "64 devices"
  std::string length;   ///< "90 epochs", "1T tokens"
  double seconds = 0;   ///< with failures if `cost` is an object
  std::optional<double> low = {};
  std::optional<double> high = {};
  Json cost = nullptr;              ///< of failures, checkpoints, energy and price
  std::optional<double> rate = {};  ///< samples a second
  bool is_covered = true;           ///< whether the epochs come from similar batches
  bool is_looked_up = false;        ///< whether the epochs are those of a target
  std::optional<bool> fits = {};    ///< probably; absent if the answer does not say

  [[nodiscard]] bool may_not_fit() const { return fits && !*fits; }
};

/// "34.7 epochs to imagenet-75.9", "90 epochs", "1T tokens".
std::string length_text(const Json& answer, const Json& one) {
  if (const auto tokens = number_in(answer, "tokens")) return amount_text(*tokens) + " tokens";
  const std::string epochs = epochs_text(one.at("epochs").get<double>()) + " epochs";
  const Json& target = answer.at("target");
  return target.is_string() ? epochs + " to " + target.get<std::string>() : epochs;
}

void set_time(const Json& from, const std::string& key, WholeTraining& training) {
  training.seconds = from.at(key + "_s").get<double>();
  training.low = number_in(from, (key + "_low_s").c_str());
  training.high = number_in(from, (key + "_high_s").c_str());
}

/// A training of "dlscale.training_time".
WholeTraining by_prediction(const Json& answer, const Json& one) {
  const Json& prediction = one.at("prediction");
  const Json& run = prediction.at("run");
  WholeTraining training{fmt::format("{} on {}", run.at("network").get<std::string>(),
                                     run.at("cluster").get<std::string>()),
                         counted(run.at("ranks").get<long long>(), "rank"),
                         length_text(answer, one)};
  training.rate = prediction.at("images_per_s").get<double>();
  training.is_covered = one.at("epochs_covered").get<bool>();
  training.is_looked_up = !number_in(answer, "tokens") && answer.at("target").is_string();
  const auto cost = one.find("cost");
  if (cost == one.end()) {
    set_time(one, "training", training);
  } else {
    training.cost = *cost;
    set_time(*cost, "with_failures", training);
  }
  return training;
}

/// A training of "dlscale.training_cost".
WholeTraining by_cost(const Json& one) {
  WholeTraining training{one.at("training").get<std::string>(),
                         counted(one.at("devices").get<long long>(), "device"), ""};
  for (const char* samples : {"tokens", "images", "sequences"}) {
    if (const auto amount = number_in(one, samples)) {
      training.length = fmt::format("{} {}", amount_text(*amount), samples);
    }
  }
  training.cost = one;
  if (const auto fits = one.find("fits"); fits != one.end()) training.fits = fits->get<bool>();
  set_time(one, "with_failures", training);
  return training;
}

std::vector<WholeTraining> trainings_of(const Json& answer) {
  std::vector<WholeTraining> trainings;
  for (const Json& one : answer.at("trainings")) {
    trainings.push_back(one.contains("prediction") ? by_prediction(answer, one) : by_cost(one));
  }
  return trainings;
}

/// The quickest of those that fit, else of all.
const WholeTraining& quickest(const std::vector<WholeTraining>& trainings) {
  return *std::ranges::min_element(trainings, {}, [](const WholeTraining& one) {
    return std::pair(one.may_not_fit(), one.seconds);
  });
}

/// "1.150 hours to 1.693 hours"; empty without an interval.
std::string interval_of(const WholeTraining& one) {
  if (!one.low || !one.high) return "";
  return from_to(training_time_text(*one.low), training_time_text(*one.high));
}

/// "Quickest of the 2 of 3 trainings that fit, gpt on dgx by tensor=4: "; empty for one training.
std::string choice_text(const std::vector<WholeTraining>& all, const WholeTraining& best) {
  if (all.size() == 1) return "";
  const auto has_subject = [&best](const WholeTraining& one) {
    return one.subject == best.subject;
  };
  const auto lacking = std::ranges::count_if(all, &WholeTraining::may_not_fit);
  const auto fitting = std::ssize(all) - lacking;
  std::string which = fmt::format("Quickest of {} trainings", all.size());
  if (lacking > 0 && fitting == 1) {
    which = fmt::format("Only 1 of {} trainings fits", all.size());
  } else if (lacking > 0 && fitting > 1) {
    which = fmt::format("Quickest of the {} of {} trainings that fit", fitting, all.size());
  }
  if (!std::ranges::all_of(all, has_subject)) which += ", " + with_blanks(best.subject);
  return which + ": ";
}

std::string training_verdict(const std::vector<WholeTraining>& all, const WholeTraining& best) {
  std::string text = choice_text(all, best);
  const std::string interval = interval_of(best);
  text +=
      fmt::format("{} take {} on {}{}", best.length, training_time_text(best.seconds), best.place,
                  interval.empty() ? "" : fmt::format(" (90 % interval {})", interval));
  if (best.cost.is_object()) {
    text += fmt::format(" with failures and checkpoints, {} of it useful",
                        percent(best.cost.at("goodput").get<double>()));
  }
  text += ".";
  if (const auto price = number_in(best.cost, "price")) {
    text += fmt::format(" It costs {} (90 % interval {} to {}).", grouped(std::llround(*price)),
                        grouped(std::llround(best.cost.at("price_low").get<double>())),
                        grouped(std::llround(best.cost.at("price_high").get<double>())));
  }
  if (!best.is_covered) text += " Its epochs are extrapolated to this batch.";
  if (best.may_not_fit()) text += " It may not fit the devices.";
  return text;
}

std::vector<Tile> training_tiles(const WholeTraining& best) {
  const std::string interval = interval_of(best);
  std::vector<Tile> tiles{{"Time to train", training_time_text(best.seconds),
                           interval.empty() ? "no interval" : interval + " (90 %)", Tone::plain},
                          {"Length", best.length,
                           !best.is_covered    ? "extrapolated to this batch"
                           : best.is_looked_up ? "fitted to published trainings"
                                               : "as asked for",
                           best.is_covered ? Tone::plain : Tone::caution}};
  if (best.rate) {
    tiles.push_back(
        {"Throughput", rate_text(*best.rate) + " samples/s", "on " + best.place, Tone::plain});
  }
  if (!best.cost.is_object()) return tiles;
  const auto ends = [&best](const char* key, const char* unit) {
    const auto text = [&](const std::string& end) {
      return significant(best.cost.at(key + end).get<double>(), 3);
    };
    return fmt::format("{} to {}{} (90 %)", text("_low"), text("_high"), unit);
  };
  tiles.push_back({"Useful", percent(best.cost.at("goodput").get<double>()),
                   significant(best.cost.at("failures").get<double>(), 3) + " failures expected",
                   Tone::plain});
  if (const auto price = number_in(best.cost, "price")) {
    tiles.push_back({"Price", significant(*price, 4), ends("price", ""), Tone::plain});
  } else {
    tiles.push_back({"Device hours",
                     grouped(std::llround(best.cost.at("device_hours").get<double>())),
                     ends("device_hours", " h"), Tone::plain});
  }
  return tiles;
}

std::optional<Figure> trainings_figure(const std::vector<WholeTraining>& all) {
  figure::StackedBars bars{"training", "Time of the whole training",
                           "time to train, h (lower is better)", "90 % interval"};
  bars.unit = "h";
  bars.factor = 1.0 / 3600;
  bars.remarks = "fits";
  for (const WholeTraining& one : all) {
    figure::StackedBar bar{one.place, all.front().subject == one.subject ? "" : one.subject};
    bar.low = one.low;
    bar.high = one.high;
    if (one.may_not_fit()) bar.remark = "may not fit";
    const double smooth = number_in(one.cost, "without_failures_s").value_or(one.seconds);
    bar.parts.push_back({"training", smooth});
    if (one.cost.is_object()) {
      bar.parts.push_back({"failures and checkpoints", std::max(0.0, one.seconds - smooth)});
    }
    bars.bars.push_back(std::move(bar));
  }
  return figure::stacked_bars(bars);
}

Cell fit_cell(const WholeTraining& one) {
  if (!one.fits) return {"–"};
  return one.may_not_fit() ? Cell{"maybe not", Tone::caution} : Cell{"probably", Tone::good};
}

Table trainings_table(const std::vector<WholeTraining>& all) {
  Table table{"Whole trainings",
              {{"training", Align::left},
               {"on", Align::left},
               {"length", Align::left},
               {"time"},
               {"90 % interval"},
               {"samples/s"},
               {"useful"},
               {"device hours"},
               {"price"}},
              {},
              {}};
  const bool says_fit =
      std::ranges::any_of(all, [](const WholeTraining& one) { return one.fits.has_value(); });
  if (says_fit) table.columns.push_back({"fits", Align::left});
  const auto of_cost = [](const WholeTraining& one, const char* key, auto text) {
    const auto value = number_in(one.cost, key);
    return Cell{value ? text(*value) : "–"};
  };
  for (const WholeTraining& one : all) {
    const auto hours = [](double value) { return grouped(std::llround(value)); };
    table.rows.push_back({{one.subject},
                          {one.place},
                          {one.length + (one.is_covered ? "" : " (extrapolated)")},
                          {training_time_text(one.seconds)},
                          {interval_of(one)},
                          {one.rate ? rate_text(*one.rate) : "–"},
                          of_cost(one, "goodput", percent),
                          of_cost(one, "device_hours", hours),
                          of_cost(one, "price", hours)});
    if (says_fit) table.rows.back().push_back(fit_cell(one));
  }
  return table;
}

/// The predictions that the times rest on; empty for plans.
Json predictions_of(const Json& answer) {
  Json rows = Json::array();
  for (const Json& one : answer.at("trainings")) {
    if (one.contains("prediction")) rows.push_back(one.at("prediction"));
  }
  return rows;
}

/// The sources that the time of a plan rests on, and whether its interval is wide.
Badge cost_badge(const Json& answer, const WholeTraining& best) {
  const auto options = answer.find("options");
  const bool has_mtbf = options != answer.end() && options->contains("mtbf");
  const std::string basis = fmt::format(
      "data sheets and published trainings{}, and {}",
      is_measured(answer) ? ", moved by your measured points" : "",
      has_mtbf ? "failures at the rates that you stated" : "failures of published clusters");
  return interval_badge(basis, "the time", {best.seconds, best.low, best.high});
}

Page page_of_trainings(const Json& answer) {
  const std::vector<WholeTraining> all = trainings_of(answer);
  const Json predictions = predictions_of(answer);
  Page page = training_opening(answer);
  page.data = predictions.empty() ? cost_badge(answer, quickest(all))
                                  : prediction_badge(predictions, is_measured(answer));
  page.data_section = "notes";
  if (auto figure = trainings_figure(all)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {{"trainings", "All trainings", {trainings_table(all)}}};
  if (predictions.empty()) {
    page.sections.push_back(notes_section(answer));
  } else {
    page.sections.push_back({"notes", "What this rests on", {prediction_notes(predictions)}});
  }
  return page;
}

}  // namespace

Page training_opening(const Json& answer) {
  const std::vector<WholeTraining> all = trainings_of(answer);
  const WholeTraining& best = quickest(all);
  Page page;
  page.kind = "training";
  page.question = fmt::format("How long does training {} take?", best.subject);
  page.verdict = training_verdict(all, best);
  page.tone = best.is_covered && !best.may_not_fit() ? Tone::plain : Tone::caution;
  page.tiles = training_tiles(best);
  return page;
}

AnswerPage training_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "trainings", [](const Json& answer) {
    const std::vector<WholeTraining> all = trainings_of(answer);
    AnswerPage made{page_of_trainings(answer), {}};
    made.document.tables = {trainings_table(all)};
    made.document.records.columns = {{"training", Align::left, Meaning::key},
                                     {"on", Align::left, Meaning::key},
                                     {"training_s", Align::right, Meaning::value}};
    for (const WholeTraining& one : all) {
      made.document.records.rows.push_back({{one.subject}, {one.place}, {exact(one.seconds)}});
    }
    return made;
  });
}

}  // namespace dlscale::report
