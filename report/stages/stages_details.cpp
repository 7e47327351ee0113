#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/kernels/layer_memory.hpp"
#include "report/parallel/memory_bar.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/stages/stages_table.hpp"

namespace dlscale::report {
namespace {

using model::PartMemory;
using model::StagedTraining;

/// A stage: one rank of a pipeline.
struct StageOfPlan {
  const StagedRow* plan = nullptr;
  int stage = 0;
  std::string layers;  ///< of each of its parts
  Seconds forward;     ///< of a micro-batch, all parts that are in order
  Seconds backward;
  Seconds message;  ///< to the next part, one way; 0 after the last
  Seconds reduce;
  double busy = 0;  ///< share of the iteration, 0 … 1
  int live = 0;     ///< pieces in flight
  PartMemory memory;
  Bytes libraries;
  [[nodiscard]] Bytes total() const { return memory.total() + libraries; }
};
using StageField = Field<StageOfPlan>;

std::vector<StageOfPlan> stages_of(const StagedRow& plan) {
  const StagedTraining& training = plan.training();
  const auto stages = static_cast<std::size_t>(training.shape.stages);
  std::vector<StageOfPlan> rows(stages);
  for (std::size_t part = 0; part < training.layers.size(); ++part) {
    StageOfPlan& row = rows[part % stages];
    row.layers += (row.layers.empty() ? "" : "/") + std::to_string(training.layers[part]);
    row.forward += training.costs.forward[part];
    row.backward += training.costs.backward[part];
    row.reduce = std::max(row.reduce, training.costs.reduce[part]);
    if (part < training.costs.boundary.size()) {
      row.message = std::max(row.message, training.costs.boundary[part]);
    }
  }
  for (std::size_t rank = 0; rank < stages; ++rank) {
    StageOfPlan& row = rows[rank];
    row.plan = &plan;
    row.stage = static_cast<int>(rank);
    row.busy = training.pipeline.busy[rank] / training.total;
    row.live = training.pipeline.live[rank];
    row.memory = training.memory[rank];
    row.libraries = Bytes(training.libraries.bytes);
  }
  return rows;
}

/// The first and last stages, the fullest, and some between: as many as a screen holds.
std::vector<StageOfPlan> shown_stages_of(const StagedRow& plan, bool all) {
  constexpr std::size_t most = 16;
  const std::vector<StageOfPlan> rows = stages_of(plan);
  if (all || rows.size() <= most) return rows;
  std::vector<StageOfPlan> shown;
  const std::size_t fullest = plan.training().fullest();
  std::size_t next = 0;
  for (std::size_t stage = 0; stage < rows.size(); ++stage) {
    const bool is_due = stage == next * (rows.size() - 1) / (most - 1);
    if (is_due) ++next;
    if (is_due || stage == fullest) shown.push_back(rows[stage]);
  }
  return shown;
}

void note_hidden_stages(const StagedRow& plan, std::size_t shown, Table& table) {
  const auto all = static_cast<std::size_t>(plan.training().shape.stages);
  if (shown == all) return;
  table.notes.push_back(fmt::format("{} of {} stages are shown", shown, all));
}

/// Stages count from 1 for people, from 0 for programs.
StageField stage_number() {
  return {"stage", Meaning::key, &StageOfPlan::stage, "stage",
          [](const StageOfPlan& row) { return Cell{std::to_string(row.stage + 1)}; }};
}

StageField time_of_stage(const char* name, Seconds StageOfPlan::*time, const char* heading) {
  return {name, Meaning::value, time, heading,
          [time](const StageOfPlan& row) { return Cell{to_text(row.*time)}; }};
}

Fields<StageOfPlan> time_fields_of_stage() {
  return {stage_number(),
          {"layers", Meaning::remark, &StageOfPlan::layers, "layers",
           [](const StageOfPlan& row) { return Cell{row.layers}; }},
          time_of_stage("forward_s", &StageOfPlan::forward, "forward"),
          time_of_stage("backward_s", &StageOfPlan::backward, "backward"),
          time_of_stage("message_s", &StageOfPlan::message, "message"),
          time_of_stage("reduce_s", &StageOfPlan::reduce, "gradients"),
          {"busy", Meaning::value, &StageOfPlan::busy, "busy", as::percent},
          {"in_flight", Meaning::value, &StageOfPlan::live, "in flight", as::exact}};
}

/// A kind of memory: its name, its letter in the bar, and its bytes.
struct KindOfMemory {
  const char* key;
  const char* name;
  char letter;
  Bytes PartMemory::*bytes;
};
constexpr std::array<KindOfMemory, 4> kinds_of_memory{
    {{"states_bytes", "states", 'S', &PartMemory::states},
     {"activations_bytes", "activations", 'A', &PartMemory::activations},
     {"gradients_bytes", "gradients of a layer", 'G', &PartMemory::gradients},
     {"batch_bytes", "next batch", 'B', &PartMemory::batch}}};

Fields<StageOfPlan> memory_fields_of_stage() {
  Fields<StageOfPlan> fields{stage_number()};
  for (const KindOfMemory& kind : kinds_of_memory) {
    const auto bytes = [which = kind.bytes](const StageOfPlan& row) { return row.memory.*which; };
    fields.emplace_back(kind.key, Meaning::value, bytes, kind.name,
                        [bytes](const StageOfPlan& row) { return Cell{in_gb(bytes(row).si())}; });
  }
  fields.emplace_back("libraries_bytes", Meaning::value, &StageOfPlan::libraries, "libraries",
                      [](const StageOfPlan& row) { return Cell{in_gb(row.libraries.si())}; });
  fields.emplace_back("memory_bytes", Meaning::value, &StageOfPlan::total, "GB",
                      [](const StageOfPlan& row) { return Cell{in_gb(row.total().si())}; });
  return fields;
}

std::string bar_of(const StagedTraining& training) {
  const PartMemory& fullest = training.memory[training.fullest()];
  std::vector<BarPart> parts;
  for (const KindOfMemory& kind : kinds_of_memory) {
    parts.push_back({kind.name, kind.letter, (fullest.*kind.bytes).si()});
  }
  parts.push_back({"libraries", 'C', training.libraries.bytes});
  return memory_bar(parts, training.device_memory.si());
}

/// The sources of the interval of the need.
std::string least_known(const StagedTraining& training) {
  const std::string libraries =
      training.libraries.high > 0
          ? fmt::format("; libraries, {} … {} GB", in_gb(training.libraries.low),
                        in_gb(training.libraries.high))
          : "";
  return fmt::format(
      "Least known: activations, from those of products alone to {} times all, with what "
      "allocators lose{}.",
      model::most_copies, libraries);
}

Table memory_of_plan(const StagedRow& plan, bool all) {
  const std::vector<StageOfPlan> shown = shown_stages_of(plan, all);
  Table table = table_of(memory_fields_of_stage(), shown);
  table.title = "Memory of a rank in GB: " + staged_title({plan});
  const StagedTraining& training = plan.training();
  note_hidden_stages(plan, shown.size(), table);
  if (training.device_memory > Bytes()) table.notes.push_back(bar_of(training));
  table.notes.push_back(staged_fit_sentence(plan));
  if (training.copies > 1) {
    table.notes.emplace_back("Each stage also holds the part that the stage opposite to it has.");
  }
  table.notes.push_back(least_known(training));
  return table;
}

struct PartOfStep {
  std::string_view part;
  Seconds time;
  double share = 0;
};

Table parts_of_plan(const StagedRow& plan) {
  const StagedTraining& training = plan.training();
  const model::StagedParts& parts = training.parts;
  std::vector<PartOfStep> rows;
  for (const auto& [name, time] : std::array<std::pair<std::string_view, Seconds>, 7>{
           {{"computing", parts.computing},
            {"unequal stages", parts.unequal},
            {"bubble", parts.bubble},
            {"messages between stages", parts.messages},
            {"messages of strips", parts.strips},
            {"gradients and update", parts.exchange},
            {"waiting for input", parts.input}}}) {
    constexpr double rounding = 1e-12;
    const bool is_nothing = time < rounding * training.total;
    rows.push_back({name, is_nothing ? Seconds() : time, time / training.total});
  }
  using F = Field<PartOfStep>;
  Table table =
      table_of(Fields<PartOfStep>{F::table(
                                      "part of the step",
                                      [](const PartOfStep& row) { return std::string(row.part); },
                                      Align::left),
                                  F::table("ms", &PartOfStep::time, as::milliseconds),
                                  F::table("of the step", &PartOfStep::share, as::percent)},
               rows);
  table.title = staged_title({plan});
  if (training.errors) {
    const model::StageErrors& errors = *training.errors;
    table.notes.push_back(fmt::format(
        "The interval of the step, {} (90 %), joins {} of kernels and input, {} of sums of "
        "gradients, {} of {}.",
        factors_text(errors.all()), factors_text(errors.computing), factors_text(errors.exchange),
        factors_text(errors.pipeline),
        plan.answer->plan.context > 1 ? "pipelines, which is a judgement for strips"
                                      : "pipelines"));
  }
  return table;
}

Table stages_of_plan(const StagedRow& plan, bool all) {
  const std::vector<StageOfPlan> shown = shown_stages_of(plan, all);
  Table table = table_of(time_fields_of_stage(), shown);
  table.title = "Stages, times of a micro-batch";
  note_hidden_stages(plan, shown.size(), table);
  table.notes.emplace_back(
      "message: to the next stage, one way; gradients: their sum over copies, beside computing");
  return table;
}

/// Records and JSON: a row a stage, with the question.
void add_stages(const StagedAnswers& answers, const std::vector<StagedRow>& rows,
                const Fields<StageOfPlan>& fields, const char* schema, Document& document) {
  std::vector<StageOfPlan> stages;
  Json list = Json::array();
  for (const StagedRow& row : rows) {
    const std::vector<StageOfPlan> own = stages_of(row);
    Json object =
        object_of(joined<StagedRow>({staged_question_fields(), staged_answer_fields()}), row);
    object["stages"] = list_of(fields, own);
    list.push_back(std::move(object));
    stages.insert(stages.end(), own.begin(), own.end());
  }
  const auto of_plan = [](const StageOfPlan& stage) -> const StagedRow& { return *stage.plan; };
  document.records = records_of(
      joined<StageOfPlan>({part_of<StageOfPlan>(staged_question_fields(), of_plan), fields}),
      stages);
  document.json = json_answer(schema, [list, notes = staged_notes(answers)] {
    return Json{{"plans", list}, {"notes", notes}};
  });
}

}  // namespace

Document stages_memory_document(const StagedAnswers& answers) {
  const std::vector<StagedRow> rows = staged_rows(answers);
  Document document;
  for (const StagedRow& row : rows) {
    document.tables.push_back(memory_of_plan(row, answers.all_notes));
  }
  for (const std::string& note : staged_notes(answers)) {
    document.tables.back().notes.push_back(note);
  }
  add_stages(answers, rows, memory_fields_of_stage(), "dlscale.stages_memory", document);
  return document;
}

Document stages_explanation_document(const StagedAnswers& answers) {
  const std::vector<StagedRow> rows = staged_rows(answers);
  Document document;
  for (const StagedRow& row : rows) {
    document.tables.push_back(parts_of_plan(row));
    document.tables.push_back(stages_of_plan(row, answers.all_notes));
  }
  for (const std::string& note : staged_notes(answers)) {
    document.tables.back().notes.push_back(note);
  }
  add_stages(answers, rows, time_fields_of_stage(), "dlscale.stages_explanation", document);
  return document;
}

}  // namespace dlscale::report
