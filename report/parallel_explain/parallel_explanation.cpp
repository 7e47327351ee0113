#include "report/parallel_explain/parallel_explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::parallel_time::Activity;
using model::parallel_time::GroupLink;
using model::parallel_time::Improvement;
using model::parallel_time::RankTimes;
using model::parallel_time::StepKind;
using model::parallel_time::StepPart;

constexpr double giga_bytes = 1e9;
constexpr std::size_t most_stages = 16;       ///< rows of the table of stages
constexpr double visible_difference = 0.001;  ///< of the time line and the prediction

std::string title_of(const ParallelExplanation& one, std::string_view what) {
  return fmt::format("{}: {} on {} of {}, {}", what, one.network, counted(one.gpus, "GPU"),
                     one.cluster, one.plan.empty() ? "data parallel" : one.plan);
}

/// A part of the iteration with its share.
struct PartRow {
  std::string name;
  StepKind kind;
  Seconds time;
  double share;
};

std::string kind_word(const PartRow& row) {
  return row.kind == StepKind::computing ? "computing" : "overhead";
}

std::vector<PartRow> part_rows(const ParallelExplanation& one) {
  std::vector<PartRow> rows;
  for (const StepPart& part : one.parts) {
    rows.push_back({std::string(part.name), part.kind, Seconds(part.seconds),
                    part.seconds / one.answer.seconds()});
  }
  return rows;
}

Fields<PartRow> part_fields() {
  using enum Meaning;
  Field<PartRow> kind{"kind", remark, kind_word, "kind", as::words};
  kind.spare = 1;
  return {{"part", key, &PartRow::name, "part", as::words},
          kind,
          {"time_s", value, &PartRow::time, "ms", as::milliseconds},
          {"share", value, &PartRow::share, "of the iteration", as::percent}};
}

/// A change as people see it: keys of the plan, unless they are a long list.
std::string change_text(const Improvement& one) {
  constexpr std::size_t longest = 41;
  return one.plan.empty() || one.plan.size() > longest ? one.change : one.plan;
}

model::parallel_time::FitQuestion memory_of(const Improvement& one, double device_bytes) {
  return model::parallel_time::fit_question(one.answer.memory, device_bytes);
}

/// Narrow terminals go without free memory, then without the time of the step.
Fields<Improvement> improvement_fields(const ParallelExplanation& of) {
  using enum Meaning;
  const auto keys = [](const Improvement& one) { return text_or_null(one.plan); };
  const auto iteration = [](const Improvement& one) { return Seconds(one.answer.seconds()); };
  const auto gain = [is_real = of.is_real()](const Improvement& one) {
    return is_real ? std::optional(one.gain) : std::nullopt;
  };
  const auto free = [](const Improvement& one) { return one.answer.verdict.margin; };
  const auto free_gb = [](const Improvement& one) {
    return significant(one.answer.verdict.margin / giga_bytes, 3);
  };
  const auto fits = [device = of.device_bytes](const Improvement& one) {
    return fits_word(memory_of(one, device));
  };
  const auto fits_shown = [device = of.device_bytes](const Improvement& one) {
    return fits_cell(memory_of(one, device));
  };
  Field<Improvement> verdict{"fits", state, fits, "fits", fits_shown, Align::left};
  verdict.states = {"yes", "no", "unsure"};
  Field<Improvement> step{"t_iter_s", value, iteration, "step ms", as::milliseconds};
  step.spare = 1;
  Field<Improvement> room{"free_bytes", value, free, "free GB", free_gb};
  room.spare = 2;
  return {{"change", key, &Improvement::change, "with", change_text, Align::left},
          {"plan", remark, keys},
          {"global_batch", value, &Improvement::global_batch},
          step,
          {"gain", value, gain, "samples/s", as::signed_percent},
          room,
          verdict};
}

/// A group with the links that it crosses.
struct GroupRow {
  std::string name;
  int ranks;
  int nodes;
  int on_node;
  std::string link;
};

std::vector<GroupRow> group_rows(const ParallelExplanation& one) {
  std::vector<GroupRow> rows;
  for (const GroupLink& group : one.groups) {
    rows.push_back({std::string(group.name), group.ranks, group.spread.nodes,
                    group.spread.most_on_node,
                    group.crosses_nodes() ? one.far_link : one.near_link});
  }
  return rows;
}

/// Narrow terminals go without the numbers on nodes, which the links tell of.
Fields<GroupRow> group_fields() {
  using enum Meaning;
  Field<GroupRow> nodes{"nodes", value, &GroupRow::nodes, "nodes", as::exact};
  nodes.spare = 1;
  Field<GroupRow> on_node{"ranks_on_node", value, &GroupRow::on_node, "GPUs a node", as::exact};
  on_node.spare = 2;
  return {{"group", key, &GroupRow::name, "group", as::words},
          {"ranks", value, &GroupRow::ranks, "GPUs", as::exact},
          nodes,
          on_node,
          {"link", remark, &GroupRow::link, "over", as::words}};
}

