#include "model/published/kernels/kernel_table.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/config/csv_table.hpp"

namespace dlscale::model::published {
namespace {

constexpr double most_size = 1e9;
constexpr double most_ms = 1e9;
constexpr int first_year_of_known_libraries = 2017;

constexpr std::array<CsvColumn, 6> product_columns{
    {{"device"}, {"sheet"}, {"M"}, {"N"}, {"K"}, {"time_ms"}}};
constexpr std::array<CsvColumn, 6> linear_columns{
    {{"device"}, {"B"}, {"M"}, {"N"}, {"K"}, {"latency_ms"}}};
constexpr std::array<CsvColumn, 16> convolution_columns{{{"device"},
                                                         {"sheet"},
                                                         {"N"},
                                                         {"C"},
                                                         {"H"},
                                                         {"W"},
                                                         {"K"},
                                                         {"filter_h"},
                                                         {"filter_w"},
                                                         {"pad_h"},
                                                         {"pad_w"},
                                                         {"stride_h"},
                                                         {"stride_w"},
                                                         {"fwd_ms"},
                                                         {"bwd_inputs_ms"},
                                                         {"bwd_params_ms"}}};

/// A row of a file, and where it goes.
struct Row {
  const CsvTable& table;
  std::size_t row;
  const DeviceSheet* gpu;

  [[nodiscard]] double size(std::string_view column) const {
    return table.count(row, column, static_cast<int>(most_size));
  }
  [[nodiscard]] double padding(std::string_view column) const {
    return table.number(row, column, most_size);
  }
  [[nodiscard]] Seconds time(std::string_view column) const {
    constexpr double ms = 1e-3;
    const Seconds time(ms * table.number(row, column, most_ms));
    if (time <= Seconds()) {
      throw ConfigError(fmt::format("{}: {} is 0, which no kernel takes. Leave the row out.",
                                    table.place(row), column));
    }
    return time;
  }
  [[nodiscard]] DType dtype() const {
    return table.text(row, "sheet").find("FP16") != std::string::npos ? DType::f16 : DType::f32;
  }
};

void add_product(const Row& row, std::string_view time, DType dtype, double batch,
                 KernelSamples& read) {
  const sheet::Product product =
      sheet::linear_product(batch * row.size("M"), row.size("K"), row.size("N"), Pass::forward);
  read.samples.push_back({row.gpu, dtype, product, row.time(time)});
}

double outputs(double inputs, double pad, double filter, double stride) {
  return std::floor((inputs + 2 * pad - filter) / stride) + 1;
}

void add_convolution(const Row& row, KernelSamples& read) {
  sheet::ConvolutionSizes sizes;
  sizes.c = row.size("C");
  sizes.h = row.size("H");
  sizes.w = row.size("W");
  sizes.k = row.size("K");
  sizes.r = row.size("filter_h");
  sizes.s = row.size("filter_w");
  sizes.p = outputs(sizes.h, row.padding("pad_h"), sizes.r, row.size("stride_h"));
  sizes.q = outputs(sizes.w, row.padding("pad_w"), sizes.s, row.size("stride_w"));
  sizes.strides = row.size("stride_h") * row.size("stride_w");
  if (sizes.p < 1 || sizes.q < 1) {
    throw ConfigError(fmt::format("{}: the filter is larger than the padded image. Check both.",
                                  row.table.place(row.row)));
  }
  constexpr std::array<std::pair<Pass, std::string_view>, 3> passes{
      {{Pass::forward, "fwd_ms"},
       {Pass::backward_data, "bwd_inputs_ms"},
       {Pass::backward_filter, "bwd_params_ms"}}};
  for (const auto& [pass, column] : passes) {
    if (row.table.text(row.row, column).starts_with("N/A")) continue;  // first layers have none
    const sheet::Product product = sheet::convolution_product(sizes, pass, row.size("N"));
    read.samples.push_back({row.gpu, row.dtype(), product, row.time(column)});
  }
}

enum class Kind { product, linear, convolution };

/// The first line that names columns.
std::string heading(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line) && (line.empty() || line.front() == '#')) {
  }
  return line;
}

Kind kind_of(const std::filesystem::path& path) {
  const std::string line = heading(path);
  if (line.find("filter_h") != std::string::npos) return Kind::convolution;
  return line.find("latency_ms") != std::string::npos ? Kind::linear : Kind::product;
}

CsvTable table_of(const std::filesystem::path& path, Kind kind) {
  switch (kind) {
    case Kind::product:
      return {path, "times of products", product_columns};
    case Kind::linear:
      return {path, "times of linear layers", linear_columns};
    case Kind::convolution:
      return {path, "times of convolutions", convolution_columns};
  }
  fail_expectation("kind is a Kind");
}

}  // namespace

void read_kernel_times(const std::filesystem::path& path, const DeviceCatalogue& catalogue,
                       KernelSamples& read) {
  const Kind kind = kind_of(path);
  const CsvTable table = table_of(path, kind);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Row row{table, i, catalogue.find(table.text(i, "device"))};
    if (row.gpu == nullptr) {
      ++read.left_out[fmt::format("{}, without a data sheet", table.text(i, "device"))];
    } else if (kind != Kind::linear && row.gpu->launched < first_year_of_known_libraries) {
      ++read.left_out[fmt::format("{}, with libraries before {}", row.gpu->id,
                                  first_year_of_known_libraries)];
    } else if (kind == Kind::product) {
      add_product(row, "time_ms", row.dtype(), 1, read);
    } else if (kind == Kind::linear) {
      add_product(row, "latency_ms", DType::f32, row.size("B"), read);
    } else {
      add_convolution(row, read);
    }
  }
}

}  // namespace dlscale::model::published
