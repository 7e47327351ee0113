#include "report/kernels/kernel_tables.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/table/field_table.hpp"

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
        "that a part of it may have come from there. Measure a sweep of sizes of memory",
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
    table.notes = {
        fmt::format("no peak of arithmetic with {} among the results. Measure it with as many",
                    counted(threads, "thread"))};
  }
  return table;
}

/// "memory" or "arithmetic"; null for nominal work.
Json bound_by(const PlacedKernel& kernel) {
  if (kernel.is_nominal()) return nullptr;
  return kernel.bound_by_memory ? "memory" : "arithmetic";
}

/// A property of all kernels except those with nominal work.
template <class Get>
auto unless_nominal(Get get) {
  return [get](const PlacedKernel& kernel) {
    return kernel.is_nominal() ? Json(nullptr) : value_of(std::invoke(get, kernel));
  };
}

/// Share of the hierarchical roofline.
double overlapped_share(const PlacedKernel& kernel) {
  return kernel.overlapped_bound / kernel.sample->time;
}

/// Intensity of a direct convolution that moves every tensor once.
FlopsPerByte effective_intensity(const PlacedKernel& kernel) {
  const ConvolutionShape& shape = kernel.sample->what.shape;
  return direct_flops(shape) / least_bytes(shape);
}

/// A kernel in all forms. The fields refer to the roofline.
Fields<PlacedKernel> placed_fields(const HierarchicalRoofline& roofline,
                                   std::optional<FlopsPerSecond> peak) {
  using F = Field<PlacedKernel>;
  using enum Meaning;
  const auto of_case = [](std::initializer_list<std::string_view> keys) {
    return part_of<PlacedKernel>(
        picked(kernel_fields(), keys),
        [](const PlacedKernel& kernel) -> const model::KernelCase& { return kernel.sample->what; });
  };
  const auto level = [&roofline](const PlacedKernel& kernel) {
    return roofline.levels().at(kernel.source).name;
  };
  const auto of_peak = [peak](const PlacedKernel& kernel) {
    return peak ? std::optional(kernel.executed / *peak) : std::nullopt;
  };
  Fields<PlacedKernel> fields = joined<PlacedKernel>({
      of_case({"backend", "algorithm", "pass", "kernel"}),
      {F::json("layers", via(&PlacedKernel::sample, &model::KernelSample::layers))},
      of_case({"batch", "threads", "cache"}),
      {{"time_s", value, via(&PlacedKernel::sample, &model::KernelSample::time)},
       {"intensity_flops_per_byte", value, &PlacedKernel::intensity, "FLOP/B", as::significant<3>},
       F::json("effective_intensity_flops_per_byte", effective_intensity),
       {"executed_flops_per_s", value, &PlacedKernel::executed, "executed GFLOP/s", as::giga},
       {"effective_flops_per_s", value, &PlacedKernel::effective, "effective GFLOP/s", as::giga},
       F::json("nominal", &PlacedKernel::is_nominal),
       {"bound_s", value, unless_nominal(&PlacedKernel::bound)},
       {"share_of_roofline", value, &PlacedKernel::share, "of roofline", as::percent},
       {"overlapped_bound_s", value, unless_nominal(&PlacedKernel::overlapped_bound)},
       F::table("if stages overlapped", unless_nominal(overlapped_share), as::percent),
       {"source_level", value, &PlacedKernel::source},
       F::json("bound_by", bound_by),
       F::table("bound by", bound_by, as::words_or_dash),
       F::table("data from", level, as::words),
       F::json("share_of_data_sheet", of_peak)},
  });
  if (peak) fields.push_back(F::table("of data sheet", of_peak, as::percent));
  return fields;
}

Table kernels_table(const HierarchicalRoofline& roofline, std::span<const PlacedKernel> kernels,
                    std::optional<FlopsPerSecond> peak, int unbounded) {
  Table table = table_of(placed_fields(roofline, peak), kernels);
  table.title = "Convolutions under them";
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
    table.notes.push_back(
        fmt::format("{} left out: with what the step before has just written in the caches, "
                    "of which the ceilings do not tell from where it comes",
                    counted(unbounded, "measured convolution")));
  }
  return table;
}

