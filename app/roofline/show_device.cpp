#include "app/roofline/show_device.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <istream>
#include <string>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/run/compute_traits.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "model/roofline/nominal/nominal_roofline.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "report/figure/nominal_roofline.hpp"
#include "report/kernels/nominal_table.hpp"

namespace dlscale::app {
namespace {

DeviceSheet find_sheet(const std::string& name) {
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".yaml");
  return is_file ? load_device_sheet(name) : DeviceCatalogue::load().at(name);
}

/// f16 without a peak runs as f32, as frameworks do on such GPUs.
void check_precision(const Device& device, const DeviceSheet& sheet, DType dtype) {
  if (dtype == DType::f16 || device.peak.contains(dtype)) return;
  throw ConfigError(fmt::format(
      "the data sheet {} gives no peak in {}, so that its roofline has no top. Ask for f32.",
      sheet.id, dtype_name(dtype)));
}

bool opens_as_figure(std::istream& content) {
  std::string opening;
  return static_cast<bool>(std::getline(content, opening)) && opening.starts_with("<svg");
}

}  // namespace

void ShowDevice::declare(CLI::App& command) {
  CLI::Option* device =
      command
          .add_option("--device", device_,
                      "Show a network under the roofline of this data sheet instead of results: a "
                      "name in configs/devices, or a YAML file")
          ->type_name("DEVICE");
  CLI::Option* network =
      command
          .add_option("--network", network_,
                      "Network of --device: a name in configs/networks, or a YAML file")
          ->type_name("NETWORK");
  const auto beside = [&](CLI::Option* option) { option->needs(device); };
  beside(command.add_option("--batch", batch_, "Images or sequences of an iteration of --device")
             ->check(positive_count())
             ->capture_default_str());
  beside(command
             .add_option("--sequence", sequence_,
                         "Tokens of a sequence of --device (default: as the network's file says)")
             ->type_name("N")
             ->check(positive_count()));
  beside(command
             .add_option_function<std::string>(
                 "--dtype", [this](const std::string& text) { dtype_ = parse_dtype(text); },
                 "Precision of --device")
             ->type_name(one_of(all_dtypes, dtype_name))
             ->default_str("f32"));
  beside(command
             .add_option("--figure", figure_,
                         "Also draw the roofline of --device, and the time of its longest layers: "
                         "an SVG file")
             ->type_name("FILE"));
  device->needs(network);
  beside(network);
  exclude_others(command, *device,
                 {"--network", "--batch", "--sequence", "--dtype", "--figure", "--format",
                  "--color", "--quiet", "--output"});
}

report::Document ShowDevice::show() const {
  const DeviceSheet sheet = find_sheet(device_);
  const Device device = nominal_device(sheet, model::sheet::fitted_launch);
  check_precision(device, sheet, dtype_);
  const Network network = load_network_for(network_, sequence_);
  Run run;
  run.network = network.name();
  run.batch = batch_;
  run.dtype = dtype_;
  const report::NominalRooflineView view{
      &network, sheet.name, run,
      model::place_network(network, device, run, model::sheet::traits_for(network, dtype_, {}),
                           model::sheet::nominal_constants())};
  if (!figure_.empty()) {
    refuse_foreign_file(figure_, "a figure", opens_as_figure);
    write_output(figure_, report::figure::nominal_roofline(view).svg);
  }
  return report::nominal_roofline_document(view);
}

}  // namespace dlscale::app