constexpr const char* memory_field = "memory_waits_s";

/// A stage's time as simulated.
struct StageRow {
  int stage;  ///< from 1
  RankTimes times;
};

std::vector<StageRow> stage_rows(const ParallelExplanation& one) {
  std::vector<StageRow> rows;
  if (!one.timeline) return rows;
  for (std::size_t stage = 0; stage < one.timeline->times.size(); ++stage) {
    rows.push_back({static_cast<int>(stage) + 1, one.timeline->times[stage]});
  }
  return rows;
}

Fields<StageRow> stage_fields() {
  using enum Meaning;
  const auto time = [](const char* name, const char* heading, std::vector<Activity> activities,
                       int spare = 0) {
    const auto sum = [activities = std::move(activities)](const StageRow& row) {
      double seconds = 0;
      for (const Activity activity : activities) seconds += row.times[activity];
      return Seconds(seconds);
    };
    Field<StageRow> field(name, value, sum, heading, as::milliseconds);
    field.spare = spare;
    return field;
  };
  return {{"stage", key, &StageRow::stage, "stage", as::exact},
          time("forward_s", "forward", {Activity::forward}),
          time("backward_s", "backward", {Activity::backward, Activity::weights}),
          time("recompute_s", "again", {Activity::recompute}, 4),
          time("layer_messages_s", "in layers", {Activity::layer_messages}),
          time("stage_messages_s", "between stages", {Activity::stage_messages}, 1),
          time("fill_s", "fill", {Activity::fill}),
          time("wait_s", "waits", {Activity::wait}),
          time("drain_s", "drain", {Activity::drain}),
          time("gradients_s", "gradients", {Activity::gradients}, 2),
          time("update_s", "update", {Activity::update}, 3),
          time(memory_field, "memory", {Activity::memory}, 4),
          time("stragglers_s", "stragglers", {Activity::stragglers}, 5)};
}

Table parts_table(const ParallelExplanation& one) {
  Table table = table_of(part_fields(), part_rows(one));
  table.title = title_of(one, "Parts of the step");
  table.notes.push_back(fmt::format(
      "the parts add up to the iteration of {} ms, as means over the ranks of a pipeline",
      milliseconds(Seconds(one.answer.seconds()))));
  if (!one.measured.empty()) {
    table.notes.push_back(fmt::format(
        "times are moved by your point{} at {} GPU{}", one.measured.size() == 1 ? "" : "s",
        fmt::join(one.measured, " and "), one.measured.back() == 1 ? "" : "s"));
  }
  table.notes.insert(table.notes.end(), one.doubts.begin(), one.doubts.end());
  const auto is_compute = [](const StepPart& part) {
    return part.name == "gaps between kernels" || part.name == "waits for the host" ||
           part.name == "uneven stages";
  };
  if (std::ranges::any_of(one.parts, is_compute)) {
    table.notes.emplace_back(
        "gaps between kernels, waits for the host and uneven stages are part of the compute of the "
        "plain answer, which is that of the slowest stage");
  }
  return table;
}

Table improvements_table(const ParallelExplanation& one) {
  Table table = table_of(improvement_fields(one), one.improvements);
  table.title = title_of(one, "What would help");
  if (one.improvements.empty()) {
    table.notes.emplace_back(
        "none of the changes tried gains more than 1 %, fits, and is one that the framework runs");
  } else {
    table.notes.emplace_back(
        "one thing changed at a time and predicted anew, the best first; only what the framework "
        "runs, what fits or may fit (unsure), and what gains more than 1 %");
  }
  if (!one.improvements.empty() && !one.measured.empty()) {
    table.notes.emplace_back(
        "each change keeps the factor of your point here; predict moves times of other plans less, "
        "since the point says less of them");
  }
  if (!one.is_real()) {
    table.notes.emplace_back(
        "samples/s are left out: the step waits for memory that the GPUs lack");
  }
  return table;
}

Table groups_table(const ParallelExplanation& one) {
  Table table = table_of(group_fields(), group_rows(one));
  table.title = title_of(one, "Groups of ranks");
  return table;
}

