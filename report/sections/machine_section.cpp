#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/sections/sections.hpp"
#include "report/sections/summary.hpp"

namespace dlscale::report {
namespace {

/// "12.3 us (12.1 us to 12.6 us)".
template <class Quantity>
std::string estimate_text(const model::Estimate<Quantity>& estimate) {
  return fmt::format("{} ({} to {})", to_text(estimate.value), to_text(estimate.low),
                     to_text(estimate.high));
}

std::string bandwidth_text(SecondsPerByte cost) {
  return cost > SecondsPerByte{} ? to_text(1.0 / cost) : "no limit";
}

/// A cost per byte, shown as a bandwidth.
std::string inverse_text(const model::Estimate<SecondsPerByte>& cost) {
  return fmt::format("{} ({} to {})", bandwidth_text(cost.value), bandwidth_text(cost.high),
                     bandwidth_text(cost.low));
}

/// A row for each segment of a fit: its subject, and the segment.
void append_segments(Table& table, const std::vector<Cell>& what, const model::Piecewise& cost) {
  for (const model::Segment& segment : cost.segments()) {
    std::vector<Cell> cells = what;
    cells.insert(cells.end(), {{to_text(segment.from)},
                               {to_text(segment.to)},
                               {estimate_text(segment.alpha)},
                               {inverse_text(segment.beta)},
                               {percent(segment.median_residual)},
                               {std::to_string(segment.points)}});
    table.rows.push_back(std::move(cells));
  }
}

Table collectives_table(const model::Machine& machine) {
  Table table;
  table.title = "Collectives: T(m) = α + β m, in pieces";
  table.columns = {{"collective", Align::left},
                   {"ranks"},
                   {"on a node"},
                   {"waiting", Align::left},
                   {"from"},
                   {"to"},
                   {"α"},
                   {"1/β"},
                   {"median residual"},
                   {"points"}};
  for (const model::CollectiveFit& fit : machine.collectives) {
    const std::vector<Cell> what{{fit.collective},
                                 {std::to_string(fit.ranks)},
                                 {std::to_string(fit.ranks_on_node)},
                                 {fit.waiting}};
    append_segments(table, what, fit.cost);
  }
  return table;
}

void append_affine(Table& table, const std::string& what,
                   const std::vector<model::AffineFit>& fits) {
  for (const model::AffineFit& fit : fits) {
    append_segments(table,
                    {{what}, {std::to_string(fit.ranks_on_node)}, {std::to_string(fit.threads)}},
                    fit.cost);
  }
}

Table copies_table(const model::Machine& machine) {
  Table table;
  table.title = "Copies and updates: T(m) = start + m / bandwidth, in pieces";
  table.columns = {
      {"what", Align::left}, {"ranks on a node"}, {"threads"}, {"from"}, {"to"}, {"start"},
      {"bandwidth"},         {"median residual"}, {"points"}};
  append_affine(table, "host-to-device copy", machine.h2d);
  append_affine(table, "update of parameters", machine.update);
  return table;
}

Table loaders_table(const model::Machine& machine) {
  Table table;
  table.title = "Input: one loader thread and one picture";
  table.columns = {{"ranks on a node"}, {"crop"}, {"read"}, {"decode"}, {"augment"}};
  for (const model::LoaderFit& fit : machine.loaders) {
    table.rows.push_back({{std::to_string(fit.ranks_on_node)},
                          {fmt::format("{} × {}", fit.height, fit.width)},
                          {estimate_text(fit.read)},
                          {estimate_text(fit.decode)},
                          {estimate_text(fit.augment)}});
  }
  return table;
}

Table memory_table(const model::Machine& machine) {
  Table table;
  table.title = "Memory bandwidth";
  table.columns = {{"kernel", Align::left}, {"bandwidth"}};
  for (const auto& [kernel, bandwidth] : machine.memory_bandwidth) {
    table.rows.push_back({{kernel}, {estimate_text(bandwidth)}});
  }
  return table;
}

std::string origin(const model::Machine& machine) {
  const Cluster& cluster = machine.cluster;
  const std::string what =
      fmt::format("{} with {} ({}).", counted(cluster.nodes, "node"),
                  counted(cluster.devices_per_node, "device") + (cluster.nodes > 1 ? " each" : ""),
                  cluster.device.name);
  return what + (machine.fitted ? " Values are fitted to measurements, with 95 % intervals in "
                                  "brackets; no measurement of a training run is among them."
                                : " Values are from data sheets, so predicted times are "
                                  "estimates with wide intervals, and no bounds.");
}

}  // namespace

Section machine_section(const model::Machine& machine) {
  Section section{"machine", "Machine", {Paragraph{origin(machine)}, FigureSlot{"allreduce"}}};
  for (Table& table :
       std::vector<Table>{worker_table(machine), collectives_table(machine), copies_table(machine),
                          loaders_table(machine), memory_table(machine)}) {
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  }
  return section;
}

}  // namespace dlscale::report
