#include "report/sections/summary.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/kernels/algorithm_tables.hpp"
#include "report/kernels/processor_tables.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/measured_facts.hpp"
#include "report/sections/message_sections.hpp"
#include "report/sections/sections.hpp"
#include "report/validation/validation_table.hpp"

namespace dlscale::report {
namespace {

using model::AffineFit;
using model::KernelTime;
using model::LoaderFit;
using model::Machine;

constexpr Bytes all_reduce_shown(25 * 1024.0 * 1024.0);  ///< the large bucket of `bucketed`

/// Numbers of ranks on a node with measurements.
std::set<int> settings(const Machine& machine) {
  std::set<int> ranks;
  for (const KernelTime& kernel : machine.kernels) ranks.insert(kernel.ranks_on_node);
  for (const LoaderFit& loader : machine.loaders) ranks.insert(loader.ranks_on_node);
  return ranks;
}

/// The conditions of a table with one number for each part; omits all others.
struct WorkerConditions {
  DType dtype = DType::f32;
  int threads = 0;  ///< the fewest measured in this precision; 0: none
  int height = 0;   ///< largest crop of images
  int width = 0;
};

WorkerConditions conditions(const Machine& machine) {
  WorkerConditions found;
  const auto consider = [&found](const auto& measured) {
    for (const auto& one : measured) {
      if (one.dtype != found.dtype) continue;
      if (found.threads == 0 || one.threads < found.threads) found.threads = one.threads;
    }
  };
  consider(machine.kernels);
  consider(machine.update);
  consider(machine.h2d);
  for (const LoaderFit& loader : machine.loaders) {
    const bool larger = static_cast<double>(loader.height) * loader.width >
                        static_cast<double>(found.height) * found.width;
    if (larger) std::tie(found.height, found.width) = std::pair(loader.height, loader.width);
  }
  return found;
}

/// The measurement with this many ranks under the conditions.
template <class Measured>
bool matches(const Measured& measured, const WorkerConditions& conditions, int ranks_on_node) {
  return measured.ranks_on_node == ranks_on_node && measured.dtype == conditions.dtype &&
         measured.threads == conditions.threads;
}

std::string fastest_convolution(const Machine& machine, const WorkerConditions& conditions,
                                int ranks_on_node, Pass pass) {
  FlopsPerSecond fastest;
  for (const KernelTime& kernel : machine.kernels) {
    const bool wanted = matches(kernel, conditions, ranks_on_node) && kernel.pass == pass &&
                        kernel.kernel.starts_with("convolution");
    if (wanted) fastest = std::max(fastest, kernel.work.flops / kernel.time.value);
  }
  return fastest > FlopsPerSecond{} ? to_text(fastest) : "–";
}

/// The rate for large arrays.
std::string large_array_rate(const std::vector<AffineFit>& fits, const WorkerConditions& conditions,
                             int ranks_on_node) {
  const auto fit = std::ranges::find_if(
      fits, [&](const AffineFit& one) { return matches(one, conditions, ranks_on_node); });
  if (fit == fits.end()) return "–";
  const SecondsPerByte cost = fit->cost.segments().back().beta.value;
  return cost > SecondsPerByte{} ? to_text(1.0 / cost) : "–";
}

std::string pictures_per_second(const Machine& machine, const WorkerConditions& conditions,
                                int ranks_on_node) {
  const auto loader = std::ranges::find_if(machine.loaders, [&](const LoaderFit& one) {
    return one.ranks_on_node == ranks_on_node && one.height == conditions.height &&
           one.width == conditions.width;
  });
  if (loader == machine.loaders.end()) return "–";
  return significant(1 / loader->picture().value.si(), 3) + " a second";
}

/// Time of an all-reduce between the ranks of one node.
std::string all_reduce(const Machine& machine, int ranks_on_node) {
  for (const model::CollectiveFit& fit : machine.collectives) {
    const bool wanted = fit.collective == "all_reduce" && fit.waiting == "spin" &&
                        fit.ranks == ranks_on_node && fit.ranks_on_node == ranks_on_node;
    if (wanted) return to_text(fit.time(all_reduce_shown));
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

Table empty_worker_table(const WorkerConditions& conditions, const std::set<int>& ranks) {
  Table table;
  table.title = "What a worker of this machine reaches";
  if (conditions.threads > 0) {
    table.title += fmt::format(", in {} with {}", dtype_name(conditions.dtype),
                               counted(conditions.threads, "compute thread"));
  }
  table.columns = {{"part", Align::left}};
  for (const int count : ranks) {
    table.columns.push_back({count == 1 ? "alone" : fmt::format("{} at once, each", count)});
  }
  table.notes = {"the fastest convolution is that of all layers and batches measured"};
  return table;
}

/// All numbers of ranks of all curves.
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
    cells.push_back(
        {at == curve.end() ? "–" : speedup_text(at->speedup, at->speedup_low, at->speedup_high)});
  }
  cells.push_back({curve.back().bound});
  return cells;
}

/// Outcomes of cells come first: a missing result is not visible elsewhere.
void add_suites(Document& document, const ReportInput& input) {
  if (input.suites.empty()) return;
  document.cells = cell_records(input);
  document.lead = suites_sentence(input) + (document.lead.empty() ? "" : ". " + document.lead);
}

/// Links between nodes that predictions on several full nodes assume.
std::string between_nodes(const Machine& machine) {
  const Cluster& cluster = machine.cluster;
  const bool measured = std::ranges::any_of(machine.collectives, [&](const auto& fit) {
    return fit.ranks > fit.ranks_on_node && fit.ranks_on_node == cluster.devices_per_node;
  });
  if (measured) return "all-reduce was measured between nodes, and is extrapolated to more";
  const LinkSpec& link = cluster.inter_node;
  if (link.bandwidth.si() <= 0) return "links between nodes assumed as fast as within one";
  return fmt::format("nodes joined by {} with {} start-up: assumed, not measured",
                     to_text(link.bandwidth), to_text(link.latency));
}

}  // namespace

Table worker_table(const Machine& machine) {
  const WorkerConditions of = conditions(machine);
  const std::set<int> ranks = settings(machine);
  Table table = empty_worker_table(of, ranks);
  for (const auto& [pass, name] :
       {std::pair{Pass::forward, "forward"}, std::pair{Pass::backward_data, "backward-data"},
        std::pair{Pass::backward_filter, "backward-filter"}}) {
    add_row(table, ranks, fmt::format("fastest convolution, {}", name),
            [&, pass = pass](int count) { return fastest_convolution(machine, of, count, pass); });
  }
  add_row(table, ranks, "SGD update, of parameters in memory",
          [&](int count) { return large_array_rate(machine.update, of, count); });
  add_row(table, ranks, "copy of a batch to the device",
          [&](int count) { return large_array_rate(machine.h2d, of, count); });
  add_row(table, ranks,
          fmt::format("pictures read, decoded, cropped to {} × {} by a loader thread", of.height,
                      of.width),
          [&](int count) { return pictures_per_second(machine, of, count); });
  add_row(table, ranks,
          "all-reduce of " + to_text(all_reduce_shown) + ", ranks waiting by spinning",
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
    table.notes.push_back(fmt::format("{} worker{} a node; {}", cluster.devices_per_node,
                                      cluster.devices_per_node == 1 ? "" : "s",
                                      between_nodes(input.machine)));
  }
  return table;
}

Document parts_document(const ReportInput& input) {
  Document document;
  document.lead = measurement_page(input).verdict;
  if (input.kernels) {
    document.lead = fastest_sentence(input.results);
    document.tables = convolution_summary(input);
    std::erase_if(document.tables,
                  [](const Table& table) { return table.rows.empty() && table.notes.empty(); });
  }
  std::ranges::move(suite_troubles(input), std::back_inserter(document.tables));
  for (Table& table : processor_tables(input.results)) document.tables.push_back(std::move(table));
  std::ranges::move(message_summary(input.results), std::back_inserter(document.tables));
  std::ranges::move(communication_summary(input.results), std::back_inserter(document.tables));
  document.records = result_records(input.results);
  document.json = results_json(input.results, input.suites);
  add_suites(document, input);
  return document;
}

Document summary_document(const ReportInput& input) {
  Document document = validation_document(input.validation, input.limits);
  std::vector<Table> tables;
  for (Table& table : std::vector<Table>{worker_table(input.machine), speedups_table(input)}) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  tables.push_back(std::move(document.tables.front()));  // the page has the others
  document.tables = std::move(tables);
  std::ranges::move(suite_troubles(input), std::back_inserter(document.tables));
  add_suites(document, input);
  return document;
}

}  // namespace dlscale::report
