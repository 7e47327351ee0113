#include "report/prediction/stages_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel/plan_text.hpp"
#include "core/text/quantity_text.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::PartMemory;
using model::StagedTraining;

/// A stage: one rank of a pipeline.
struct StageRow {
  int stage = 0;
  std::string layers;  ///< of each of its parts
  Seconds forward;     ///< of a micro-batch, all parts that are in order
  Seconds backward;
  Seconds message;  ///< to the next part, one way; 0 after the last
  Seconds reduce;
  double busy = 0;  ///< share of the iteration, 0 … 1
  int live = 0;     ///< pieces in flight
  PartMemory memory;
  Bytes device;
};

std::vector<StageRow> stage_rows(const StagedTraining& training) {
  const auto stages = static_cast<std::size_t>(training.shape.stages);
  std::vector<StageRow> rows(stages);
  for (std::size_t part = 0; part < training.layers.size(); ++part) {
    StageRow& row = rows[part % stages];
    row.layers += (row.layers.empty() ? "" : "/") + std::to_string(training.layers[part]);
    row.forward += training.costs.forward[part];
    row.backward += training.costs.backward[part];
    row.reduce = std::max(row.reduce, training.costs.reduce[part]);
    if (part < training.costs.boundary.size()) {
      row.message = std::max(row.message, training.costs.boundary[part]);
    }
  }
  for (std::size_t rank = 0; rank < stages; ++rank) {
    StageRow& row = rows[rank];
    row.stage = static_cast<int>(rank);
    row.busy = training.pipeline.busy[rank] / training.total;
    row.live = training.pipeline.live[rank];
    row.memory = training.memory[rank];
    row.device = training.device_memory;
  }
  return rows;
}

std::string stage_fits(const StageRow& row) {
  if (row.device <= Bytes()) return "unknown";
  return row.memory.total() <= row.device ? "yes" : "no";
}

Cell stage_fits_cell(const StageRow& row) {
  const std::string word = stage_fits(row);
  return {word, word == "no" ? Tone::bad : Tone::plain};
}

std::string stage_gigabytes(Bytes size) {
  return fmt::format("{:.3g}", size.si() / 1e9);
}

std::string share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

Fields<StageRow> stage_fields() {
  using enum Meaning;
  using F = Field<StageRow>;
  const auto time = [](std::string name, auto get, std::string header) {
    return F(std::move(name), value, get, std::move(header),
             [get](const StageRow& row) { return Cell{to_text(std::invoke(get, row))}; });
  };
  const auto bytes = [](std::string name, auto get) {
    return F(std::move(name), value,
             [get](const StageRow& row) { return std::invoke(get, row.memory); });
  };
  F verdict{"fits", state, stage_fits, "fits", stage_fits_cell, Align::left};
  verdict.states = {"yes", "no", "unknown"};
  return {
      {"stage", key, &StageRow::stage, "stage", as::exact},
      {"layers", remark, &StageRow::layers, "layers",
       [](const StageRow& row) { return Cell{row.layers}; }},
      time("forward_s", &StageRow::forward, "forward"),
      time("backward_s", &StageRow::backward, "backward"),
      time("message_s", &StageRow::message, "message"),
      time("reduce_s", &StageRow::reduce, "gradients"),
      {"busy", value, &StageRow::busy, "busy",
       [](const StageRow& row) { return Cell{share_text(row.busy)}; }},
      {"in_flight", value, &StageRow::live, "in flight", as::exact},
      bytes("states_bytes", &PartMemory::states),
      bytes("activations_bytes", &PartMemory::activations),
      bytes("gradients_bytes", &PartMemory::gradients),
      {"memory_bytes", value, [](const StageRow& row) { return row.memory.total(); }, "memory GB",
       [](const StageRow& row) { return Cell{stage_gigabytes(row.memory.total())}; }},
      std::move(verdict)};
}

