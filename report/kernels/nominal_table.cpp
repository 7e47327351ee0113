#include "report/kernels/nominal_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "core/network/step.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::NominalPlacement;
using model::NominalRoofline;
using model::NominalStep;
using model::NominalWork;
using model::RooflineBounds;

constexpr std::size_t most_rows = 20;

std::string_view bound_name(const RooflineBounds& bounds) {
  if (bounds.least() == bounds.arithmetic) return "arithmetic";
  return bounds.least() == bounds.shared ? "shared memory" : "memory";
}

/// Rate of the work if it took that time; absent without time.
std::optional<FlopsPerSecond> rate_over(const NominalWork& work, Seconds time) {
  return time > Seconds() ? std::optional(work.executed / time) : std::nullopt;
}

std::optional<FlopsPerSecond> attainable(const NominalWork& work) {
  return rate_over(work, work.bounds.least());
}

std::optional<FlopsPerSecond> modelled(const NominalWork& work) {
  return rate_over(work, work.time);
}

/// A step, with what its record needs of the network.
struct StepRow {
  const Layer* layer = nullptr;
  const NominalStep* step = nullptr;
  [[nodiscard]] const NominalWork& work() const { return step->work; }
};

std::vector<StepRow> step_rows(const NominalRooflineView& view) {
  std::vector<StepRow> rows;
  for (const NominalStep& step : view.placement.steps) {
    rows.push_back({&view.network->layer(step.layer), &step});
  }
  return rows;
}

Fields<StepRow> step_fields() {
  using enum Meaning;
  const auto bounds = [](auto... path) {
    return via(&StepRow::work, &NominalWork::bounds, path...);
  };
  return {
      {"layer", key, via(&StepRow::layer, &Layer::name)},
      {"kind", key,
       via(&StepRow::layer, &Layer::kind, [](const LayerKind& kind) { return kind_name(kind); })},
      {"pass", key, via(&StepRow::step, &NominalStep::pass, pass_name)},
      {"flops", value, via(&StepRow::work, &NominalWork::declared)},
      {"executed_flops", value, via(&StepRow::work, &NominalWork::executed)},
      {"memory_bytes", value, via(&StepRow::work, &NominalWork::memory)},
      {"shared_bytes", value, via(&StepRow::work, &NominalWork::shared)},
      {"intensity_flop_per_byte", value, via(&StepRow::work, &NominalWork::intensity)},
      {"bound_by", remark, bounds(bound_name)},
      {"attainable_flops_per_s", value, via(&StepRow::work, attainable)},
      {"modelled_flops_per_s", value, via(&StepRow::work, modelled)},
      {"arithmetic_s", value, bounds(&RooflineBounds::arithmetic)},
      {"shared_s", value, bounds(&RooflineBounds::shared)},
      {"memory_s", value, bounds(&RooflineBounds::memory)},
      {"time_s", value, via(&StepRow::work, &NominalWork::time)}};
}

std::string tera(const std::optional<FlopsPerSecond>& rate) {
  return rate ? significant(1e-12 * rate->si(), 3) : "–";
}

std::string ms_or_dash(Seconds time) {
  return time > Seconds() ? significant(1e3 * time.si(), 3) : "–";
}

std::vector<Column> group_columns(const NominalRoofline& roofline) {
  std::vector<Column> columns{
      {"layers", Align::left}, {"kind", Align::left}, {"FLOP/B"},
      {"attainable TFLOP/s"},  {"modelled"},          {"bound by", Align::left},
      {"arithmetic ms"}};
  if (roofline.shared) columns.push_back({"shared ms"});
  for (const char* heading : {"memory ms", "time ms", "share"}) columns.push_back({heading});
  return columns;
}

class GroupTable {
 public:
  explicit GroupTable(const NominalPlacement& placement)
      : total_(placement.total()), shared_(placement.roofline.shared.has_value()) {
    table_.columns = group_columns(placement.roofline);
  }
  void add(const std::string& name, const std::string& kind, const NominalWork& work) {
    std::vector<Cell> row{{name},
                          {kind},
                          {significant(work.intensity().si(), 3)},
                          {tera(attainable(work))},
                          {tera(modelled(work))},
                          {std::string(bound_name(work.bounds))},
                          {ms_or_dash(work.bounds.arithmetic)}};
    if (shared_) row.push_back({ms_or_dash(work.bounds.shared)});
    row.push_back({ms_or_dash(work.bounds.memory)});
    add_time(std::move(row), work.time);
  }
  void add(const std::string& name, Seconds time) {
    std::vector<Cell> row(table_.columns.size() - 2, Cell{"–"});
    row.front().text = name;
    add_time(std::move(row), time);
  }
  [[nodiscard]] Table table() && { return std::move(table_); }

 private:
  void add_time(std::vector<Cell> row, Seconds time) {
    row.push_back({ms_or_dash(time)});
    row.push_back({percent(time / total_)});
    table_.rows.push_back(std::move(row));
  }
  Seconds total_;
  bool shared_;
  Table table_;
};

