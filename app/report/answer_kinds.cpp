#include "app/report/answer_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/report/next_steps.hpp"
#include "core/base/error.hpp"
#include "core/system/output_file.hpp"
#include "report/answers/comparison_page.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/plan_page.hpp"
#include "report/answers/prediction_page.hpp"

namespace dlscale::app {
namespace {

using report::AnswerPage;
using report::NextStep;

/// Steps that follow from the text alone.
template <std::vector<NextStep> (*steps)(const std::string&)>
std::vector<NextStep> of_text(const std::string& text, const AnswerPage& /*made*/) {
  return steps(text);
}

std::vector<NextStep> of_run(const std::string& text, const AnswerPage& made) {
  return made.run ? steps_of_run(*made.run, text) : std::vector<NextStep>{};
}

constexpr std::array answer_kinds{
    AnswerKind{"dlscale.prediction", report::prediction_page, of_run},
    AnswerKind{"dlscale.sweep", report::prediction_page, of_run},
    AnswerKind{"dlscale.plan", report::plan_page, of_text<steps_of_planned_run>},
    AnswerKind{"dlscale.comparison", report::comparison_page, of_text<steps_of_comparison>},
    AnswerKind{"dlscale.parallel_plan", report::parallel_plan_page,
               of_text<steps_of_parallel_plan>},
    AnswerKind{"dlscale.parallel_prediction", report::parallel_prediction_page,
               of_text<steps_of_parallel_run>},
    AnswerKind{"dlscale.stages", report::parallel_prediction_page, of_text<steps_of_stages>},
    AnswerKind{"dlscale.stages_explanation", report::parallel_prediction_page,
               of_text<steps_of_explanation>},
    AnswerKind{"dlscale.branch_prediction", report::parallel_prediction_page,
               of_text<steps_of_branches>},
    AnswerKind{"dlscale.explanation", report::explanation_page, of_text<steps_of_explanation>},
    AnswerKind{"dlscale.parallel_explanation", report::explanation_page,
               of_text<steps_of_explanation>},
    AnswerKind{"dlscale.memory", report::memory_page, of_text<steps_of_memory>},
    AnswerKind{"dlscale.parallel_memory", report::memory_page, of_text<steps_of_memory>},
    AnswerKind{"dlscale.parallel_fit", report::memory_page, of_text<steps_of_memory>},
    AnswerKind{"dlscale.stages_memory", report::memory_page, of_text<steps_of_memory>}};

/// A kind of answer without a page, and what makes one on its subject.
struct Pageless {
  std::string_view schema;
  std::string_view advice;
};
constexpr std::string_view of_results =
    "A page on measurements is made of their folder: dlscale report FOLDER -o page.";
constexpr std::string_view of_whole_trainings =
    "A page on whole trainings is made of the JSON of dlscale plan.";
constexpr std::string_view of_histories =
    "A page on a history is made of its folder: dlscale report --history FOLDER -o page.";
constexpr std::array pageless_kinds{
    Pageless{"dlscale.training_time", of_whole_trainings},
    Pageless{"dlscale.training_cost", of_whole_trainings},
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
  AnswerPage made = kind.page(text, file);
  try {
    made.page.next = kind.steps(text, made);
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
  const std::string& schema = answer.json.schema();
  const std::string text = answer.json();
  const auto* const kind = std::ranges::find(answer_kinds, schema, &AnswerKind::schema);
  if (kind == answer_kinds.end()) {
    answer.next = steps_to_type(steps_of_details(text));
    return;
  }
  const AnswerPage made = answer_page(*kind, text, "the answer");
  if (answer.lead.empty()) answer.lead = made.page.verdict;
  answer.next = steps_to_type(made.page.next);
}

}  // namespace dlscale::app
