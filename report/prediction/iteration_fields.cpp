#include "report/prediction/iteration_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/relu_fusion.hpp"
#include "core/text/numbers.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "report/prediction/note_text.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::IterationTime;
using model::PhaseSources;
using model::Prediction;
using model::TimeSource;

struct TimeOfPhase {
  const char* key;
  const char* header;
  Seconds IterationTime::*time;
};

constexpr TimeOfPhase whole{"t_iter_s", "iteration ms", &IterationTime::total};
constexpr TimeOfPhase hidden{"t_comm_hidden_s", "", &IterationTime::hidden_comm};
constexpr TimeOfPhase load{"t_load_s", "", &IterationTime::load};
constexpr std::array<TimeOfPhase, 6> phases{{
    {"t_io_s", "io ms", &IterationTime::io},
    {"t_h2d_s", "h2d ms", &IterationTime::h2d},
    {"t_f_s", "forward ms", &IterationTime::forward},
    {"t_b_s", "backward ms", &IterationTime::backward},
    {"t_comm_exposed_s", "comm ms", &IterationTime::exposed_comm},
    {"t_u_s", "update ms", &IterationTime::update},
}};

struct SourceOfPhase {
  const char* name;  ///< in JSON
  const char* key;   ///< in records
  const char* word;  ///< for people
  std::optional<TimeSource> PhaseSources::*source;
};

constexpr std::array<SourceOfPhase, 6> sources_of_phases{{
    {"load", "t_load_from", "loading", &PhaseSources::load},
    {"h2d", "t_h2d_from", "copy", &PhaseSources::h2d},
    {"forward", "t_f_from", "forward", &PhaseSources::forward},
    {"backward", "t_b_from", "backward", &PhaseSources::backward},
    {"communication", "t_comm_from", "messages", &PhaseSources::communication},
    {"update", "t_u_from", "update", &PhaseSources::update},
}};

/// The times of an iteration as an object.
Fields<IterationTime> time_fields() {
  using enum Meaning;
  Fields<IterationTime> fields{{whole.key, value, whole.time}};
  for (const TimeOfPhase& phase : phases) fields.push_back({phase.key, value, phase.time});
  fields.push_back({hidden.key, value, hidden.time});
  fields.push_back({load.key, value, load.time});
  return fields;
}

/// One of these times, for records and for people.
Field<Prediction> record_of(const TimeOfPhase& phase) {
  auto field = Field<Prediction>::record(
      phase.key, Meaning::value, [time = phase.time](const auto& row) { return row.time.*time; });
  field.header = phase.header;
  field.look = as::milliseconds;
  return field;
}

Json basis_object(const Prediction& prediction) {
  Json object;
  for (const SourceOfPhase& each : sources_of_phases) {
    const auto& source = prediction.sources.*each.source;
    object[each.name] = source ? Json(time_source_name(*source)) : Json(nullptr);
  }
  return object;
}

Fields<model::UsedContention> contention_fields() {
  using enum Meaning;
  using Row = model::UsedContention;
  using Range = model::ContentionRange;
  const auto slowdown = [](const model::Estimate<double>& estimate) -> Json {
    return {{"value", number(estimate.value)},
            {"low", number(estimate.low)},
            {"high", number(estimate.high)}};
  };
  return {
      {"collective", key, &Row::collective},
      {"beside", key, via(&Row::work, model::work_kind_name)},
      {"from_bytes", key, via(&Row::range, &Range::from)},
      {"to_bytes", key, via(&Row::range, &Range::to)},
      {"compute_slowdown", value, via(&Row::range, &Range::compute, slowdown)},
      {"messages_slowdown", value, via(&Row::range, &Range::messages, slowdown)},
      {"measured", remark, &Row::measured},
      {"source", remark, &Row::source},
  };
}

bool by_server(const Run& run) {
  return run.synchronisation == Synchronisation::parameter_server;
}

/// A setting as a number; null where it has no effect.
Field<Run> number_field(const char* name, bool (*has_effect)(const Run&), auto get) {
  return {name, Meaning::key, [=](const Run& run) {
            if (!has_effect(run)) return Json(nullptr);
            return setting(value_of(std::invoke(get, run)).template get<double>());
          }};
}

