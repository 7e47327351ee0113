#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/plan_names.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/parallel/pipeline_chart.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

/// A part of an iteration: its key and a word for it.
struct PlanPart {
  const char* key;
  const char* word;
};

/// The words of a kind of answer on plans.
struct PlanWords {
  const char* rate;     ///< key of samples a second
  const char* samples;  ///< "tokens/s"
  std::vector<PlanPart> parts;
};

PlanWords words_of(const Json& plan) {
  if (plan.contains("t_layer_messages_s")) {
    return {"tokens_per_s",
            "tokens/s",
            {{"t_compute_s", "compute"},
             {"t_layer_messages_s", "communication in layers"},
             {"t_bubble_s", "bubble"},
             {"t_gradients_s", "gradients"},
             {"t_update_s", "update"},
             {"t_memory_waits_s", "waits for memory"}}};
  }
  if (plan.contains("t_branches_s")) {
    return {"samples_per_s",
            "samples/s",
            {{"t_serial_s", "serial layers"},
             {"t_branches_s", "branches"},
             {"t_branch_messages_s", "entries and exits"},
             {"t_gradients_s", "gradients"},
             {"t_update_s", "update"}}};
  }
  return {"samples_per_s",
          "samples/s",
          {{"t_compute_s", "compute"},
           {"t_unequal_s", "unequal stages"},
           {"t_bubble_s", "bubble"},
           {"t_stage_messages_s", "messages between stages"},
           {"t_strips_s", "messages of strips"},
           {"t_gradients_s", "gradients and update"},
           {"t_input_s", "input"}}};
}

double rate_of(const Json& plan) {
  return plan.at(words_of(plan).rate).get<double>();
}

std::string ranks_text(const Json& plan) {
  return counted(plan.at("ranks").get<long long>(), "rank");
}

std::string throughput_text(const Json& plan) {
  return fmt::format("{} {}", rate_text(rate_of(plan)), words_of(plan).samples);
}

/// Whether the only plan fits the device, as a clause; empty if it does not, with which verdicts
/// begin, as they do with several plans.
std::string fit_clause(const std::string& fits) {
  if (fits == "no") return "";
  if (fits == "yes") return "; it fits the memory";
  return fits == "unknown" ? "; whether it fits is unknown" : "; it may not fit the memory";
}

Tile memory_tile(const Json& plan) {
  const auto fits = plan.at("fits").get<std::string>();
  const auto low = number_in(plan, "memory_low_bytes");
  const auto high = number_in(plan, "memory_high_bytes");
  const double device = plan.at("device_memory_bytes").get<double>();
  std::string detail = device > 0 ? "of " + gigabytes(device) : "of an unknown capacity";
  if (low && high) {
    detail = fmt::format("{} to {} (90 %), {}", gigabytes(*low), gigabytes(*high), detail);
  }
  return {"Memory of a rank", gigabytes(plan.at("memory_bytes").get<double>()), detail,
          fits == "yes"  ? Tone::good
          : fits == "no" ? Tone::bad
                         : Tone::caution};
}

/// FLOP utilisation, speed-up over one device, or the gain over data parallelism.
Tile worth_tile(const Json& plan) {
  if (const auto share = number_in(plan, "model_flop_utilisation")) {
    return {"FLOP utilisation", percent(*share),
            rate_detail(plan, "model_flop_utilisation", percent), Tone::plain};
  }
  if (const auto gain = number_in(plan, "gain")) {
    return {"Gain over data parallelism", significant(*gain, 3) + " ×", "on as many ranks",
            Tone::plain};
  }
  const auto speedup = number_in(plan, "speedup");
  if (!speedup) return {"Speed-up", "–", "measured points do not say it", Tone::plain};
  return {"Speed-up over one device", significant(*speedup, 3) + " ×", speedup_detail(plan),
          Tone::plain};
}

