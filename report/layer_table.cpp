#include "report/layer_table.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/prediction_table.hpp"
#include "report/record_columns.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {
namespace {

using model::LayerTime;
using model::LayerTimes;
using model::TimeSource;
using Source = std::optional<TimeSource>;

std::string name_of(const Source& source) {
  return source ? std::string(time_source_name(*source)) : "";
}

/// "–" where nothing is done.
std::string time_text(Seconds time, const Source& source) {
  return source ? milliseconds(time) : "–";
}

std::string explain(TimeSource source) {
  switch (source) {
    case TimeSource::measured:
      return "with this batch and as many ranks on a node";
    case TimeSource::fitted:
      return "to messages measured on as many ranks";
    case TimeSource::other_ranks:
      return "measured beside another number of ranks on a node";
    case TimeSource::interpolated:
      return "between two measured batches";
    case TimeSource::extrapolated:
      return "from a measured batch by the work, or from other ranks or sizes of messages";
    case TimeSource::unfused:
      return "fused kernels not measured: those of the layer and of its ReLU by themselves";
    case TimeSource::efficiency:
      return "not measured: that of the measured kernels of its kind";
    case TimeSource::data_sheet:
      return "the work that is declared at full peak and memory bandwidth, or line rate and the "
             "start-ups "
             "that are stated: an estimate, and no bound";
  }
  fail_expectation("source is a TimeSource");
}

/// A line for each source in the table.
std::vector<std::string> legend(const LayerTimes& times) {
  std::set<TimeSource> sources;
  for (const LayerTime& layer : times.layers) {
    for (const Source& source :
         {layer.forward_source, layer.backward_source, layer.communication_source}) {
      if (source) sources.insert(*source);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(sources.size());
  for (const TimeSource source : sources) {
    lines.push_back(fmt::format("{}: {}", time_source_name(source), explain(source)));
  }
  return lines;
}

std::vector<Cell> row(const Network& network, const LayerTime& time) {
  const Layer& layer = network.layer(time.layer);
  return {{layer.name},
          {std::string(kind_name(layer.kind))},
          {time_text(time.forward, time.forward_source)},
          {name_of(time.forward_source)},
          {time_text(time.backward, time.backward_source)},
          {name_of(time.backward_source)},
          {time.gradient > Bytes() ? fmt::format("{:.0f}", time.gradient.si()) : "–"},
          {time_text(time.communication, time.communication_source)},
          {name_of(time.communication_source)}};
}

std::vector<Cell> sum_row(const LayerTimes& times) {
  LayerTime sum;
  for (const LayerTime& layer : times.layers) {
    sum.forward += layer.forward;
    sum.backward += layer.backward;
    sum.communication += layer.communication;
    sum.gradient += layer.gradient;
  }
  return {{"all"},
          {""},
          {milliseconds(sum.forward)},
          {""},
          {milliseconds(sum.backward)},
          {""},
          {fmt::format("{:.0f}", sum.gradient.si())},
          {times.run.ranks > 1 ? milliseconds(sum.communication) : "–"},
          {""}};
}

Table table_of(const Network& network, const LayerTimes& times) {
  Table table;
  table.title = fmt::format("{}, {}", run_title(times.run), counted(times.run.ranks, "rank"));
  table.columns = {{"layer", Align::left}, {"kind", Align::left}, {"forward ms"},
                   {"from", Align::left},  {"backward ms"},       {"from", Align::left},
                   {"gradient bytes"},     {"message ms"},        {"from", Align::left}};
  for (const LayerTime& layer : times.layers) {
    if (layer.forward_source || layer.backward_source) table.rows.push_back(row(network, layer));
  }
  table.rows.push_back(sum_row(times));
  table.notes = legend(times);
  table.notes.insert(table.notes.end(), times.notes.begin(), times.notes.end());
  table.notes.emplace_back(
      "a message's time is shared by the layers whose gradients it carries, hidden or not; threads "
      "that share cores make an iteration longer than these parts");
  return table;
}

Table empty_records(const Run& run) {
  Table table;
  std::vector<Column>& columns = table.columns;
  add_columns(columns, Meaning::key,
              {"network", "cluster", "ranks", "batch", "dtype", "schedule", "synchronisation"});
  for (const ScheduleField& field : schedule_fields(run)) {
    add_columns(columns, Meaning::key, {field.key});
  }
  add_columns(columns, Meaning::key, {"layer", "kind"});
  for (const char* time : {"t_f", "t_b"}) {
    add_columns(columns, Meaning::value, {std::string(time) + "_s"});
    add_columns(columns, Meaning::remark, {std::string(time) + "_from"});
  }
  add_columns(columns, Meaning::value, {"gradient_bytes", "t_comm_s"});
  add_columns(columns, Meaning::remark, {"t_comm_from"});
  return table;
}

/// What is alike for all layers of a run.
std::vector<Cell> run_cells(const Run& run) {
  std::vector<Cell> cells{{run.network},
                          {run.cluster},
                          {std::to_string(run.ranks)},
                          {std::to_string(run.batch)},
                          {std::string(dtype_name(run.dtype))},
                          {std::string(schedule_name(run.schedule))},
                          {std::string(synchronisation_name(run.synchronisation))}};
  for (const ScheduleField& field : schedule_fields(run)) cells.push_back({field.value});
  return cells;
}

Table records(const Network& network, std::span<const LayerTimes> runs) {
  Table table = empty_records(runs.front().run);
  for (const LayerTimes& times : runs) {
    const std::vector<Cell> run = run_cells(times.run);
    for (const LayerTime& time : times.layers) {
      const Layer& layer = network.layer(time.layer);
      std::vector<Cell> cells = run;
      cells.insert(cells.end(), {{layer.name},
                                 {std::string(kind_name(layer.kind))},
                                 {exact(time.forward.si())},
                                 {name_of(time.forward_source)},
                                 {exact(time.backward.si())},
                                 {name_of(time.backward_source)},
                                 {exact(time.gradient.si())},
                                 {exact(time.communication.si())},
                                 {name_of(time.communication_source)}});
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

}  // namespace

Document layer_document(const Network& network, std::span<const LayerTimes> runs) {
  EXPECT(!runs.empty());
  Document document;
  for (const LayerTimes& times : runs) document.tables.push_back(table_of(network, times));
  document.records = records(network, runs);
  document.json = layers_json(network, runs);
  return document;
}

}  // namespace dlscale::report
