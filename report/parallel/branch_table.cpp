#include "report/parallel/branch_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/table/field_table.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::BranchIteration;
using model::memory::MemoryEstimate;
using model::parallel_time::FitQuestion;

/// A row with the question.
struct AskedBranchRow {
  const BranchAnswer* answer;
  BranchRow row;
  [[nodiscard]] double samples_per_s() const {
    return static_cast<double>(answer->global_batch) / row.iteration.total.si();
  }
};
using BranchField = Field<AskedBranchRow>;

/// A part of the step: its key for programs, its heading, what it bounds, and its time.
struct BranchPart {
  const char* key;
  const char* heading;
  std::string_view word;
  Seconds (*time)(const BranchIteration& of);
};

constexpr std::array<BranchPart, 5> branch_parts{{
    {"t_serial_s", "= serial", "serial layers",
     [](const BranchIteration& of) { return of.compute - of.branches; }},
    {"t_branches_s", "+ branches", "branches",
     [](const BranchIteration& of) { return of.branches; }},
    {"t_branch_messages_s", "+ entries, exits", "entries and exits",
     [](const BranchIteration& of) { return of.exchange; }},
    {"t_gradients_s", "+ gradients", "gradients",
     [](const BranchIteration& of) { return of.exposed; }},
    {"t_update_s", "+ update", "update", [](const BranchIteration& of) { return of.update; }},
}};

std::string bound_of_step(const AskedBranchRow& row) {
  const auto time = [&](const BranchPart& part) { return part.time(row.row.iteration); };
  return std::string(std::ranges::max_element(branch_parts, {}, time)->word);
}

std::string branch_plan(const AskedBranchRow& row) {
  return row.row.plan.empty() ? "data=1" : row.row.plan;
}

std::string step_text(Seconds time) {
  return significant(1e3 * time.si(), 4);
}

FitQuestion branch_memory(const AskedBranchRow& row) {
  return {0, row.row.iteration.memory, row.answer->device_memory.si()};
}

/// The plan for people, whose replicas follow from its GPUs: "branches=8", "data".
std::string branches_text(const AskedBranchRow& row) {
  return row.row.branches > 1 ? fmt::format("branches={}", row.row.branches) : "data";
}

Fields<AskedBranchRow> place_columns() {
  return {BranchField::table("GPUs", via(&AskedBranchRow::row, &BranchRow::ranks), as::exact),
          BranchField::table("plan", branches_text, Align::left)};
}

/// Narrow terminals go without the bound, then without the time of the step.
Fields<AskedBranchRow> answer_columns(const BranchAnswer& answer) {
  const Fields<AskedBranchRow> step{BranchField::table(
      "step ms", [](const AskedBranchRow& row) { return step_text(row.row.iteration.total); })};
  const Fields<AskedBranchRow> bound{BranchField::table("bound by", bound_of_step, Align::left)};
  return joined<AskedBranchRow>(
      {place_columns(),
       {BranchField::table(
           answer.samples + "/s",
           [](const AskedBranchRow& row) { return rate_text(row.samples_per_s()); })},
       spared(1, step),
       {BranchField::table(
            "gain", [](const AskedBranchRow& row) { return fmt::format("{:.2f}", row.row.gain); }),
        BranchField::table(
            fmt::format("GB of {}", in_gb(answer.device_memory.si())),
            [](const AskedBranchRow& row) { return need_text(row.row.iteration.memory); }),
        BranchField::table(
            "fits", [](const AskedBranchRow& row) { return fits_cell(branch_memory(row)); },
            Align::left)},
       spared(2, bound)});
}

Fields<AskedBranchRow> part_columns() {
  Fields<AskedBranchRow> fields = place_columns();
  fields.push_back(BranchField::table(
      "step ms", [](const AskedBranchRow& row) { return step_text(row.row.iteration.total); }));
  fields.back().spare = 1;  // the first table has it, too
  for (const BranchPart& part : branch_parts) {
    fields.push_back(
        BranchField::table(part.heading, [time = part.time](const AskedBranchRow& row) {
          const Seconds seconds = time(row.row.iteration);
          return seconds > Seconds() ? step_text(seconds) : std::string("–");
        }));
  }
  return fields;
}

