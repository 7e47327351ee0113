#include "report/placed_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/statistics.hpp"
#include "model/roofline/memory_levels.hpp"
#include "report/json/fields.hpp"
#include "report/kernel_cells.hpp"
#include "report/numbers.hpp"
#include "report/record_columns.hpp"

namespace dlscale::report {
namespace {

using model::HierarchicalRoofline;
using model::PlacedKernel;

Table ceilings_table(const HierarchicalRoofline& roofline) {
  Table table;
  table.title = fmt::format("Measured ceilings: {}, and of memory", to_text(roofline.peak()));
  table.columns = {{"level", Align::left}, {"up to"}, {"bandwidth"}, {"ridge FLOP/B"}};
  for (const model::MemoryLevel& level : roofline.levels()) {
    table.rows.push_back({{level.name},
                          {to_text(level.capacity)},
                          {to_text(level.bandwidth)},
                          {significant((roofline.peak() / level.bandwidth).si(), 3)}});
  }
  table.notes = {
      "peak: the highest rate of operations of bench peak and bench gemm (without bench peak: of "
      "the convolutions, too); the last level holds all that is larger",
      "of a level: the median over its working sets of the fastest kind of pass"};
  if (roofline.levels().back().name != model::memory_name) {
    table.notes.push_back(fmt::format(
        "{}: the results have no working set that is known to be {} times the last-level cache, so "
        "that a part of it may have come from there. Measure: dlscale bench memory --sizes sweep",
        model::farthest_name, model::sets_beyond_a_cache));
  }
  return table;
}

Table arithmetic_table(const HierarchicalRoofline& roofline, int threads) {
  Table table;
  table.title = "Ceilings of arithmetic below the peak";
  table.columns = {{"of", Align::left}, {"GFLOP/s"}, {"of peak"}};
  for (const model::ArithmeticCeiling& ceiling : roofline.ceilings()) {
    table.rows.push_back(
        {{ceiling.name}, {giga(ceiling.rate)}, {percent(ceiling.rate / roofline.peak())}});
  }
  if (table.rows.empty()) {
    table.notes = {fmt::format(
        "no bench peak with {} among the results. Measure: dlscale bench peak --threads {}",
        counted(threads, "thread"), threads)};
  }
  return table;
}

/// "memory" or "arithmetic"; of nominal work `unknown`.
std::string bound_by(const PlacedKernel& kernel, const char* unknown) {
  if (kernel.is_nominal()) return unknown;
  return kernel.bound_by_memory ? "memory" : "arithmetic";
}

std::string share_text(std::optional<double> share) {
  return share ? percent(*share) : "–";
}

/// Of the hierarchical roofline.
std::optional<double> overlapped_share(const PlacedKernel& kernel) {
  if (kernel.is_nominal()) return std::nullopt;
  return kernel.overlapped_bound / kernel.sample->time;
}

Table kernels_table(const HierarchicalRoofline& roofline, std::span<const PlacedKernel> kernels,
                    std::optional<FlopsPerSecond> peak, int unbounded) {
  Table table;
  table.title = "Convolutions under them";
  table.columns = kernel_columns();
  for (const char* heading :
       {"FLOP/B", "executed GFLOP/s", "effective GFLOP/s", "of roofline", "if stages overlapped"}) {
    table.columns.push_back({heading});
  }
  table.columns.push_back({"bound by", Align::left});
  table.columns.push_back({"data from", Align::left});
  if (peak) table.columns.push_back({"of data sheet"});
  for (const PlacedKernel& kernel : kernels) {
    std::vector<Cell> cells = kernel_cells(kernel.sample->what);
    cells.insert(cells.end(), {{significant(kernel.intensity.si(), 3)},
                               {giga(kernel.executed)},
                               {giga(kernel.effective)},
                               {share_text(kernel.share())},
                               {share_text(overlapped_share(kernel))},
                               {bound_by(kernel, "–")},
                               {roofline.levels().at(kernel.source).name}});
    if (peak) cells.push_back({percent(kernel.executed / *peak)});
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "effective counts the operations of a direct convolution, taps on the padding included; "
      "executed those of the algorithm, of a direct one without them",
      "of roofline: the least time that the ceilings allow the algorithm's stages one after the "
      "other (time-based roofline), over the time measured; if stages overlapped: the same of the "
      "hierarchical roofline, where the slowest level or the arithmetic of all stages bounds",
      "data from: the farthest level whose cache-aware roof is above the executed GFLOP/s; were "
      "all bytes from farther away, it could not be as fast"};
  if (std::ranges::any_of(kernels, &PlacedKernel::is_nominal)) {
    table.notes.emplace_back(
        "– : what the library executes is nominal, as the papers count it stage by stage over the "
        "whole batch; it does not tell its blocks, which decide what comes from memory, so that "
        "its least time is not known");
  }
  if (unbounded > 0) {
    table.notes.push_back(fmt::format(
        "{} left out: with what the step before has just written in the caches (--cache producer), "
        "of which the ceilings do not tell from where it comes",
        counted(unbounded, "measured convolution")));
  }
  return table;
}

/// Of a direct convolution that moves every tensor once   [MODEL 4.1, 4.2].
FlopsPerByte effective_intensity(const ConvolutionShape& shape) {
  return direct_flops(shape) / least_bytes(shape);
}

Json kernel_fields(const PlacedKernel& kernel, std::optional<FlopsPerSecond> peak) {
  const model::KernelCase& what = kernel.sample->what;
  const bool nominal = kernel.is_nominal();
  return {{"backend", what.way.backend},
          {"algorithm", lowering::method_name(what.way.method)},
          {"pass", pass_name(what.way.pass)},
          {"kernel", what.kernel},
          {"layers", kernel.sample->layers},
          {"batch", what.batch},
          {"threads", what.way.threads},
          {"cache", what.way.cache},
          {"time_s", number(kernel.sample->time)},
          {"intensity_flops_per_byte", number(kernel.intensity.si())},
          {"effective_intensity_flops_per_byte", number(effective_intensity(what.shape).si())},
          {"executed_flops_per_s", number(kernel.executed.si())},
          {"effective_flops_per_s", number(kernel.effective.si())},
          {"nominal", nominal},
          {"bound_s", nominal ? Json(nullptr) : number(kernel.bound)},
          {"share_of_roofline", nominal ? Json(nullptr) : number(*kernel.share())},
          {"overlapped_bound_s", nominal ? Json(nullptr) : number(kernel.overlapped_bound)},
          {"source_level", kernel.source},
          {"bound_by", nominal ? Json(nullptr) : Json(bound_by(kernel, ""))},
          {"share_of_data_sheet", peak ? number(kernel.executed / *peak) : Json(nullptr)}};
}

std::string to_json(const HierarchicalRoofline& roofline, std::span<const PlacedKernel> kernels,
                    std::optional<FlopsPerSecond> peak) {
  Json json{{"schema", "dlscale.roofline"}, {"version", 1}};
  json["peak_flops_per_s"] = number(roofline.peak().si());
  json["data_sheet_flops_per_s"] = peak ? number(peak->si()) : Json(nullptr);
  json["arithmetic_ceilings"] = Json::array();
  for (const model::ArithmeticCeiling& ceiling : roofline.ceilings()) {
    json["arithmetic_ceilings"].push_back(
        {{"name", ceiling.name}, {"flops_per_s", number(ceiling.rate.si())}});
  }
  json["levels"] = Json::array();
  for (const model::MemoryLevel& level : roofline.levels()) {
    json["levels"].push_back({{"name", level.name},
                              {"capacity_bytes", number(level.capacity.si())},
                              {"bandwidth_bytes_per_s", number(level.bandwidth.si())}});
  }
  json["kernels"] = Json::array();
  for (const PlacedKernel& kernel : kernels) json["kernels"].push_back(kernel_fields(kernel, peak));
  return dump(json);
}

Table records(std::span<const PlacedKernel> kernels) {
  Table table;
  table.columns = kernel_record_columns();
  add_columns(
      table.columns, Meaning::value,
      {"time_s", "intensity_flops_per_byte", "executed_flops_per_s", "effective_flops_per_s",
       "bound_s", "share_of_roofline", "overlapped_bound_s", "source_level"});
  for (const PlacedKernel& kernel : kernels) {
    std::vector<Cell> cells = kernel_record_cells(kernel.sample->what);
    const bool nominal = kernel.is_nominal();
    cells.insert(cells.end(), {{exact(kernel.sample->time.si())},
                               {exact(kernel.intensity.si())},
                               {exact(kernel.executed.si())},
                               {exact(kernel.effective.si())},
                               {nominal ? "" : exact(kernel.bound.si())},
                               {nominal ? "" : exact(*kernel.share())},
                               {nominal ? "" : exact(kernel.overlapped_bound.si())},
                               {std::to_string(kernel.source)}});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string lead_of(long long kernels, const std::vector<double>& shares) {
  if (shares.empty()) {
    return fmt::format(
        "Of none of {} it is known how close to the measured roofline it comes: a library does not "
        "tell in which blocks it works.",
        counted(kernels, "measured convolution"));
  }
  const auto known = static_cast<long long>(shares.size());
  const long long unknown = kernels - known;
  return fmt::format("{} reach {} of the measured roofline in the median.{}",
                     counted(known, "measured convolution"), percent(median(shares)),
                     unknown > 0 ? fmt::format(" Of {} more it is not known.", unknown) : "");
}

}  // namespace

std::vector<Table> ceiling_tables(const HierarchicalRoofline& roofline,
                                  std::span<const PlacedKernel> kernels) {
  EXPECT(!kernels.empty());
  return {ceilings_table(roofline),
          arithmetic_table(roofline, kernels.front().sample->what.way.threads)};
}

Document placed_document(const HierarchicalRoofline& roofline,
                         std::span<const PlacedKernel> kernels,
                         std::optional<FlopsPerSecond> data_sheet_peak, int unbounded) {
  EXPECT(!kernels.empty());
  std::vector<double> shares;
  shares.reserve(kernels.size());
  for (const PlacedKernel& kernel : kernels) {
    if (const auto share = kernel.share()) shares.push_back(*share);
  }
  std::vector<Table> tables = ceiling_tables(roofline, kernels);
  tables.push_back(kernels_table(roofline, kernels, data_sheet_peak, unbounded));
  return {lead_of(static_cast<long long>(kernels.size()), shares), std::move(tables),
          records(kernels), to_json(roofline, kernels, data_sheet_peak)};
}

}  // namespace dlscale::report
