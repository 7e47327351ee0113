#include "report/parallel/parallel_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/parallel/memory_bar.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::memory::MemoryCounter;
using model::memory::MemoryKind;
using model::memory::MemoryMoment;
using model::memory::MemoryParts;
using model::memory::StageMemory;
using model::parallel_time::AnsweredPlan;
using model::parallel_time::ComparedPlans;
using model::parallel_time::Remedy;

constexpr std::array moments{MemoryMoment::loss, MemoryMoment::backward, MemoryMoment::update};

/// Memory of one stage's ranks at one moment.
struct StageRow {
  const ParallelRow* plan = nullptr;
  StageMemory stage;
  MemoryMoment moment = MemoryMoment::loss;
  [[nodiscard]] const MemoryParts& parts() const { return stage.parts(moment); }
  [[nodiscard]] bool is_peak() const { return stage.peak(MemoryCounter::device) == moment; }
  [[nodiscard]] double total() const { return parts().total(MemoryCounter::device); }
  [[nodiscard]] int number() const { return stage.stage + 1; }  ///< from 1
};
using StageField = Field<StageRow>;

/// Kinds that people see as one, with the letter of the bar.
struct KindGroup {
  std::string_view name;
  char letter;
  std::array<MemoryKind, 2> kinds;
  int spare = 0;
  [[nodiscard]] double bytes(const MemoryParts& parts) const {
    return parts[kinds[0]] + (kinds[0] == kinds[1] ? 0 : parts[kinds[1]]);
  }
};
constexpr std::array<KindGroup, 9> groups{
    {{"weights", 'W', {MemoryKind::weights, MemoryKind::weights}},
     {"gradients", 'G', {MemoryKind::gradients, MemoryKind::gradients}},
     {"optimiser", 'O', {MemoryKind::main_weights, MemoryKind::moments}},
     {"activations", 'A', {MemoryKind::activations, MemoryKind::backward}},
     {"loss", 'L', {MemoryKind::loss, MemoryKind::loss}},
     {"gathered", 'S', {MemoryKind::gathered, MemoryKind::gathered}},
     {"buffers", 'B', {MemoryKind::buffers, MemoryKind::buffers}, 2},
     {"fragmentation", 'F', {MemoryKind::fragmentation, MemoryKind::fragmentation}},
     {"libraries", 'C', {MemoryKind::libraries, MemoryKind::libraries}, 1}}};

StageField group_field(const KindGroup& group) {
  StageField field = StageField::table(std::string(group.name), [&group](const StageRow& row) {
    return in_gb(group.bytes(row.parts()));
  });
  field.spare = group.spare;
  return field;
}

Fields<StageRow> table_fields(const std::vector<StageRow>& rows) {
  Fields<StageRow> fields{
      StageField::table("stage", [](const StageRow& row) { return std::to_string(row.number()); }),
      StageField::table(
          "at", [](const StageRow& row) { return std::string(to_string(row.moment)); },
          Align::left)};
  for (const KindGroup& group : groups) {
    const auto has_some = [&](const StageRow& row) {
      return in_gb(group.bytes(row.parts())) != "0";
    };
    if (std::ranges::any_of(rows, has_some)) fields.push_back(group_field(group));
  }
  fields.push_back(StageField::table("GB", [](const StageRow& row) { return in_gb(row.total()); }));
  return fields;
}

/// The stages that are shown: all, or the first, the fullest and the last.
std::set<int> shown_stages(const AnsweredPlan& plan, bool all) {
  const int stages = plan.answer.plan.stages;
  std::set<int> shown{0, plan.answer.memory.worst(MemoryCounter::device).stage, stages - 1};
  for (int stage = 0; all && stage < stages; ++stage) shown.insert(stage);
  return shown;
}

std::vector<StageRow> stage_rows(const ParallelRow& plan, const AnsweredPlan& from) {
  std::vector<StageRow> rows;
  for (const StageMemory& stage : from.answer.memory.stages) {
    for (const MemoryMoment moment : moments) rows.push_back({&plan, stage, moment});
  }
  return rows;
}

std::string bar(const MemoryParts& parts, double device) {
  std::vector<BarPart> kinds;
  for (const KindGroup& group : groups) {
    kinds.push_back({group.name, group.letter, group.bytes(parts)});
  }
  return memory_bar(kinds, device);
}

