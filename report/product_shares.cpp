#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/convolution_shape.hpp"
#include "core/gemm.hpp"
#include "core/statistics.hpp"
#include "core/usable_rows.hpp"
#include "report/algorithm_ratios.hpp"
#include "report/measured_cases.hpp"
#include "report/numbers.hpp"
#include "report/rates.hpp"

namespace dlscale::report {
namespace {

constexpr std::int64_t least_size = 256;  ///< of m, n and k, for a product at its full speed

/// The product that im2col makes of one image   [MODEL 4, table of methods]:
///   forward          K × PQ  = K × CRS · CRS × PQ
///   backward_data    CRS × PQ = (K × CRS)ᵀ · K × PQ
///   backward_filter  K × CRS = K × PQ · (CRS × PQ)ᵀ
GemmShape product_of(const ConvolutionShape& shape, Pass pass) {
  const std::int64_t pixels = shape.out_height * shape.out_width;
  GemmShape product{.m = shape.outputs, .n = pixels, .k = shape.taps()};
  if (pass == Pass::backward_data) {
    product = {.m = shape.taps(), .n = pixels, .k = shape.outputs, .transpose_a = true};
  } else if (pass == Pass::backward_filter) {
    product = {.m = shape.outputs, .n = shape.taps(), .k = pixels, .transpose_b = true};
  }
  return product;
}

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
  GemmShape product;
  FlopsPerSecond rate;
};

std::vector<LoweredCase> lowered_cases(const std::vector<Found>& cases) {
  std::vector<LoweredCase> large;
  for (const Found& found : cases) {
    const Measurement* row = timed_by(found.by, "native im2col");
    const auto keyed = parse_convolution_key(found.what.kernel, 1);
    if (row == nullptr || !keyed || keyed->shape.groups != 1) continue;
    const auto rate = rates(*row).flops;
    if (!rate || found.what.pass >= convolution_passes.size()) continue;
    const GemmShape product = product_of(keyed->shape, convolution_passes.at(found.what.pass));
    if (std::min({product.m, product.n, product.k}) < least_size) continue;
    large.push_back({&found, product, *rate});
  }
  return large;
}

void note_missing(Table& table, const std::set<std::string>& missing) {
  if (missing.empty()) return;
  table.notes.push_back(
      fmt::format("{} not measured, so that convolutions are left out here; measure with: dlscale "
                  "bench gemm --sizes {}",
                  counted(std::ssize(missing), "product"), fmt::join(missing, ",")));
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
  table.title = "Our im2col beside the product alone, m, n and k of 256 or more";
  table.columns = {{"layer", Align::left},
                   {"batch"},
                   {"pass", Align::left},
                   {"product m × n × k"},
                   {"im2col GFLOP/s"},
                   {"product alone GFLOP/s"},
                   {"share"}};
  std::set<std::string> missing;
  std::vector<std::pair<double, std::string>> shares;
  for (const LoweredCase& each : lowered_cases(cases)) {
    const auto alone = products.find({setting_of(each.found->condition), kernel_key(each.product)});
    if (alone == products.end()) {
      missing.insert(size_word(each.product));
      continue;
    }
    const double share = each.rate / alone->second;
    const std::string pass = each.found->what.pass_text();
    shares.emplace_back(share, each.found->layer() + " " + pass);
    table.rows.push_back(
        {{each.found->layer()},
         {axis_or_empty(each.found->condition, "batch")},
         {pass},
         {fmt::format("{} × {} × {}", each.product.m, each.product.n, each.product.k)},
         {giga(each.rate)},
         {giga(alone->second)},
         {percent(share)}});
  }
  note_lowest(table, std::move(shares));
  note_missing(table, missing);
  return table;
}

}  // namespace dlscale::report