Json placed_object(const HierarchicalRoofline& roofline, std::span<const PlacedKernel> kernels,
                   std::optional<FlopsPerSecond> peak) {
  Json ceilings = Json::array();
  for (const model::ArithmeticCeiling& ceiling : roofline.ceilings()) {
    ceilings.push_back({{"name", ceiling.name}, {"flops_per_s", value_of(ceiling.rate)}});
  }
  Json levels = Json::array();
  for (const model::MemoryLevel& level : roofline.levels()) {
    levels.push_back({{"name", level.name},
                      {"capacity_bytes", value_of(level.capacity)},
                      {"bandwidth_bytes_per_s", value_of(level.bandwidth)}});
  }
  return {{"peak_flops_per_s", value_of(roofline.peak())},
          {"data_sheet_flops_per_s", value_of(peak)},
          {"arithmetic_ceilings", std::move(ceilings)},
          {"levels", std::move(levels)},
          {"kernels", list_of(placed_fields(roofline, peak), kernels)}};
}

std::string placed_lead(long long kernels, const std::vector<double>& shares) {
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

Document placed_kernels_document(const HierarchicalRoofline& roofline,
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
  // The kernels refer to samples of the caller, which the text may outlive.
  const Json object = placed_object(roofline, kernels, data_sheet_peak);
  return {placed_lead(static_cast<long long>(kernels.size()), shares), std::move(tables),
          records_of(placed_fields(roofline, data_sheet_peak), kernels),
          json_answer("dlscale.roofline", [object] { return object; })};
}

Fields<model::KernelCase> kernel_fields() {
  using Row = model::KernelCase;
  using model::Way;
  using enum Meaning;
  return {
      {"backend", key, via(&Row::way, &Way::backend)},
      {"algorithm", key, via(&Row::way, &Way::method, convolution::method_name), "algorithm",
       via(&Row::way, &Way::algorithm), Align::left},
      {"pass", key, via(&Row::way, &Way::pass, pass_name), "pass", as::words},
      {"kernel", key, &Row::kernel, "kernel", as::words},
      {"batch", key, &Row::batch, "batch", as::exact},
      {"threads", key, via(&Row::way, &Way::threads)},
      {"cache", key, via(&Row::way, &Way::cache)},
  };
}

Fields<model::KernelPrediction> predicted_fields() {
  using Row = model::KernelPrediction;
  using Time = model::Estimate<Seconds>;
  using enum Meaning;
  return in_records<Row>({
      {"predicted_s", value, via(&Row::time, &Time::value), "predicted ms", as::milliseconds},
      {"low_s", value, via(&Row::time, &Time::low)},
      {"high_s", value, via(&Row::time, &Time::high)},
      {"naive_s", value, &Row::naive},
  });
}

std::string beyond_text(const model::KernelPrediction& prediction, const char* separator) {
  return fmt::format("{}", fmt::join(prediction.beyond, separator));
}

Json way_object(const model::Way& way) {
  return {{"backend", way.backend},
          {"algorithm", convolution::method_name(way.method)},
          {"pass", pass_name(way.pass)},
          {"threads", way.threads},
          {"cache", way.cache}};
}

Json kernel_prediction_object(const model::KernelPrediction& prediction) {
  Json stages = Json::array();
  for (const model::StageTime& stage : prediction.stages) {
    stages.push_back({{"name", stage.name},
                      {"time_s", value_of(stage.time())},
                      {"compute_s", value_of(stage.compute)},
                      {"memory_s", value_of(stage.memory)},
                      {"bound_by", stage.memory_bound() ? "memory" : "compute"}});
  }
  return {{"time_s", value_of(prediction.time.value)},
          {"low_s", value_of(prediction.time.low)},
          {"high_s", value_of(prediction.time.high)},
          {"naive_s", value_of(prediction.naive)},
          {"beyond", prediction.beyond},
          {"correction", number(prediction.correction)},
          {"start_and_tensors_s", value_of(prediction.always)},
          {"stages", std::move(stages)}};
}

}  // namespace dlscale::report