/// The sources of the interval of the need.
std::string least_known(const AnsweredPlan& plan) {
  const auto& memory = plan.answer.memory;
  return fmt::format(
      "Least known: activations, loss and what allocators lose, {:.2f} … {:.2f} times these, by "
      "implementation; libraries, {} … {} GB.",
      memory.way.low, memory.way.high, in_gb(memory.libraries.low), in_gb(memory.libraries.high));
}

FitVerdict verdict_of(const ParallelRow& row, const Remedy& remedy) {
  return fit_verdict(
      model::parallel_time::fit_question(remedy.answer.memory, row.memory.device_bytes));
}

/// The time of a plan that fits beside that of the row: "time +4.1 %". A row that waits for memory
/// which it does not have is nothing to compare with: "step 24.1 s".
std::string time_beside(const ParallelRow& row, const Remedy& remedy) {
  const double seconds = remedy.answer.seconds();
  const bool is_real = row.parts.waits <= 0 || row.memory.need.bytes <= row.memory.device_bytes;
  if (!is_real) return fmt::format("step {} s", significant(seconds, 3));
  const double longer = seconds / row.seconds - 1;
  return fmt::format("time {}{}", longer < 0 ? "−" : "+", percent(std::abs(longer)));
}

/// "It would fit with recompute=selective (time +4.1 %), or micro_batch=1 (time +9.0 %)." It names
/// the surest ones, in the words of their verdict.
std::string remedy_sentence(const ParallelRow& row, std::vector<Remedy> remedies) {
  if (remedies.empty()) return "";
  constexpr std::size_t most = 2;
  constexpr std::array<std::string_view, 3> begins{
      "It would fit with", "It would probably fit with", "Unsure whether it would fit with"};
  FitVerdict surest = FitVerdict::unsure;
  for (const Remedy& one : remedies) surest = std::min(surest, verdict_of(row, one));
  std::erase_if(remedies, [&](const Remedy& one) { return verdict_of(row, one) > surest; });
  if (remedies.size() > most) remedies.resize(most);
  std::vector<std::string> changes;
  for (const Remedy& one : remedies) {
    changes.push_back(fmt::format("{} ({})", one.change, time_beside(row, one)));
  }
  return fmt::format("{} {}.", begins.at(static_cast<std::size_t>(surest)),
                     fmt::join(changes, ", or "));
}

void add_remedies(const ParallelRow& row, const AnsweredPlan& plan,
                  const std::vector<Remedy>& remedies, std::vector<std::string>& notes) {
  if (const std::string sentence = remedy_sentence(row, remedies); !sentence.empty()) {
    notes.push_back(sentence);
  } else if (!plan.answer.verdict.fits) {
    notes.emplace_back(
        "Neither a smaller micro-batch, recomputation, ZeRO, more tensor-parallel ranks nor more "
        "stages make it fit, nor two of these, as far as the framework runs them. Ask plan, or "
        "take more GPUs.");
  }
}

Table memory_table(const ParallelRow& row, const AnsweredPlan& plan,
                   const std::vector<Remedy>& remedies, bool all) {
  const std::set<int> shown = shown_stages(plan, all);
  std::vector<StageRow> rows = stage_rows(row, plan);
  std::erase_if(rows, [&](const StageRow& one) {
    return !shown.contains(one.stage.stage) || !(all || one.is_peak());
  });
  Table table = table_of(table_fields(rows), rows);
  table.title = "Memory of a GPU in GB: " + parallel_title({row});
  const StageMemory& worst = plan.answer.memory.worst(MemoryCounter::device);
  table.notes.push_back(bar(worst.parts(worst.peak(MemoryCounter::device)), plan.hardware.memory));
  table.notes.push_back(fit_sentence(row.memory, plan.answer.plan.stages));
  add_remedies(row, plan, remedies, table.notes);
  table.notes.push_back(least_known(plan));
  return table;
}

