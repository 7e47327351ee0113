#include "report/summary.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/quantity_text.hpp"
#include "report/numbers.hpp"
#include "report/validation_table.hpp"

namespace dlscale::report {
namespace {

using model::AffineFit;
using model::KernelTime;
using model::LoaderFit;
using model::Machine;

constexpr Bytes all_reduce_shown(25 * 1024.0 * 1024.0);  ///< the large bucket of `bucketed`

/// Numbers of ranks on a node that something was measured with.
std::set<int> settings(const Machine& machine) {
  std::set<int> ranks;
  for (const KernelTime& kernel : machine.kernels) ranks.insert(kernel.ranks_on_node);
  for (const LoaderFit& loader : machine.loaders) ranks.insert(loader.ranks_on_node);
  return ranks;
}

std::string fastest_convolution(const Machine& machine, int ranks_on_node, Pass pass) {
  FlopsPerSecond fastest;
  for (const KernelTime& kernel : machine.kernels) {
    const bool wanted = kernel.ranks_on_node == ranks_on_node && kernel.pass == pass &&
                        kernel.kernel.starts_with("convolution");
    if (wanted) fastest = std::max(fastest, kernel.work.flops / kernel.time.value);
  }
  return fastest > FlopsPerSecond{} ? to_text(fastest) : "–";
}

/// The rate at which large arrays are worked on.
std::string large_array_rate(const std::vector<AffineFit>& fits, int ranks_on_node) {
  const auto fit = std::ranges::find(fits, ranks_on_node, &AffineFit::ranks_on_node);
  if (fit == fits.end()) return "–";
  const SecondsPerByte cost = fit->cost.segments().back().beta.value;
  return cost > SecondsPerByte{} ? to_text(1.0 / cost) : "–";
}

std::string pictures_per_second(const Machine& machine, int ranks_on_node) {
  const auto loader = std::ranges::find(machine.loaders, ranks_on_node, &LoaderFit::ranks_on_node);
  if (loader == machine.loaders.end()) return "–";
  return significant(1 / loader->picture().value.si(), 3) + " a second";
}

std::string all_reduce(const Machine& machine, int ranks_on_node) {
  for (const model::CollectiveFit& fit : machine.collectives) {
    if (fit.collective != "all_reduce" || fit.ranks_on_node != ranks_on_node) continue;
    return to_text(fit.time(all_reduce_shown));
  }
  return "–";
}

template <class Value>
void add_row(Table& table, const std::set<int>& ranks, std::string what, const Value& value) {
  std::vector<Cell> cells{{std::move(what)}};
  for (const int count : ranks) cells.push_back({value(count)});
  const bool measured =
      std::any_of(cells.begin() + 1, cells.end(), [](const Cell& c) { return c.text != "–"; });
  if (measured) table.rows.push_back(std::move(cells));
}

/// Every number of ranks of any curve.
std::set<int> ranks_of(const ReportInput& input) {
  std::set<int> ranks;
  for (const auto& curve : input.curves) {
    for (const model::Prediction& prediction : curve) ranks.insert(prediction.run.ranks);
  }
  return ranks;
}

std::vector<Cell> speedup_cells(const std::vector<model::Prediction>& curve,
                                const std::set<int>& ranks) {
  const Run& run = curve.back().run;
  std::vector<Cell> cells{
      {run.network}, {std::to_string(run.batch)}, {std::string(schedule_name(run.schedule))}};
  for (const int count : ranks) {
    const auto at = std::ranges::find_if(
        curve, [count](const model::Prediction& p) { return p.run.ranks == count; });
    cells.push_back({at == curve.end() ? "–" : significant(at->speedup, 3)});
  }
  cells.push_back({curve.back().bound});
  return cells;
}

}  // namespace

Table worker_table(const Machine& machine) {
  Table table;
  table.title = "What a worker of this machine reaches";
  table.columns = {{"part", Align::left}};
  const std::set<int> ranks = settings(machine);
  for (const int count : ranks) {
    table.columns.push_back({count == 1 ? "alone" : fmt::format("{} at once, each", count)});
  }
  for (const auto& [pass, name] :
       {std::pair{Pass::forward, "forward"}, std::pair{Pass::backward_data, "backward-data"},
        std::pair{Pass::backward_filter, "backward-filter"}}) {
    add_row(table, ranks, fmt::format("fastest convolution, {}", name),
            [&](int count) { return fastest_convolution(machine, count, pass); });
  }
  add_row(table, ranks, "SGD update, of parameters in memory",
          [&](int count) { return large_array_rate(machine.update, count); });
  add_row(table, ranks, "copy of a batch to the device",
          [&](int count) { return large_array_rate(machine.h2d, count); });
  add_row(table, ranks, "pictures read, decoded, cropped by a loader thread",
          [&](int count) { return pictures_per_second(machine, count); });
  add_row(table, ranks, "all-reduce of " + to_text(all_reduce_shown),
          [&](int count) { return all_reduce(machine, count); });
  return table;
}

Table speedups_table(const ReportInput& input) {
  Table table;
  table.title = "Predicted speed-up over one such worker";
  table.columns = {{"network", Align::left}, {"batch"}, {"schedule", Align::left}};
  const std::set<int> ranks = ranks_of(input);
  for (const int count : ranks) table.columns.push_back({std::to_string(count)});
  if (!ranks.empty()) {
    table.columns.push_back({fmt::format("bound at {} by", *ranks.rbegin()), Align::left});
  }
  for (const auto& curve : input.curves) {
    if (!curve.empty()) table.rows.push_back(speedup_cells(curve, ranks));
  }
  const Cluster& cluster = input.machine.cluster;
  if (!ranks.empty() && *ranks.rbegin() > cluster.devices_per_node) {
    table.notes.push_back(
        fmt::format("{} workers a node; nodes joined by {} with {} start-up: assumed, not measured",
                    cluster.devices_per_node, to_text(cluster.inter_node.bandwidth),
                    to_text(cluster.inter_node.latency)));
  }
  return table;
}

Document summary_document(const ReportInput& input) {
  Document document = validation_document(input.validation, input.limits);
  std::vector<Table> tables;
  for (Table& table : std::vector<Table>{worker_table(input.machine), speedups_table(input)}) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  document.tables.insert(document.tables.begin(), tables.begin(), tables.end());
  return document;
}

}  // namespace dlscale::report