/// The same for tables, where a speed-up has its interval.
std::string worth_text(const Json& plan) {
  const bool has_share = number_in(plan, "model_flop_utilisation").has_value();
  const auto speedup = number_in(plan, "speedup");
  if (has_share || number_in(plan, "gain") || !speedup) return worth_tile(plan).value;
  return speedup_text(*speedup, number_in(plan, "speedup_low"), number_in(plan, "speedup_high"));
}

std::vector<Tile> tiles_of_plan(const Json& plan) {
  const double time = plan.at("t_iter_s").get<double>();
  const PlanWords words = words_of(plan);
  const auto bound = plan.at("bound").get<std::string>();
  const PlanPart& most = *std::ranges::max_element(
      words.parts, {}, [&plan](const PlanPart& part) { return plan.at(part.key).get<double>(); });
  return {
      {fmt::format("Iteration of {} {}", plan.at("global_batch").dump(),
                   plan.contains("t_layer_messages_s") ? "sequences" : "samples"),
       to_text(Seconds(time)), iteration_detail(plan), Tone::plain},
      {"Throughput", throughput_text(plan), rate_detail(plan, words.rate, rate_text), Tone::plain},
      worth_tile(plan),
      memory_tile(plan),
      {"Bound by", bound,
       fmt::format("{}{} of the iteration", bound == most.word ? "" : most.word + std::string(" "),
                   percent(plan.at(most.key).get<double>() / time)),
       Tone::plain}};
}

/// Whether a part takes time in any of the plans.
bool takes_time(const Json& plans, const PlanPart& part) {
  return std::any_of(plans.begin(), plans.end(), [&part](const Json& plan) {
    return plan.at(part.key).get<double>() > 1e-6 * plan.at("t_iter_s").get<double>();
  });
}

/// A bar for each plan, below the name of its layout if there are several.
std::optional<Figure> parts_of_plans(const Json& plans) {
  figure::StackedBars bars{"iteration", "Where the time of an iteration goes",
                           "time of an iteration, s (lower is better)", "90 % interval"};
  bars.unit = "s";
  bars.factor = 1;
  const PlanNames names(plans);
  const auto is_of_first = [&](const Json& plan) {
    return names.without_data(plan) == names.without_data(plans.at(0));
  };
  const bool is_one_layout = std::all_of(plans.begin(), plans.end(), is_of_first);
  for (const Json& plan : plans) {
    figure::StackedBar bar{ranks_text(plan), is_one_layout ? "" : names.without_data(plan)};
    bar.low = number_in(plan, "t_iter_low_s");
    bar.high = number_in(plan, "t_iter_high_s");
    bar.total = plan.at("t_iter_s").get<double>();
    for (const PlanPart& part : words_of(plan).parts) {
      if (takes_time(plans, part))
        bar.parts.push_back({part.word, plan.at(part.key).get<double>()});
    }
    bars.bars.push_back(std::move(bar));
  }
  return figure::stacked_bars(bars);
}

Table plans_table(const Json& plans) {
  const Tile worth = worth_tile(plans.at(0));
  Table table{"Plans",
              {{"plan", Align::left},
               {"ranks"},
               {"iteration"},
               {"90 % interval"},
               {words_of(plans.at(0)).samples},
               {worth.name},
               {"memory"},
               {"fits", Align::left},
               {"bound by", Align::left}},
              {},
              {}};
  for (const Json& plan : plans) {
    table.rows.push_back({{plan_text(plan)},
                          {plan.at("ranks").dump()},
                          {to_text(Seconds(plan.at("t_iter_s").get<double>()))},
                          {iteration_ends(plan)},
                          {rate_text(rate_of(plan))},
                          {worth_text(plan)},
                          {gigabytes(plan.at("memory_bytes").get<double>())},
                          {plan.at("fits").get<std::string>()},
                          {plan.at("bound").get<std::string>()}});
  }
  return table;
}

