#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/convolution/pixel_blocks.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/gemm.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/algorithm_ratios.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report {
namespace {

using lowering::LoweredProduct;

constexpr std::int64_t least_size = 256;  ///< minimum of m, n and k for a product at full speed

/// A size in the form of --sizes.
std::string size_word(const GemmShape& product) {
  const char* transposed = product.transpose_a ? ":tn" : product.transpose_b ? ":nt" : "";
  return fmt::format("{}x{}x{}{}", product.m, product.n, product.k, transposed);
}

/// Axes that a product and a convolution must share.
using Setting = std::map<std::string, std::string>;

Setting product_setting(const Axes& axes) {
  Setting setting;
  for (const char* name : {"dtype", "threads", "cache", "ranks_on_node"}) {
    setting[name] = axis_or_empty(axes, name);
  }
  return setting;
}

/// Rates of products by setting, key and backend: the median over repeats.
using ProductRates =
    std::map<std::pair<Setting, std::string>, std::map<std::string, FlopsPerSecond>>;

ProductRates product_rates(std::span<const ResultFile> results) {
  std::map<std::pair<Setting, std::string>, std::map<std::string, std::vector<double>>> all;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      const auto rate = rates(each).flops;
      if (each.benchmark != "gemm" || !is_timed(each) || !rate || !has_normal_values(each))
        continue;
      all[{product_setting(each.axes), axis_or_empty(each, "kernel")}]
         [axis_or_empty(each, "backend")]
             .push_back(rate->si());
    }
  }
  ProductRates found;
  for (const auto& [product, backends] : all) {
    for (const auto& [backend, repeats] : backends) {
      found[product].emplace(backend, FlopsPerSecond(median(repeats)));
    }
  }
  return found;
}

/// The measurement that gives the speed of a product.
enum class Measured {
  same_call,  ///< the same call as im2col makes, with hot caches as its patches are
  fastest,    ///< the fastest backend, with caches as for the convolution
};

std::optional<FlopsPerSecond> speed_of(const GemmShape& product, Setting setting, Measured how,
                                       const ProductRates& all) {
  if (how == Measured::same_call) setting["cache"] = "hot";
  const auto found = all.find({setting, kernel_key(product)});
  if (found == all.end()) return std::nullopt;
  if (how == Measured::same_call) {
    const auto native = found->second.find("native");
    if (native == found->second.end()) return std::nullopt;
    return native->second;
  }
  return std::ranges::max_element(found->second, {}, [](const auto& each) { return each.second; })
      ->second;
}

/// im2col at a layer whose product is large enough.
struct LoweredCase {
  const Found* found;
  std::vector<LoweredProduct> products;
  LoweredProduct whole;  ///< product of all pixels, one group at a time
  FlopsPerSecond rate;
};

/// Whether the product of the whole batch is large; the layer splits it into blocks.
bool is_large(const GemmShape& product) {
  return std::min({product.m, product.n, product.k}) >= least_size;
}

std::vector<LoweredCase> lowered_cases(const std::vector<Found>& cases) {
  std::vector<LoweredCase> large;
  for (const Found& found : cases) {
    const Measurement* row = timed_by(found.by, our_algorithm(lowering::Method::im2col));
    const std::string batch = axis_or_empty(found.condition, "batch");
    if (row == nullptr || !is_number(batch) || found.what.pass >= convolution_passes.size()) {
      continue;
    }
    const auto keyed = parse_convolution_key(found.what.kernel, std::stoi(batch));
    const auto rate = rates(*row).flops;
    if (!keyed || !rate) continue;
    const Pass pass = convolution_passes.at(found.what.pass);
    const GemmShape whole = lowering::whole_product(keyed->shape, pass);
    if (!is_large(whole)) continue;
    large.push_back({&found,
                     lowering::lowered_products(keyed->shape, pass),
                     {whole, keyed->shape.groups},
                     *rate});
  }
  return large;
}

Flops flops_of(const LoweredProduct& product) {
  return static_cast<double>(product.count) * work(product.shape, DType::f32).flops;
}

/// Rate of products in sequence, each at its own speed. Empty if one was not measured; `missing`
/// then lists it.
std::optional<FlopsPerSecond> rate_of(const std::vector<LoweredProduct>& products,
                                      const Setting& setting, Measured how,
                                      const ProductRates& speeds, std::set<std::string>& missing) {
  Flops all;
  Seconds time;
  bool complete = true;
  for (const LoweredProduct& product : products) {
    const auto alone = speed_of(product.shape, setting, how, speeds);
    if (!alone) {
      missing.insert(size_word(product.shape));
      complete = false;
      continue;
    }
    all += flops_of(product);
    time += flops_of(product) / *alone;
  }
  if (!complete) return std::nullopt;
  return all / time;
}