Fields<AskedBranchRow> branch_fields() {
  using enum Meaning;
  const auto asked = [](auto member) {
    return [member](const AskedBranchRow& row) { return row.answer->*member; };
  };
  const auto of = [](auto member) {
    return via(&AskedBranchRow::row, &BranchRow::iteration, member);
  };
  Fields<AskedBranchRow> fields{{"network", key, asked(&BranchAnswer::network)},
                                {"cluster", key, asked(&BranchAnswer::cluster)},
                                {"plan", key, branch_plan},
                                {"ranks", key, via(&AskedBranchRow::row, &BranchRow::ranks)},
                                {"branches", key, via(&AskedBranchRow::row, &BranchRow::branches)},
                                {"global_batch", key, asked(&BranchAnswer::global_batch)},
                                {"dtype", key, asked(&BranchAnswer::dtype)},
                                {"samples_per_s", value, &AskedBranchRow::samples_per_s},
                                {"t_iter_s", value, of(&BranchIteration::total)}};
  for (const BranchPart& part : branch_parts) {
    fields.push_back({part.key, value, [time = part.time](const AskedBranchRow& row) {
                        return time(row.row.iteration);
                      }});
  }
  const auto need = [](double MemoryEstimate::*end) {
    return [end](const AskedBranchRow& row) { return row.row.iteration.memory.*end; };
  };
  BranchField verdict{"fits", state,
                      [](const AskedBranchRow& row) { return fits_word(branch_memory(row)); }};
  verdict.states = {"yes", "no", "unsure"};
  return joined<AskedBranchRow>(
      {fields,
       {{"gain", value, via(&AskedBranchRow::row, &BranchRow::gain)},
        {"memory_bytes", value, need(&MemoryEstimate::bytes)},
        {"memory_low_bytes", value, need(&MemoryEstimate::low)},
        {"memory_high_bytes", value, need(&MemoryEstimate::high)},
        {"device_memory_bytes", value, asked(&BranchAnswer::device_memory)},
        verdict,
        {"gradient_bytes", value, of(&BranchIteration::gradient)},
        {"exchanged_bytes", value, of(&BranchIteration::exchanged)},
        {"branches_on_node", value, of(&BranchIteration::branches_on_node)},
        {"bound", remark, bound_of_step}}});
}

Json json_of(const BranchAnswer& answer, const std::vector<AskedBranchRow>& rows) {
  Json notes = Json::array();
  for (const std::string& note : answer.notes) notes.push_back(note);
  return Json{{"plans", list_of(branch_fields(), rows)}, {"notes", notes}};
}

std::vector<AskedBranchRow> asked_rows(const BranchAnswer& answer) {
  EXPECT(!answer.rows.empty());
  std::vector<AskedBranchRow> rows;
  for (const BranchRow& row : answer.rows) rows.push_back({&answer, row});
  return rows;
}

std::string branch_title(const BranchAnswer& answer) {
  return fmt::format("{} on {} by data and branches; {} {}, {}", answer.network, answer.cluster,
                     answer.global_batch, answer.samples, answer.dtype);
}

/// The answer for programs, without tables.
Document branch_records(const BranchAnswer& answer, const std::vector<AskedBranchRow>& rows) {
  Document document;
  document.records = records_of(branch_fields(), rows);
  document.json =
      json_answer("dlscale.branch_prediction", [json = json_of(answer, rows)] { return json; });
  return document;
}

}  // namespace

Document branch_document(const BranchAnswer& answer) {
  const std::vector<AskedBranchRow> rows = asked_rows(answer);
  Table answers = table_of(answer_columns(answer), rows);
  answers.title = branch_title(answer);
  Table step = table_of(part_columns(), rows);
  step.notes = answer.notes;
  step.notes.emplace_back("Gain is over data parallelism on as many GPUs.");
  step.notes.emplace_back("Rests on data sheets.");
  Document document = branch_records(answer, rows);
  document.tables = {std::move(answers), std::move(step)};
  return document;
}

Document branch_fit_document(const BranchAnswer& answer) {
  const std::vector<AskedBranchRow> rows = asked_rows(answer);
  Table table;
  table.title = branch_title(answer);
  for (const AskedBranchRow& row : rows) {
    table.notes.push_back(fmt::format("{} by {}: {}", counted(row.row.ranks, "GPU"),
                                      branch_plan(row), fit_sentence(branch_memory(row), 1)));
  }
  table.notes.insert(table.notes.end(), answer.notes.begin(), answer.notes.end());
  Document document = branch_records(answer, rows);
  document.tables = {std::move(table)};
  return document;
}

}  // namespace dlscale::report
