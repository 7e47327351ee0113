#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "core/cluster/device_file.hpp"
#include "core/config/csv_table.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "model/roofline/sheet/product_time.hpp"
#include "model/roofline/sheet/step_times.hpp"

/// The same times by scripts/cold_model, which fitted the constants, and published speeds.
namespace dlscale::model::sheet {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

constexpr double printed = 1e-6;
constexpr double most = 1e18;

template <std::size_t N>
CsvTable read(const std::string& file, const std::array<CsvColumn, N>& columns) {
  return {std::string(DLSCALE_SOURCE_DIR) + "/tests/data/" + file, "times of kernels", columns};
}

Product product_in(const CsvTable& table, std::size_t row) {
  const std::string kind = table.text(row, "kind");
  const std::string what = table.text(row, "what");
  const auto number = [&](std::string_view column) { return table.number(row, column, most); };
  Product product;
  product.kind = kind == "conv"     ? ProductKind::convolution
                 : kind == "linear" ? ProductKind::linear
                                    : ProductKind::batched;
  product.pass = what == "forward" ? Pass::forward
                 : what == "data"  ? Pass::backward_data
                                   : Pass::backward_filter;
  product.groups = number("g");
  product.m = number("m");
  product.n = number("n");
  product.k = number("k");
  product.channels = number("cin");
  product.stride = number("stride");
  product.elements = number("elements");
  product.activations = number("activations");
  product.winograd = number("wino");
  return product;
}

Arithmetic arithmetic_in(const CsvTable& table, std::size_t row) {
  const auto number = [&](std::string_view column) { return table.number(row, column, most); };
  Arithmetic on;
  on.units = number("units");
  on.base_clock = number("base_hz");
  on.peak_clock = number("peak_clock_hz");
  on.flops_per_clock = number("peak_flop_per_s") / on.units / on.peak_clock;
  on.issue = number("issue");
  on.bandwidth = BytesPerSecond(number("bandwidth"));
  on.element_bytes = number("element_bytes");
  on.tensor_cores = number("on_tensor_cores") == 1;
  return on;
}

TEST(ColdModel, TimesProductsAsTheScriptThatFittedIt) {
  constexpr std::array<CsvColumn, 22> columns{{{"units"},
                                               {"base_hz"},
                                               {"peak_clock_hz"},
                                               {"bandwidth"},
                                               {"issue"},
                                               {"kind"},
                                               {"on_tensor_cores"},
                                               {"peak_flop_per_s"},
                                               {"element_bytes"},
                                               {"what"},
                                               {"g"},
                                               {"m"},
                                               {"n"},
                                               {"k"},
                                               {"cin"},
                                               {"stride"},
                                               {"elements"},
                                               {"activations"},
                                               {"wino"},
                                               {"age"},
                                               {"copied"},
                                               {"us_without_launch"}}};
  const CsvTable table = read("cold_products.csv", columns);
  ASSERT_GT(table.size(), 100U);
  const KernelConstants& constants = nominal_constants();
  for (std::size_t row = 0; row < table.size(); ++row) {
    const Product product = product_in(table, row);
    const Arithmetic on = arithmetic_in(table, row);
    Seconds time = product_time(product, on, table.number(row, "age", most), constants);
    if (table.number(row, "copied", 1) == 1) time += layout_time(product, on, constants);
    const double expected = 1e-6 * table.number(row, "us_without_launch", most);
    EXPECT_NEAR(time.si(), expected, printed * expected) << table.place(row);
  }
}

template <class Enum, class All>
Enum word(const std::string& text, const All& all, std::string_view (*name)(Enum)) {
  const auto found = std::ranges::find(all, text, name);
  EXPECT_NE(found, all.end()) << text;
  return *found;
}

Device device_by_sheet(const std::string& sheet) {
  return nominal_device(load_device_sheet(sheet), Seconds(3.8e-6));
}

/// A training of a row: columns network, device, dtype, batch and traits.
struct Training {
  Training(const CsvTable& table, std::size_t row)
      : network(load_network(table.text(row, "network"))),
        device(device_by_sheet(table.text(row, "device"))) {
    run.dtype = parse_dtype(table.text(row, "dtype"));
    run.batch = table.count(row, "batch", most_images_per_rank);
    traits.layout = word(table.text(row, "layout"), all_image_layouts, image_layout_name);
    traits.elementwise = word(table.text(row, "elementwise"), all_elementwise, elementwise_name);
    traits.libraries = table.number(row, "libraries", 3000);
  }
  Network network;
  Device device;
  TrainingRun run;
  ComputeTraits traits;
};

double sum_of(StepTimes& times, const std::vector<Step>& steps) {
  double sum = 0;
  for (const Step step : steps) sum += times.time(step).si();
  return sum;
}

TEST(ColdModel, TimesStepsAsTheScriptThatFittedIt) {
  constexpr std::array<CsvColumn, 10> columns{{{"network"},
                                               {"device"},
                                               {"dtype"},
                                               {"batch"},
                                               {"layout"},
                                               {"elementwise"},
                                               {"libraries"},
                                               {"launch"},
                                               {"forward_ms"},
                                               {"backward_ms"}}};
  const CsvTable table = read("cold_steps.csv", columns);
  ASSERT_GT(table.size(), 50U);
  for (std::size_t row = 0; row < table.size(); ++row) {
    Training training(table, row);
    training.run.launch = parse_launch(table.text(row, "launch"));
    StepTimes times(training.network, training.device, training.run, training.traits,
                    nominal_constants());
    const double forward = 1e-3 * table.number(row, "forward_ms", most);
    const double backward = 1e-3 * table.number(row, "backward_ms", most);
    EXPECT_NEAR(sum_of(times, forward_steps(training.network)), forward, printed * forward)
        << table.place(row);
    EXPECT_NEAR(sum_of(times, backward_steps(training.network)), backward, printed * backward)
        << table.place(row);
  }
}

/// Unbiased, and nine in ten within the interval.
TEST(ColdModel, IsRightOnAverageOfPublishedTrainings) {
  constexpr std::array<CsvColumn, 10> columns{{{"network"},
                                               {"device"},
                                               {"dtype"},
                                               {"batch"},
                                               {"layout"},
                                               {"elementwise"},
                                               {"update"},
                                               {"libraries"},
                                               {"images_per_s"},
                                               {"source"}}};
  const CsvTable table = read("cold_trainings.csv", columns);
  ASSERT_GT(table.size(), 50U);
  double logs = 0;
  double absolute = 0;
  double covered = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    Training training(table, row);
    training.traits.update =
        word(table.text(row, "update"), all_update_kernels, update_kernels_name);
    StepTimes times(training.network, training.device, training.run, training.traits,
                    nominal_constants());
    const Bytes parameters(4.0 * static_cast<double>(training.network.parameter_count()));
    const double time = sum_of(times, forward_steps(training.network)) +
                        sum_of(times, backward_steps(training.network)) +
                        update_time(training.network, training.device, training.run,
                                    training.traits, nominal_constants(), parameters)
                            .si();
    const double measured = training.run.batch / table.number(row, "images_per_s", most);
    const TimeRange range =
        kernel_range(times, training.traits, training.run.dtype, nominal_constants());
    logs += std::log(measured / time);
    absolute += std::abs(std::log(measured / time));
    covered += measured >= range.low * time && measured <= range.high * time ? 1 : 0;
  }
  const auto points = static_cast<double>(table.size());
  EXPECT_LT(std::abs(logs / points), std::log(1.05));
  EXPECT_LT(absolute / points, std::log(1.12));
  EXPECT_GT(covered / points, 0.85);
}

}  // namespace
}  // namespace dlscale::model::sheet