std::int64_t count_of(const std::vector<LoweredProduct>& products) {
  std::int64_t count = 0;
  for (const LoweredProduct& product : products) count += product.count;
  return count;
}

/// A reference for im2col, and its shares of it by layer.
struct Comparison {
  std::string name;
  std::string what;
  std::vector<std::pair<double, std::string>> shares = {};
};

/// Notes missing products, by size if they are few.
void note_missing(Table& table, std::string_view how, const std::set<std::string>& missing) {
  constexpr std::ptrdiff_t few = 12;
  if (missing.empty()) return;
  const std::string which =
      std::ssize(missing) > few ? "" : fmt::format(": {}", fmt::join(missing, ","));
  table.notes.push_back(
      fmt::format("{} not measured {}{}", counted(std::ssize(missing), "product"), how, which));
}

void note_shares(Table& table, const Comparison& comparison) {
  if (comparison.shares.empty()) return;
  std::vector<double> values;
  values.reserve(comparison.shares.size());
  for (const auto& [share, layer] : comparison.shares) values.push_back(share);
  const auto& [lowest, layer] = *std::ranges::min_element(comparison.shares);
  table.notes.push_back(fmt::format("of {}: median {}, lowest {} at {}; {}", comparison.name,
                                    percent(median(values)), percent(lowest), layer,
                                    comparison.what));
}

/// The speed, and im2col's share of it; dashes if unknown.
void add_share(const LoweredCase& each, const std::optional<FlopsPerSecond>& other,
               Comparison& comparison, std::vector<Cell>& cells) {
  if (!other) {
    for (int i = 0; i < 2; ++i) cells.push_back({"–"});
    return;
  }
  const double share = each.rate / *other;
  comparison.shares.emplace_back(share, each.found->layer() + " " + each.found->what.pass_text());
  cells.push_back({giga(*other)});
  cells.push_back({percent(share)});
}

}  // namespace

Table product_shares(std::span<const ResultFile> results) {
  const std::vector<Found> cases = found_cases(results);
  const ProductRates speeds = product_rates(results);
  Table table;
  table.title = "Our im2col beside its products alone, m, n and k of 256 or more for all images";
  table.columns = {{"layer", Align::left}, {"batch"},         {"pass", Align::left},
                   {"im2col GFLOP/s"},     {"products"},      {"largest, m × n × k"},
                   {"same call GFLOP/s"},  {"of same call"},  {"fastest GFLOP/s"},
                   {"of fastest"},         {"whole GFLOP/s"}, {"of whole"}};
  Comparison same{"same call",
                  "its products, of the pixels of a block each, whose patches take 4 MiB, by the "
                  "call that it makes, from hot caches"};
  Comparison fastest{"fastest",
                     "the same products, each by the fastest backend, from caches as the "
                     "convolution has them"};
  Comparison whole{"whole", "one product of all pixels (a group), likewise"};
  std::set<std::string> missing_hot, missing;
  for (const LoweredCase& each : lowered_cases(cases)) {
    const Setting setting = product_setting(each.found->condition);
    // A product of the backend native uses one thread.
    const bool alone = setting.at("threads") == "1";
    const auto by_call =
        alone ? rate_of(each.products, setting, Measured::same_call, speeds, missing_hot)
              : std::nullopt;
    const auto by_fastest = rate_of(each.products, setting, Measured::fastest, speeds, missing);
    const auto of_all = rate_of({each.whole}, setting, Measured::fastest, speeds, missing);
    if (!by_call && !by_fastest && !of_all) continue;
    const GemmShape& largest = each.products.front().shape;
    std::vector<Cell> row{{each.found->layer()},
                          {axis_or_empty(each.found->condition, "batch")},
                          {each.found->what.pass_text()},
                          {giga(each.rate)},
                          {std::to_string(count_of(each.products))},
                          {fmt::format("{} × {} × {}", largest.m, largest.n, largest.k)}};
    add_share(each, by_call, same, row);
    add_share(each, by_fastest, fastest, row);
    add_share(each, of_all, whole, row);
    table.rows.push_back(std::move(row));
  }
  for (const Comparison* comparison : {&same, &fastest, &whole}) note_shares(table, *comparison);
  note_missing(table, "by the call of im2col from hot caches", missing_hot);
  note_missing(table, "from caches as the convolutions have them", missing);
  return table;
}

}  // namespace dlscale::report