Fields<StageRow> stage_fields() {
  using enum Meaning;
  Fields<StageRow> fields{
      {"stage", key, [](const StageRow& row) { return row.number(); }},
      {"moment", key, [](const StageRow& row) { return to_string(row.moment); }},
      {"layers", value, via(&StageRow::stage, &StageMemory::layers)},
      {"live_layers", value, via(&StageRow::stage, &StageMemory::live_layers)}};
  for (std::size_t kind = 0; kind < model::memory::memory_kinds; ++kind) {
    const auto which = static_cast<MemoryKind>(kind);
    std::string name(to_string(which));
    std::ranges::replace(name, ' ', '_');
    fields.emplace_back(name + "_bytes", value,
                        [which](const StageRow& row) { return row.parts()[which]; });
  }
  fields.emplace_back("total_bytes", value, &StageRow::total);
  return fields;
}

Json remedies_object(const std::vector<Remedy>& remedies) {
  Json list = Json::array();
  for (const Remedy& one : remedies) {
    list.push_back(Json{{"change", one.change},
                        {"t_iter_s", number(one.answer.seconds())},
                        {"surely", one.is_sure()}});
  }
  return list;
}

Json plan_object(const ParallelRow& row, const std::vector<Remedy>& remedies) {
  Json object =
      object_of(joined<ParallelRow>({parallel_question_fields(), parallel_memory_fields()}), row);
  add_caveats(object, row);
  object["would_fit"] = remedies_object(remedies);
  return object;
}

Fields<StageRow> record_fields() {
  const auto of_plan = [](const StageRow& row) -> const ParallelRow& { return *row.plan; };
  return joined<StageRow>({part_of<StageRow>(parallel_question_fields(), of_plan), stage_fields()});
}

}  // namespace

std::string shown_kind(std::string_view kind) {
  const auto has_kind = [kind](const KindGroup& group) {
    return std::ranges::any_of(group.kinds,
                               [kind](MemoryKind one) { return to_string(one) == kind; });
  };
  const auto* const group = std::ranges::find_if(groups, has_kind);
  return std::string(group == groups.end() ? kind : group->name);
}

Document parallel_memory_document(const ComparedPlans& plans, const Remedies& remedies, bool all) {
  EXPECT(remedies.size() == plans.rows.size());
  const std::vector<ParallelRow> rows = parallel_rows(plans);
  Document document;
  std::vector<StageRow> stages;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    document.tables.push_back(memory_table(rows[i], plans.rows[i], remedies[i], all));
    std::ranges::move(stage_rows(rows[i], plans.rows[i]), std::back_inserter(stages));
  }
  for (const std::string& note : plans.notes) document.tables.back().notes.push_back(note);
  document.records = records_of(record_fields(), stages);
  Json list = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json object = plan_object(rows[i], remedies[i]);
    object["stages"] = list_of(stage_fields(), stage_rows(rows[i], plans.rows[i]));
    list.push_back(std::move(object));
  }
  document.json = json_answer("dlscale.parallel_memory", [list, notes = plans.notes] {
    return Json{{"plans", list}, {"notes", notes}};
  });
  return document;
}

Document parallel_fit_document(const ComparedPlans& plans, const Remedies& remedies) {
  EXPECT(remedies.size() == plans.rows.size());
  const std::vector<ParallelRow> rows = parallel_rows(plans);
  Document document;
  Json list = Json::array();
  Table table;
  table.title = parallel_title(rows);
  table.notes = plan_lines(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string place =
        rows.size() == 1 ? ""
                         : fmt::format("{}{}: ", rows[i].label.empty() ? "" : rows[i].label + ", ",
                                       counted(rows[i].gpus, "GPU"));
    table.notes.push_back(place + fit_sentence(rows[i].memory, plans.rows[i].answer.plan.stages));
    add_remedies(rows[i], plans.rows[i], remedies[i], table.notes);
    list.push_back(plan_object(rows[i], remedies[i]));
  }
  table.notes.insert(table.notes.end(), plans.notes.begin(), plans.notes.end());
  document.tables = {std::move(table)};
  document.records =
      records_of(joined<ParallelRow>({parallel_question_fields(), parallel_memory_fields()}), rows);
  document.json = json_answer("dlscale.parallel_fit", [list, notes = plans.notes] {
    return Json{{"plans", list}, {"notes", notes}};
  });
  return document;
}

}  // namespace dlscale::report