Table groups_table(const NominalRooflineView& view) {
  const NominalPlacement& placement = view.placement;
  const std::vector<LayerGroup> groups = layer_groups(view);
  GroupTable table(placement);
  NominalWork others;
  long long left = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i < most_rows) {
      table.add(groups[i].text(), groups[i].kind, groups[i].work);
    } else {
      others += groups[i].work;
      left += groups[i].layers;
    }
  }
  if (left > 0) table.add(counted(left, "other layer"), "", others);
  if (placement.update > Seconds()) table.add("update", placement.update);
  Table result = std::move(table).table();
  result.title = "Layers, all passes together, longest first";
  result.notes = {
      "executed operations count, fewer than declared where convolutions are filtered minimally",
      "attainable: these over the largest of the bounds; modelled: over the time by the data "
      "sheet, "
      "with launches"};
  return result;
}

Table sheet_ceilings(const NominalRoofline& roofline) {
  Table table;
  table.columns = {{"ceiling", Align::left}, {"rate"}, {"ridge FLOP/B"}};
  const auto add = [&](const char* name, const std::string& rate, const std::string& ridge) {
    table.rows.push_back({{name}, {rate}, {ridge}});
  };
  if (roofline.peak > roofline.core_peak) {
    add("tensor cores", to_text(roofline.peak), "");
    add("ordinary cores in f32", to_text(roofline.core_peak), "");
  } else {
    add("arithmetic", to_text(roofline.peak), "");
  }
  const auto level = [&](const char* name, BytesPerSecond rate) {
    add(name, to_text(rate), significant((roofline.peak / rate).si(), 3));
  };
  if (roofline.shared) level("shared memory", *roofline.shared);
  level("memory", roofline.memory);
  return table;
}

std::string lead_of(const NominalRooflineView& view) {
  const NominalPlacement& placement = view.placement;
  const Seconds total = placement.total();
  Seconds least = placement.update;
  for (const NominalStep& step : placement.steps) least += step.work.bounds.least();
  const bool sequences = view.network->is_over_sequences();
  return fmt::format(
      "{} on {} by its data sheet, batch {}, {}: {} a training step ({} to {}, 90 %), {} {}/s; the "
      "roofline allows {}.",
      view.network->name(), view.device, view.run.batch, dtype_name(view.run.dtype), to_text(total),
      to_text(placement.range.low * total), to_text(placement.range.high * total),
      significant(view.run.batch / total.si(), 3), sequences ? "sequences" : "images",
      to_text(least));
}

Json view_object(const NominalRooflineView& view, const std::vector<StepRow>& rows) {
  const NominalPlacement& placement = view.placement;
  const NominalRoofline& roofline = placement.roofline;
  const Seconds total = placement.total();
  return {{"network", view.network->name()},
          {"device", view.device},
          {"batch", view.run.batch},
          {"dtype", dtype_name(view.run.dtype)},
          {"peak_flops_per_s", value_of(roofline.peak)},
          {"core_peak_flops_per_s", value_of(roofline.core_peak)},
          {"memory_bytes_per_s", value_of(roofline.memory)},
          {"shared_bytes_per_s", value_of(roofline.shared)},
          {"time_s", value_of(total)},
          {"time_low_s", value_of(placement.range.low * total)},
          {"time_high_s", value_of(placement.range.high * total)},
          {"update_s", value_of(placement.update)},
          {"steps", list_of(step_fields(), rows)}};
}

}  // namespace

std::string LayerGroup::text() const {
  return layers == 1 ? name : fmt::format("{} and {} alike", name, layers - 1);
}

std::vector<LayerGroup> layer_groups(const NominalRooflineView& view) {
  std::vector<LayerGroup> groups;
  std::map<std::string, std::size_t> by_kernel;
  std::map<std::size_t, std::size_t> by_layer;  // index of a layer to that of its group
  for (const StepRow& row : step_rows(view)) {
    const std::size_t layer = row.layer->id.index();
    if (!by_layer.contains(layer)) {
      const auto [kernel, added] =
          by_kernel.try_emplace(kernel_key(*view.network, row.layer->id), groups.size());
      if (added) {
        groups.push_back({row.layer->name, std::string(kind_name(row.layer->kind)), 0, {}});
      }
      by_layer[layer] = kernel->second;
      ++groups[kernel->second].layers;
    }
    groups[by_layer.at(layer)].work += row.work();
  }
  std::ranges::stable_sort(groups, std::greater{},
                           [](const LayerGroup& group) { return group.work.time.si(); });
  return groups;
}

Document nominal_roofline_document(const NominalRooflineView& view) {
  const std::vector<StepRow> rows = step_rows(view);
  Json answer = view_object(view, rows);
  return {lead_of(view),
          {sheet_ceilings(view.placement.roofline), groups_table(view)},
          records_of(step_fields(), rows),
          json_answer("dlscale.nominal_roofline", [answer] { return answer; })};
}

}  // namespace dlscale::report
