#include "app/report/answer_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/report/further_questions.hpp"
#include "app/report/next_steps.hpp"
#include "core/base/error.hpp"
#include "core/system/output_file.hpp"
#include "report/answers/comparison_page.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/plan_page.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/answers/training_page.hpp"

namespace dlscale::app {
namespace {

using report::Json;
using report::NextStep;

std::vector<NextStep> of_run(const Json& answer) {
  return steps_of_run(report::suggested_run(answer), answer);
}

constexpr AnswerKind of_predictions(std::string_view schema) {
  return {schema, report::prediction_page, report::prediction_opening, of_run};
}
using Steps = std::vector<NextStep> (*)(const Json& answer);

constexpr AnswerKind of_plans(std::string_view schema, Steps steps) {
  return {schema, report::parallel_prediction_page, report::parallel_prediction_opening, steps};
}
constexpr AnswerKind of_explanation(std::string_view schema) {
  return {schema, report::explanation_page, report::explanation_opening, steps_of_explanation};
}
constexpr AnswerKind of_memory(std::string_view schema) {
  return {schema, report::memory_page, report::memory_opening, steps_of_memory};
}
constexpr AnswerKind of_trainings(std::string_view schema) {
  return {schema, report::training_page, report::training_opening, steps_of_details};
}

constexpr std::array answer_kinds{
    of_predictions("dlscale.prediction"),
    of_predictions("dlscale.sweep"),
    AnswerKind{"dlscale.plan", report::plan_page, report::plan_opening, steps_of_planned_run},
    AnswerKind{"dlscale.parallel_plan", report::parallel_plan_page, report::parallel_plan_opening,
               steps_of_parallel_plan},
    of_plans("dlscale.parallel_prediction", steps_of_parallel_run),
    of_plans("dlscale.stages", steps_of_stages),
    of_plans("dlscale.stages_explanation", steps_of_explanation),
    of_plans("dlscale.branch_prediction", steps_of_branches),
    of_explanation("dlscale.explanation"),
    of_explanation("dlscale.parallel_explanation"),
    of_memory("dlscale.memory"),
    of_memory("dlscale.parallel_memory"),
    of_memory("dlscale.parallel_fit"),
    of_memory("dlscale.stages_memory"),
    of_trainings("dlscale.training_time"),
    of_trainings("dlscale.training_cost"),
    AnswerKind{"dlscale.comparison", report::comparison_page, nullptr, steps_of_comparison}};

/// A kind of answer without a page, and what makes one on its subject.
struct Pageless {
  std::string_view schema;
  std::string_view advice;
};
constexpr std::string_view of_results =
    "A page on measurements is made of their folder: dlscale report FOLDER -o page.";
constexpr std::string_view of_histories =
    "A page on a history is made of its folder: dlscale report --history FOLDER -o page.";
constexpr std::array pageless_kinds{
    Pageless{"dlscale.out_of_core", "A page on memory is made of the JSON of predict --memory."},
    Pageless{"dlscale.layers",
             "A page on iterations is made of the JSON of dlscale predict without --layers."},
    Pageless{"dlscale.timed_prediction",
             "A page on iterations is made of the JSON of dlscale predict for a network."},
    Pageless{"dlscale.collectives", of_results},
    Pageless{"dlscale.message_validation", of_results},
    Pageless{"dlscale.validation", of_results},
    Pageless{"dlscale.roofline", of_results},
    Pageless{"dlscale.roofline_validation", of_results},
    Pageless{"dlscale.nominal_roofline",
             "dlscale roofline show draws it by --figure roofline.svg."},
    Pageless{"dlscale.choice", of_results},
    Pageless{"dlscale.result_summary", of_results},
    Pageless{"dlscale.side_by_side",
             "Its page is made of the folders: dlscale report A B --side-by-side -o page."},
    Pageless{"dlscale.history_check", of_histories},
    Pageless{"dlscale.history_list", of_histories},
    Pageless{"dlscale.score", "The format markdown of dlscale validate has its tables."},
    Pageless{"dlscale.memory_score", "The format markdown of dlscale validate has its tables."},
    Pageless{"dlscale.doctor", "The format markdown of dlscale doctor has its tables."}};

}  // namespace

const AnswerKind* answer_kind(const std::string& path) {
  const auto is_of = [&path](const auto& kind) { return has_schema(path, kind.schema); };
  const auto* const pageless = std::ranges::find_if(pageless_kinds, is_of);
  if (pageless != pageless_kinds.end()) {
    throw ConfigError(fmt::format("{} is an answer ({}) that has no page. {}", path,
                                  pageless->schema, pageless->advice));
  }
  const auto* const kind = std::ranges::find_if(answer_kinds, is_of);
  return kind == answer_kinds.end() ? nullptr : kind;
}

report::AnswerPage answer_page(const AnswerKind& kind, const std::string& text,
                               const std::string& file) {
  report::AnswerPage made = kind.page(text, file);
  try {
    made.page.next = kind.steps(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw report::unreadable_answer(file, "answers", error);
  }
  return made;
}

std::vector<NextStep> steps_to_type(std::vector<NextStep> steps) {
  constexpr std::size_t most = 3;
  std::erase_if(steps, [](const NextStep& step) {
    return !step.placeholders.empty() || step.command.empty();
  });
  if (steps.size() > most) steps.resize(most);
  return steps;
}

void open_like_page(report::Document& answer) {
  const auto* const kind =
      std::ranges::find(answer_kinds, answer.json.schema(), &AnswerKind::schema);
  if (!answer.json.summary()) return;  // as of a file's text
  const Json summary = answer.json.summary()();
  if (kind == answer_kinds.end()) {
    answer.next = steps_to_type(steps_of_details(summary));
    return;
  }
  if (kind->opening != nullptr) answer.lead = kind->opening(summary).verdict;
  answer.next = steps_to_type(kind->steps(summary));
}

}  // namespace dlscale::app