/// A setting of a parameter server as a word.
Field<Run> server_field(const char* name, auto get) {
  return {name, Meaning::key, [=](const Run& run) {
            return by_server(run) ? Json(std::invoke(get, run.settings)) : Json(nullptr);
          }};
}

/// An end of the efficiency, by that of the speed-up.
auto per_rank(std::optional<double> Prediction::*speedup) {
  return [speedup](const Prediction& row) {
    const std::optional<double>& end = row.*speedup;
    return end ? std::optional(model::scaling_efficiency(*end, row.run.ranks)) : std::nullopt;
  };
}

std::string predicted_speedup(const Prediction& row) {
  return speedup_text(row.speedup, row.speedup_low, row.speedup_high);
}

std::string predicted_efficiency(const Prediction& row) {
  return efficiency_text(row.efficiency, per_rank(&Prediction::speedup_low)(row),
                         per_rank(&Prediction::speedup_high)(row));
}

/// "7.80 ± 0.21", or "7.80 +0.10 −0.42" where the ends are not as far from the value: each with
/// `decimals`. The value alone where these show no distance.
std::string with_distances(double value, std::optional<double> low, std::optional<double> high,
                           int decimals) {
  const auto text = [decimals](double number) { return fmt::format("{:.{}f}", number, decimals); };
  const std::string plain = text(value);
  if (!low || !high) return plain;
  const std::string below = text(value - *low);
  const std::string above = text(*high - value);
  if (below != above) return fmt::format("{} +{} −{}", plain, above, below);
  return above == text(0) ? plain : fmt::format("{} ± {}", plain, above);
}

}  // namespace

Fields<Run> schedule_fields() {
  const auto horovod = [](const Run& run) { return run.schedule == Schedule::horovod; };
  const auto priority = [](const Run& run) { return run.schedule == Schedule::priority; };
  const auto buckets = [](const Run& run) { return has_buckets(run.schedule); };
  using Settings = ScheduleSettings;
  const auto its = [](auto member) { return via(&Run::settings, member); };
  return {
      number_field("cycle_s", horovod, its(&Settings::cycle)),
      number_field("fusion_threshold_bytes", horovod, its(&Settings::fusion_threshold)),
      number_field("partition_bytes", priority, its(&Settings::partition)),
      number_field("credit", priority, its(&Settings::credit)),
      number_field("servers", by_server, server_count),
      server_field("sharding", via(&Settings::sharding, sharding_name)),
      server_field("transport", via(&Settings::transport, transport_name)),
      server_field("callers", via(&Settings::callers, callers_name)),
      number_field("first_bucket_bytes", buckets, its(&Settings::first_bucket)),
      number_field("bucket_bytes", buckets, its(&Settings::bucket)),
  };
}

Fields<Run> run_fields() {
  using enum Meaning;
  return joined<Run>({
      {{"network", key, &Run::network},
       {"cluster", key, &Run::cluster},
       {"ranks", key, &Run::ranks},
       {"ranks_per_node", key, &Run::ranks_per_node},
       {"batch", key, &Run::batch},
       {"dtype", key, via(&Run::dtype, dtype_name)},
       {"schedule", key, via(&Run::schedule, schedule_name)},
       {"synchronisation", key, via(&Run::synchronisation, synchronisation_name)}},
      schedule_fields(),
      {{"cores_per_rank", key, &Run::cores_per_rank},
       {"compute_threads", key, &Run::compute_threads},
       {"loader_threads", key, &Run::loader_threads},
       {"prefetch", key, &Run::prefetch},
       {"input_copy", key, via(&Run::input_copy, input_copy_name)},
       {"normalise", key, via(&Run::normalisation, normalisation_name)},
       {"launch", key, via(&Run::launch, launch_name)},
       {"fuse", key, fusion_name}},
  });
}

std::string speedup_text(double speedup, std::optional<double> low, std::optional<double> high) {
  const std::string plain = significant(speedup, 3);
  const std::size_t point = plain.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : plain.size() - point - 1;
  return with_distances(speedup, low, high, static_cast<int>(decimals));
}

std::string efficiency_text(double efficiency, std::optional<double> low,
                            std::optional<double> high) {
  const auto in_percent = [](std::optional<double> end) {
    return end ? std::optional(100 * *end) : std::nullopt;
  };
  return with_distances(100 * efficiency, in_percent(low), in_percent(high), 1) + " %";
}

