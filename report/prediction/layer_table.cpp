#include "report/prediction/layer_table.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/prediction/prediction_table.hpp"

namespace dlscale::report {
namespace {

using model::LayerTime;
using model::LayerTimes;
using model::TimeSource;
using Source = std::optional<TimeSource>;

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
      return "what kernels reach on such devices, or the declared work at full peak where their "
             "units are not known; messages at line rate with the start-ups that are stated";
  }
  fail_expectation("source is a TimeSource");
}

/// One line for each source in the table.
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

/// A layer and its run.
struct LayerRow {
  const Run* run;
  const Layer* layer;
  const LayerTime* time;
};

/// A time and its source; people see the time only if something is done.
Fields<LayerRow> layer_time_fields(const std::string& name, const char* header,
                                   Seconds LayerTime::*time, Source LayerTime::*source) {
  using enum Meaning;
  const auto shown = [time, source](const LayerRow& row) {
    return row.time->*source ? milliseconds(row.time->*time) : "–";
  };
  const auto from = [source](const LayerRow& row) {
    const Source& its = row.time->*source;
    return its ? Json(time_source_name(*its)) : Json(nullptr);
  };
  Fields<LayerRow> fields{{name + "_s", value, via(&LayerRow::time, time), header, shown},
                          {name + "_from", remark, from, "from", as::words}};
  fields.back().spare = 1;
  return fields;
}

Fields<LayerRow> layer_fields() {
  using enum Meaning;
  const auto bytes_text = [](const LayerRow& row) {
    const Bytes gradient = row.time->gradient;
    return gradient > Bytes() ? fmt::format("{:.0f}", gradient.si()) : "–";
  };
  return joined<LayerRow>({
      {{"layer", key, via(&LayerRow::layer, &Layer::name), "layer", as::words},
       {"kind", key, via(&LayerRow::layer, &Layer::kind, kind_name), "kind", as::words}},
      layer_time_fields("t_f", "forward ms", &LayerTime::forward, &LayerTime::forward_source),
      layer_time_fields("t_b", "backward ms", &LayerTime::backward, &LayerTime::backward_source),
      {{"gradient_bytes", value, via(&LayerRow::time, &LayerTime::gradient), "gradient bytes",
        bytes_text}},
      layer_time_fields("t_comm", "message ms", &LayerTime::communication,
                        &LayerTime::communication_source),
  });
}

std::vector<LayerRow> rows_of(const Network& network, const LayerTimes& times) {
  std::vector<LayerRow> rows;
  for (const LayerTime& time : times.layers) {
    rows.push_back({&times.run, &network.layer(time.layer), &time});
  }
  return rows;
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

Table layer_table(const Network& network, const LayerTimes& times) {
  std::vector<LayerRow> rows = rows_of(network, times);
  std::erase_if(rows, [](const LayerRow& row) {
    return !row.time->forward_source && !row.time->backward_source;
  });
  Table table = table_of(layer_fields(), rows);
  table.title = fmt::format("{}, {}", run_title(times.run, network.samples()),
                            counted(times.run.ranks, "rank"));
  table.rows.push_back(sum_row(times));
  table.notes = legend(times);
  for (const model::Note& note : times.notes) table.notes.push_back(note_text(note));
  table.notes.emplace_back(
      "a message's time is shared by the layers whose gradients it carries, hidden or not; threads "
      "that share cores, waiting for the slowest rank and messages that slow down computing beside "
      "them make an iteration longer than these parts");
  return table;
}

Table layer_records(const Network& network, std::span<const LayerTimes> runs) {
  const auto run = [](const LayerRow& row) -> const Run& { return *row.run; };
  const Fields<Run> of_run =
      joined<Run>({picked(run_fields(), {"network", "cluster", "ranks", "batch", "dtype",
                                         "schedule", "synchronisation"}),
                   schedule_fields()});
  std::vector<LayerRow> rows;
  for (const LayerTimes& times : runs) {
    for (const LayerRow& row : rows_of(network, times)) rows.push_back(row);
  }
  return records_of(joined<LayerRow>({part_of<LayerRow>(of_run, run), layer_fields()}), rows);
}

Json layers_object(const Network& network, std::span<const LayerTimes> runs) {
  const Fields<LayerRow> fields = layer_fields();
  Json list = Json::array();
  for (const LayerTimes& times : runs) {
    list.push_back({{"run", object_of(run_fields(), times.run)},
                    {"layers", list_of(fields, rows_of(network, times))},
                    {"notes", notes_object(times.notes)}});
  }
  return {{"runs", std::move(list)}};
}

}  // namespace

Document layer_document(const Network& network, std::span<const LayerTimes> runs) {
  EXPECT(!runs.empty());
  Document document;
  for (const LayerTimes& times : runs) document.tables.push_back(layer_table(network, times));
  document.records = layer_records(network, runs);
  document.json = json_answer(
      "dlscale.layers",
      [network, all = std::vector<LayerTimes>(runs.begin(), runs.end())] {
        return layers_object(network, all);
      },
      notes_with_kinds);
  return document;
}

}  // namespace dlscale::report