/// The times and messages of each stage of a pipeline; empty without stages.
std::vector<Table> stage_tables(const Json& plans) {
  std::vector<Table> tables;
  for (const Json& plan : plans) {
    const auto stages = plan.find("stages");
    if (stages == plan.end()) continue;
    tables.push_back(table_of_objects(*stages,
                                      "Times of a micro-batch by stage, from 0: " + plan_text(plan),
                                      {"stage", "layers", "forward_s", "backward_s", "message_s",
                                       "reduce_s", "busy", "in_flight"}));
  }
  return tables;
}

/// The words before the rate of the fastest plan that fits, or of the fastest if none does.
std::string opening_of_plans(bool is_single, const std::string& fits) {
  if (is_single) return fits == "no" ? "Does not fit the memory: " : "";
  if (fits == "yes") return "Fastest that fits: ";
  return fits == "no" ? "None fits; fastest: " : "None surely fits; fastest of those that may: ";
}

/// The rate of the fastest plan that fits, and its name.
std::string verdict_of_plans(const Json& plans, const Json& best) {
  const auto fits = best.at("fits").get<std::string>();
  const char* interval = best.contains("t_branches_s")
                             ? " No fitted training is like it, so the interval is unknown."
                             : "";
  const bool is_single = plans.size() == 1;
  return fmt::format("{}{} on {} with {}: an iteration takes {}, bound by {}{}{}.{}",
                     opening_of_plans(is_single, fits), throughput_text(best), ranks_text(best),
                     PlanNames(plans)(best), iteration_text(best),
                     best.at("bound").get<std::string>(), is_single ? fit_clause(fits) : "",
                     framework_clause(best), interval);
}

Page page_of_plans(const Json& answer) {
  const Json& plans = answer.at("plans");
  const Json& best = best_plan(plans);
  Page page = parallel_prediction_opening(answer);
  page.data = sheet_badge(answer, best);
  page.data_section = "notes";
  if (auto figure = parts_of_plans(plans)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  if (auto figure = pipeline_figure(best)) {
    page.sections.push_back({"pipeline", "A step of the pipeline", {FigureSlot{figure->name}}});
    page.figures.push_back(std::move(*figure));
  }
  page.sections.push_back({"plans", "All plans", {plans_table(plans)}});
  if (std::vector<Table> stages = stage_tables(plans); !stages.empty()) {
    Section section{"stages", "Stages", {}};
    for (Table& table : stages) section.blocks.emplace_back(std::move(table));
    page.sections.push_back(std::move(section));
  }
  page.sections.push_back(notes_section(answer));
  return page;
}

}  // namespace

Page parallel_prediction_opening(const Json& answer) {
  const Json& plans = answer.at("plans");
  const Json& best = best_plan(plans);
  Page page;
  page.kind = "prediction";
  page.question =
      fmt::format("How fast does {} train on {}?", best.at("network").get<std::string>(),
                  best.at("cluster").get<std::string>());
  page.verdict = verdict_of_plans(plans, best);
  page.tone = best.at("fits").get<std::string>() == "no" ? Tone::bad
              : framework_clause(best).empty()           ? Tone::plain
                                                         : Tone::caution;
  page.tiles = tiles_of_plan(best);
  return page;
}

AnswerPage parallel_prediction_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "predictions of plans", [](const Json& answer) {
    AnswerPage made{page_of_plans(answer), {}};
    const Json& plans = answer.at("plans");
    std::vector<std::string> values{"t_iter_s", words_of(plans.at(0)).rate, "memory_bytes"};
    for (const char* end : {"t_iter_low_s", "t_iter_high_s"}) {
      if (plans.at(0).contains(end)) values.emplace_back(end);
    }
    made.document.tables = {plans_table(plans)};
    made.document.records =
        records_of_objects({plans.begin(), plans.end()},
                           {"network", "cluster", "plan", "ranks", "global_batch"}, values);
    return made;
  });
}

}  // namespace dlscale::report