Fields<Prediction> iteration_fields() {
  using enum Meaning;
  using F = Field<Prediction>;
  const auto interval = [](const Prediction& row) {
    return row.low ? Json(model::prediction_interval) : Json(nullptr);
  };
  Fields<Prediction> fields{F::json(
      "time", [all = time_fields()](const Prediction& row) { return object_of(all, row.time); })};
  for (const TimeOfPhase& phase : phases) fields.push_back(record_of(phase));
  return joined<Prediction>({
      fields,
      {record_of(whole),
       {"t_iter_low_s", value, &Prediction::low},
       {"t_iter_high_s", value, &Prediction::high},
       F::table("90 % interval", predicted_interval_text),
       F::json("interval", interval),
       F::json("basis", basis_object),
       F::json("closed_form",
               [all = time_fields()](const Prediction& row) {
                 return object_of(all, row.closed_form);
               }),
       F::json("closed_form_absent", &Prediction::closed_form_absent),
       record_of(hidden),
       record_of(load),
       F::record("closed_form_t_iter_s", value,
                 [](const Prediction& row) {
                   return row.closed_form ? std::optional(row.closed_form->total) : std::nullopt;
                 }),
       {"images_per_s", value, &Prediction::images_per_s, "images/s",
        via(&Prediction::images_per_s, rate_text)},
       {"speedup", value, &Prediction::speedup, "speed-up", predicted_speedup},
       {"speedup_low", value, &Prediction::speedup_low},
       {"speedup_high", value, &Prediction::speedup_high},
       {"efficiency", value, &Prediction::efficiency, "efficiency", predicted_efficiency},
       {"efficiency_low", value, per_rank(&Prediction::speedup_low)},
       {"efficiency_high", value, per_rank(&Prediction::speedup_high)},
       {"bound", remark, &Prediction::bound, "bound by", as::words},
       F::json("contention", [all = contention_fields()](
                                 const Prediction& row) { return list_of(all, row.contention); }),
       F::record("notes", remark, via(&Prediction::notes, note_texts)),
       F::json("notes", via(&Prediction::notes, notes_object))},
  });
}

Fields<Prediction> source_fields() {
  Fields<Prediction> fields;
  for (const SourceOfPhase& each : sources_of_phases) {
    fields.push_back(Field<Prediction>::record(
        each.key, Meaning::remark, [source = each.source](const Prediction& row) -> Json {
          const auto& from = row.sources.*source;
          return from ? Json(time_source_name(*from)) : Json(nullptr);
        }));
  }
  return fields;
}

Fields<Prediction> asked_fields(std::span<const Prediction> rows) {
  using enum Meaning;
  Fields<Prediction> fields;
  if (std::ranges::any_of(rows, [](const auto& row) { return row.tokens > 0; })) {
    fields.push_back({"tokens_per_s", value, [](const Prediction& row) {
                        return std::optional(row.tokens * row.images_per_s);
                      }});
  }
  if (std::ranges::any_of(rows, [](const auto& row) { return row.sheet_limit.has_value(); })) {
    fields.push_back({"sheet_limit_images_per_s", value, &Prediction::sheet_limit});
  }
  return fields;
}

Fields<Prediction> prediction_fields(std::span<const Prediction> rows) {
  return joined<Prediction>({prediction_fields(), asked_fields(rows)});
}

Fields<Prediction> prediction_fields() {
  return joined<Prediction>({
      {Field<Prediction>::json(
          "run", [all = run_fields()](const Prediction& row) { return object_of(all, row.run); })},
      in_records(part_of<Prediction>(run_fields(), &Prediction::run)),
      {Field<Prediction>::table("ranks", via(&Prediction::run, &Run::ranks), as::exact)},
      iteration_fields(),
      source_fields(),
  });
}

std::string predicted_interval_text(const Prediction& prediction) {
  if (!prediction.low || !prediction.high) return "–";
  return from_to(milliseconds(*prediction.low), milliseconds(*prediction.high));
}

std::string basis_text(const PhaseSources& sources) {
  std::string text;
  for (const SourceOfPhase& each : sources_of_phases) {
    const auto& source = sources.*each.source;
    if (!source) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.word, time_source_name(*source));
  }
  return text;
}

}  // namespace dlscale::report
