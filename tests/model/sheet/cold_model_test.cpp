#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/config/csv_table.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "model/roofline/sheet/product_time.hpp"
#include "model/roofline/sheet/step_times.hpp"

/// The same times by the program that first fitted the constants, with those of then.
namespace dlscale::model::sheet {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

constexpr double printed = 1e-6;
constexpr double close = 1e-3;
constexpr double most = 1e18;

/// A file beside the tables of times.
std::string path_of(const std::string& file) {
  return std::string(DLSCALE_SOURCE_DIR) + "/tests/data/" + file;
}

/// The constants that the tables were made with.
KernelConstants constants_of_tables() {
  return load_kernel_constants(path_of("cold_kernels.yaml"));
}

template <std::size_t N>
CsvTable read(const std::string& file, const std::array<CsvColumn, N>& columns) {
  return {path_of(file), "times of kernels", columns};
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
  const KernelConstants constants = constants_of_tables();
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

Network network_in(const CsvTable& table, std::size_t row) {
  const std::string name = table.text(row, "network");
  const double share = table.number(row, "share", 1);
  const int tokens = static_cast<int>(std::lround(share * table.number(row, "tokens", 1e6)));
  return load_network_for(name, tokens);
}

/// Devices by name, with the facts that the file was made with: sheets may be corrected.
std::map<std::string, Device> devices_of_file() {
  constexpr std::array<CsvColumn, 9> columns{{{"device"},
                                              {"units"},
                                              {"base"},
                                              {"boost"},
                                              {"tensor_clock"},
                                              {"bandwidth"},
                                              {"f32"},
                                              {"tf32"},
                                              {"f16"}}};
  const CsvTable table = read("cold_devices.csv", columns);
  std::map<std::string, Device> devices;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string name = table.text(row, "device");
    const auto number = [&](std::string_view column) { return table.number(row, column, most); };
    Device device = nominal_device(load_device_sheet(name), fitted_launch);
    EXPECT_EQ(device.units->multiprocessors, number("units")) << name;
    device.units->base_clock = Hertz(number("base"));
    device.units->boost_clock = Hertz(number("boost"));
    device.units->tensor_clock = Hertz(number("tensor_clock"));
    device.memory_bandwidth = BytesPerSecond(number("bandwidth"));
    device.peak[DType::f32] = FlopsPerSecond(number("f32"));
    for (const DType dtype : {DType::tf32, DType::f16}) {
      const FlopsPerSecond peak(number(dtype_name(dtype)));
      if (peak > FlopsPerSecond()) device.peak[dtype] = peak;
      if (peak == FlopsPerSecond()) device.peak.erase(dtype);
    }
    devices.emplace(name, device);
  }
  return devices;
}

/// A way to train, of a row.
struct Way {
  Way(const CsvTable& table, std::size_t row) : network(network_in(table, row)) {
    const auto text = [&](std::string_view column) { return table.text(row, column); };
    run.dtype = parse_dtype(text("dtype"));
    run.batch = table.count(row, "batch", most_images_per_rank);
    run.launch = parse_launch(text("launch"));
    traits.stated = true;
    traits.layout = word(text("layout"), all_image_layouts, image_layout_name);
    traits.elementwise = word(text("elementwise"), all_elementwise, elementwise_name);
    traits.update = word(text("update"), all_update_kernels, update_kernels_name);
    traits.optimizer = word(text("optimizer"), all_optimizers, optimizer_name);
    traits.search = word(text("search"), all_algorithm_searches, algorithm_search_name);
    traits.head = word(text("head"), all_decoded_tokens, decoded_tokens_name);
    traits.libraries = table.number(row, "libraries", 3000);
    traits.float_math = text("math") == "float";
    traits.fused_attention = text("attention") == "fused";
    traits.master_weights = text("weights") == "master";
    traits.frozen_norm = text("norm") == "frozen";
    traits.input_gradient = text("input_gradient") == "yes";
    traits.tokens = table.number(row, "share", 1);
  }
  Network network;
  TrainingRun run;
  ComputeTraits traits;
};

/// Whether the file counts a layer: neither whether a sentence follows, nor the tables of words of
/// other transformers.
bool is_counted(const Network& network, LayerId id) {
  const Layer& layer = network.layer(id);
  if (network.name().starts_with("bert")) {
    return layer.name != "first" && layer.name != "pooler" && !layer.name.starts_with("nsp");
  }
  const bool translates = network.name().starts_with("transformer_");
  return !translates || !std::holds_alternative<Embedding>(layer.kind);
}

/// The file copies the first tensor of each block of a DenseNet once more. It leaves out the scores
/// of attention to another sequence, and computes keys and values of a memory by one product.
double tolerance(const Network& network) {
  if (network.name() == "transformer_big") return 1e-2;
  if (network.name().starts_with("transformer_xl")) return 2e-2;
  return network.name().starts_with("densenet") ? 4e-3 : close;
}

double sum_of(StepTimes& times, const std::vector<Step>& steps) {
  double sum = 0;
  for (const Step step : steps) {
    if (is_counted(times.network(), step.layer)) sum += times.time(step).si();
  }
  return sum;
}

TEST(ColdModel, TimesStepsAsTheFileOfEveryWayToTrain) {
  constexpr std::array<CsvColumn, 25> columns{
      {{"network"},    {"tokens"},        {"share"},      {"device"},         {"dtype"},
       {"batch"},      {"micro_batches"}, {"layout"},     {"elementwise"},    {"math"},
       {"attention"},  {"launch"},        {"optimizer"},  {"update"},         {"head"},
       {"libraries"},  {"weights"},       {"norm"},       {"input_gradient"}, {"search"},
       {"parameters"}, {"tensors"},       {"forward_ms"}, {"backward_ms"},    {"update_ms"}}};
  const CsvTable table = read("cold_ways.csv", columns);
  ASSERT_GT(table.size(), 200U);
  const KernelConstants constants = constants_of_tables();
  const std::map<std::string, Device> devices = devices_of_file();
  for (std::size_t row = 0; row < table.size(); ++row) {
    const Way way(table, row);
    const Device& device = devices.at(table.text(row, "device"));
    const auto number = [&](std::string_view column) { return table.number(row, column, most); };
    StepTimes times(way.network, device, way.run, way.traits, constants);
    const double micro_batches = number("micro_batches");
    const double forward = micro_batches * sum_of(times, forward_steps(way.network));
    const double backward = micro_batches * sum_of(times, backward_steps(way.network));
    const double expected_forward = 1e-3 * number("forward_ms");
    const double expected_backward = 1e-3 * number("backward_ms");
    EXPECT_NEAR(forward, expected_forward, tolerance(way.network) * expected_forward)
        << table.place(row);
    EXPECT_NEAR(backward, expected_backward, tolerance(way.network) * expected_backward)
        << table.place(row);
    const UpdateWork work{number("parameters"), number("tensors")};
    const Seconds update = update_time(work, device, way.run, way.traits, constants);
    const double accumulated = 12 * (micro_batches - 1) * work.parameters /
                               (constants.memory_efficiency * device.memory_bandwidth.si());
    EXPECT_NEAR(update.si() + accumulated, 1e-3 * number("update_ms"), 1e-6 * number("update_ms"))
        << table.place(row);
  }
}

}  // namespace
}  // namespace dlscale::model::sheet