struct StagedPartRow {
  std::string_view part;
  Seconds time;
  double share = 0;
};

std::vector<StagedPartRow> staged_part_rows(const StagedTraining& training) {
  const model::StagedParts& parts = training.parts;
  std::vector<StagedPartRow> rows;
  for (const auto& [name, time] : std::array<std::pair<std::string_view, Seconds>, 6>{
           {{"computing", parts.computing},
            {"unequal stages", parts.unequal},
            {"bubble", parts.bubble},
            {"messages between stages", parts.messages},
            {"gradients and update", parts.exchange},
            {"waiting for input", parts.input}}}) {
    rows.push_back({name, time, time / training.total});
  }
  return rows;
}

Fields<StagedPartRow> staged_part_fields() {
  using F = Field<StagedPartRow>;
  return {F(
              "part", Meaning::key, [](const StagedPartRow& row) { return std::string(row.part); },
              "part of the iteration",
              [](const StagedPartRow& row) { return Cell{std::string(row.part)}; }, Align::left),
          F("time_s", Meaning::value, &StagedPartRow::time, "time",
            [](const StagedPartRow& row) { return Cell{to_text(row.time)}; }),
          F("share", Meaning::value, &StagedPartRow::share, "share",
            [](const StagedPartRow& row) { return Cell{share_text(row.share)}; })};
}

std::string stages_lead(const StagedAnswer& answer) {
  const StagedTraining& training = answer.training;
  return fmt::format(
      "{} on {} of {}: {:.4g} images/s in iterations of {}, {:.3g} times one device ({} of {} "
      "devices). Most of the time goes to {}.",
      answer.run.network, answer.run.ranks, answer.run.cluster, training.images_per_s,
      to_text(training.total), training.speedup, share_text(training.efficiency), answer.run.ranks,
      training.bound());
}

std::string stages_title(const StagedAnswer& answer) {
  return fmt::format("Stages of {}: {}", answer.run.network, parallel::to_text(answer.plan));
}

std::vector<std::string> stages_notes(const StagedTraining& training) {
  std::vector<std::string> lines{
      fmt::format("{} micro-batches of {} images; times are of one micro-batch, messages one way.",
                  training.shape.micro_batches, training.micro_batch)};
  if (training.copies > 1) {
    lines.push_back("each stage also holds the part that the stage opposite to it has");
  }
  for (const std::string& note : note_texts(training.notes)) lines.push_back(note);
  return lines;
}

}  // namespace

Document stages_document(const StagedAnswer& answer) {
  const StagedTraining& training = answer.training;
  const std::vector<StageRow> rows = stage_rows(training);
  Table stages = table_of(stage_fields(), rows);
  stages.title = stages_title(answer);
  Table parts = table_of(staged_part_fields(), staged_part_rows(training));
  parts.notes = stages_notes(training);
  Document document;
  document.lead = stages_lead(answer);
  document.tables = {std::move(stages), std::move(parts)};
  document.records = records_of(stage_fields(), rows);
  document.json = json_answer("dlscale.stages", [answer] {
    const StagedTraining& all = answer.training;
    return Json{{"network", answer.run.network},
                {"cluster", answer.run.cluster},
                {"ranks", answer.run.ranks},
                {"plan", parallel::to_text(answer.plan)},
                {"micro_batch", all.micro_batch},
                {"micro_batches", all.shape.micro_batches},
                {"iteration_s", number(all.total.si())},
                {"images_per_s", number(all.images_per_s)},
                {"speedup", number(all.speedup)},
                {"efficiency", number(all.efficiency)},
                {"bound", std::string(all.bound())},
                {"bubble", number(all.pipeline.bubble())},
                {"parts", list_of(staged_part_fields(), staged_part_rows(all))},
                {"stages", list_of(stage_fields(), stage_rows(all))},
                {"notes", notes_object(all.notes)}};
  });
  return document;
}

}  // namespace dlscale::report