Table stages_table(const ParallelExplanation& one) {
  std::vector<StageRow> rows = stage_rows(one);
  const std::size_t all = rows.size();
  std::vector<StageRow> shown;
  for (std::size_t i = 0; i < std::min(all, most_stages); ++i) {
    shown.push_back(rows[all <= most_stages ? i : i * (all - 1) / (most_stages - 1)]);
  }
  const bool waits_for_memory = one.answer.waits.likely > 1;
  Fields<StageRow> fields = stage_fields();
  std::erase_if(fields, [&](const Field<StageRow>& field) {
    return field.key == memory_field && !waits_for_memory;
  });
  Table table = table_of(fields, shown);
  table.title = title_of(one, "Stages in ms, simulated");
  table.notes.emplace_back(
      "again: recomputation; in layers: messages that keep the stage from computing; between "
      "stages: waits while a message is under way");
  const double predicted = one.answer.seconds();
  const double difference = one.timeline->iteration.si() / predicted - 1;
  if (std::abs(difference) > visible_difference) {
    table.notes.push_back(
        fmt::format("the time line takes {} ms, {} of the prediction, which adds the exchange and "
                    "update of the fullest stage to the end of the last one",
                    milliseconds(one.timeline->iteration), signed_percent(difference)));
  }
  if (shown.size() < all) {
    table.notes.push_back(fmt::format("{} of {} stages are shown", shown.size(), all));
  }
  return table;
}

/// A record: a part, a change, a group or a stage.
struct Told {
  const ParallelExplanation* explanation;
  const char* kind;
  std::string name;
  std::optional<Seconds> time = {};
  std::optional<double> share = {};
  std::optional<double> gain = {};
  std::optional<int> nodes = {};
};

Table records_of_all(std::span<const ParallelExplanation> explanations) {
  std::vector<Told> rows;
  for (const ParallelExplanation& one : explanations) {
    rows.push_back({&one, "iteration", "", Seconds(one.answer.seconds()), 1.0});
    for (const PartRow& part : part_rows(one)) {
      rows.push_back({&one, "part", part.name, part.time, part.share});
    }
    for (const Improvement& change : one.improvements) {
      rows.push_back(
          {&one, "improvement", change.change, Seconds(change.answer.seconds()), {}, {}});
      if (one.is_real()) rows.back().gain = change.gain;
    }
    for (const GroupRow& group : group_rows(one)) {
      rows.push_back({&one, "group", group.name, {}, {}, {}, group.nodes});
    }
    for (const StageRow& stage : stage_rows(one)) {
      rows.push_back(
          {&one, "bubble of stage", std::to_string(stage.stage), Seconds(stage.times.bubble())});
    }
  }
  using enum Meaning;
  const Fields<Told> fields{
      {"network", key, via(&Told::explanation, &ParallelExplanation::network)},
      {"cluster", key, via(&Told::explanation, &ParallelExplanation::cluster)},
      {"gpus", key, via(&Told::explanation, &ParallelExplanation::gpus)},
      {"plan", key, via(&Told::explanation, &ParallelExplanation::plan)},
      {"kind", key, &Told::kind},
      {"name", key, &Told::name},
      {"time_s", value, &Told::time},
      {"share", value, &Told::share},
      {"gain", value, &Told::gain},
      {"nodes", value, &Told::nodes}};
  return records_of(fields, rows);
}

Json explanation_json(const ParallelExplanation& one) {
  return {{"network", one.network},
          {"cluster", one.cluster},
          {"plan", one.plan},
          {"gpus", one.gpus},
          {"t_iter_s", number(one.answer.seconds())},
          {"t_iter_low_s", number(one.answer.low())},
          {"t_iter_high_s", number(one.answer.high())},
          {"free_bytes", number(one.answer.verdict.margin)},
          {"t_simulated_s", one.timeline ? number(one.timeline->iteration.si()) : Json(nullptr)},
          {"parts", list_of(part_fields(), part_rows(one))},
          {"improvements", list_of(improvement_fields(one), one.improvements)},
          {"groups", list_of(group_fields(), group_rows(one))},
          {"stages", list_of(stage_fields(), stage_rows(one))}};
}

}  // namespace

Document parallel_explanation_document(std::span<const ParallelExplanation> explanations) {
  EXPECT(!explanations.empty());
  Document document;
  for (const ParallelExplanation& one : explanations) {
    document.tables.push_back(parts_table(one));
    document.tables.push_back(improvements_table(one));
    if (!one.groups.empty()) document.tables.push_back(groups_table(one));
    if (one.timeline) document.tables.push_back(stages_table(one));
  }
  document.records = records_of_all(explanations);
  document.json = json_answer(
      "dlscale.parallel_explanation",
      [all = std::vector<ParallelExplanation>(explanations.begin(), explanations.end())] {
        Json list = Json::array();
        for (const ParallelExplanation& one : all) list.push_back(explanation_json(one));
        return Json{{"explanations", std::move(list)}};
      });
  return document;
}

}  // namespace dlscale::report
