#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/convolution_shape.hpp"
#include "core/gemm.hpp"
#include "core/lowering/lowered_products.hpp"
#include "core/statistics.hpp"
#include "core/usable_rows.hpp"
#include "report/algorithm_ratios.hpp"
#include "report/measured_cases.hpp"
#include "report/numbers.hpp"
#include "report/rates.hpp"

namespace dlscale::report {
namespace {

using lowering::LoweredProduct;

constexpr std::int64_t least_size = 256;  ///< of m, n and k, for a product at its full speed

/// As --sizes takes it.
std::string size_word(const GemmShape& product) {
  const char* transposed = product.transpose_a ? ":tn" : product.transpose_b ? ":nt" : "";
  return fmt::format("{}x{}x{}{}", product.m, product.n, product.k, transposed);
}

/// What must be the same of a product and a convolution.
using Setting = std::map<std::string, std::string>;

Setting setting_of(const Axes& axes) {
  Setting setting;
  for (const char* name : {"dtype", "threads", "cache", "ranks_on_node"}) {
    setting[name] = axis_or_empty(axes, name);
  }
  return setting;
}

/// Rates of products by setting and key: of repeats the median, of backends the fastest.
using ProductRates = std::map<std::pair<Setting, std::string>, FlopsPerSecond>;

ProductRates product_rates(std::span<const ResultFile> results) {
  std::map<std::pair<Setting, std::string>, std::map<std::string, std::vector<double>>> all;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      const auto rate = rates(each).flops;
      if (each.benchmark != "gemm" || !is_timed(each) || !rate || !has_normal_values(each))
        continue;
      all[{setting_of(each.axes), axis_or_empty(each, "kernel")}][axis_or_empty(each, "backend")]
          .push_back(rate->si());
    }
  }
  ProductRates fastest;
  for (const auto& [product, backends] : all) {
    for (const auto& [backend, repeats] : backends) {
      FlopsPerSecond& best = fastest[product];
      best = std::max(best, FlopsPerSecond(median(repeats)));
    }
  }
  return fastest;
}

/// im2col at a layer whose product is large enough.
struct LoweredCase {
  const Found* found;
  std::vector<LoweredProduct> products;
  FlopsPerSecond rate;
};

/// Whether the product of the whole batch, all of whose blocks are those of the layer, is large.
bool is_large(const GemmShape& product) {
  return std::min({product.m, product.n, product.k}) >= least_size;
}

std::vector<LoweredCase> lowered_cases(const std::vector<Found>& cases) {
  std::vector<LoweredCase> large;
  for (const Found& found : cases) {
    const Measurement* row = timed_by(found.by, "native im2col");
    const std::string batch = axis_or_empty(found.condition, "batch");
    if (row == nullptr || !is_number(batch) || found.what.pass >= convolution_passes.size()) {
      continue;
    }
    const auto keyed = parse_convolution_key(found.what.kernel, std::stoi(batch));
    const auto rate = rates(*row).flops;
    if (!keyed || !rate) continue;
    const Pass pass = convolution_passes.at(found.what.pass);
    if (!is_large(lowering::whole_product(keyed->shape, pass))) continue;
    large.push_back({&found, lowering::lowered_products(keyed->shape, pass), *rate});
  }
  return large;
}

Flops flops_of(const LoweredProduct& product) {
  return static_cast<double>(product.count) * work(product.shape, DType::f32).flops;
}

/// Of all products one after the other, each at the speed it has alone. Nothing if one was not
/// measured, which is then among `missing`.
std::optional<FlopsPerSecond> rate_alone(const LoweredCase& each, const ProductRates& speeds,
                                         std::set<std::string>& missing) {
  Flops all;
  Seconds time;
  bool complete = true;
  const Setting setting = setting_of(each.found->condition);
  for (const LoweredProduct& product : each.products) {
    const auto alone = speeds.find({setting, kernel_key(product.shape)});
    if (alone == speeds.end()) {
      missing.insert(size_word(product.shape));
      complete = false;
      continue;
    }
    all += flops_of(product);
    time += flops_of(product) / alone->second;
  }
  if (!complete) return std::nullopt;
  return all / time;
}

std::int64_t count_of(const std::vector<LoweredProduct>& products) {
  std::int64_t count = 0;
  for (const LoweredProduct& product : products) count += product.count;
  return count;
}

/// A few by their sizes.
void note_missing(Table& table, const std::set<std::string>& missing) {
  constexpr std::ptrdiff_t few = 12;
  if (missing.empty()) return;
  const std::string options = std::ssize(missing) > few
                                  ? "--network NETWORK --batch N"
                                  : fmt::format("--sizes {}", fmt::join(missing, ","));
  table.notes.push_back(
      fmt::format("{} not measured, so that convolutions are left out here; measure with: dlscale "
                  "bench gemm {}",
                  counted(std::ssize(missing), "product"), options));
}

void note_lowest(Table& table, std::vector<std::pair<double, std::string>> shares) {
  if (shares.empty()) return;
  std::vector<double> values;
  values.reserve(shares.size());
  for (const auto& [share, layer] : shares) values.push_back(share);
  const auto& [lowest, layer] = *std::ranges::min_element(shares);
  table.notes.push_back(
      fmt::format("median {}, lowest {} at {}", percent(median(values)), percent(lowest), layer));
}

}  // namespace

Table product_shares(std::span<const ResultFile> results) {
  const std::vector<Found> cases = found_cases(results);
  const ProductRates products = product_rates(results);
  Table table;
  table.title = "Our im2col beside its products alone, m, n and k of 256 or more for all images";
  table.columns = {
      {"layer", Align::left}, {"batch"},          {"pass", Align::left},      {"products"},
      {"largest, m × n × k"}, {"im2col GFLOP/s"}, {"products alone GFLOP/s"}, {"share"}};
  std::set<std::string> missing;
  std::vector<std::pair<double, std::string>> shares;
  for (const LoweredCase& each : lowered_cases(cases)) {
    const auto alone = rate_alone(each, products, missing);
    if (!alone) continue;
    const double share = each.rate / *alone;
    const std::string pass = each.found->what.pass_text();
    shares.emplace_back(share, each.found->layer() + " " + pass);
    const GemmShape& largest = each.products.front().shape;
    table.rows.push_back({{each.found->layer()},
                          {axis_or_empty(each.found->condition, "batch")},
                          {pass},
                          {std::to_string(count_of(each.products))},
                          {fmt::format("{} × {} × {}", largest.m, largest.n, largest.k)},
                          {giga(each.rate)},
                          {giga(*alone)},
                          {percent(share)}});
  }
  note_lowest(table, std::move(shares));
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "products as im2col runs them: of the pixels of a block each, whose patches take 4 MiB; "
        "alone: one after the other at the speed that bench gemm measured of each");
  }
  note_missing(table, missing);
  return table;
}

}  // namespace dlscale::report
