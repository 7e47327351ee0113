#include "model/roofline/sheet/domain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "model/published/scaling/fit/interval.hpp"

namespace dlscale::model::sheet {
namespace {

constexpr std::string_view depthwise = "depthwise";

std::vector<std::string> layer_words(const Network& network) {
  std::set<std::string> words;
  for (const Layer& layer : network.layers()) {
    words.emplace(kind_name(layer.kind));
    const auto* convolution = std::get_if<Convolution>(&layer.kind);
    const bool alone = convolution != nullptr && convolution->groups > 1 &&
                       convolution->groups == layer.input_shapes.front().channels;
    if (alone) words.emplace(depthwise);
  }
  return {words.begin(), words.end()};
}

Span read_span(const ConfigMap& map, std::string_view key) {
  const ConfigMap one = map.map(key);
  one.allow_only({"least", "most"});
  constexpr double most = 1e18;
  Span span;
  span.least = one.number("least", {1e-12, most});
  span.most = one.number("most", {span.least, most});
  return span;
}

bool holds(const std::vector<std::string>& known, std::string_view word) {
  return std::ranges::find(known, word) != known.end();
}

/// How much a rate or a batch may leave its range.
constexpr double tolerance = 1.25;

/// "{what} is {less} than any fitted (8 against 16)" where a value leaves its range.
class Clauses {
 public:
  void add(std::string clause) { clauses_.push_back(std::move(clause)); }
  void compare(std::string_view what, double value, const Span& span, double scale,
               std::string_view unit) {
    if (value * tolerance < span.least) add(told(what, "less", value, span.least, scale, unit));
    if (value > span.most * tolerance) add(told(what, "more", value, span.most, scale, unit));
  }
  [[nodiscard]] std::vector<std::string> all() && { return std::move(clauses_); }

 private:
  static std::string told(std::string_view what, std::string_view how, double value, double end,
                          double scale, std::string_view unit) {
    return fmt::format("{} is {} than that of any fitted ({:.3g} against {:.3g}{})", what, how,
                       value / scale, end / scale, unit);
  }
  std::vector<std::string> clauses_;
};

/// The data sheet of a device, if it is still where it was read.
std::optional<DeviceSheet> sheet_of(const Device& device) {
  if (device.sheet.empty()) return std::nullopt;
  try {
    return load_device_sheet(device.sheet);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

void compare_sheet(const SheetDomain& domain, const DeviceSheet& sheet, Clauses& clauses) {
  if (sheet.launched < domain.launched.least) {
    clauses.add(fmt::format("the GPU is older than any fitted ({} against {})", sheet.launched,
                            domain.launched.least));
  } else if (sheet.launched > domain.launched.most) {
    clauses.add(fmt::format("the GPU is newer than any fitted ({} against {})", sheet.launched,
                            domain.launched.most));
  }
  if (!sheet.base_clock) {
    clauses.add(
        fmt::format("its base clock is unknown and taken as {} of boost_clock", usual_base_share));
  }
}

void compare_device(const SheetDomain& domain, const Device& device, DType dtype,
                    Clauses& clauses) {
  const std::string maker = device.name.substr(0, device.name.find(' '));
  if (!holds(domain.makers, maker)) clauses.add(fmt::format("nothing by {} was fitted", maker));
  if (const std::optional<DeviceSheet> sheet = sheet_of(device)) {
    compare_sheet(domain, *sheet, clauses);
  }
  constexpr double tera = 1e12;
  clauses.compare("its peak in f32", device.peak.at(DType::f32).si(), domain.f32_peak, tera,
                  " TFLOP/s");
  const auto half = device.peak.find(dtype);
  if (element_bytes(dtype) == 2 && half != device.peak.end()) {
    clauses.compare("its peak in 16 bits", half->second.si(), domain.half_peak, tera, " TFLOP/s");
  }
  constexpr double giga = 1e9;
  clauses.compare("its memory bandwidth", device.memory_bandwidth.si(), domain.memory_bandwidth,
                  giga, " GB/s");
}

}  // namespace

SheetDomain load_sheet_domain(const std::filesystem::path& path) {
  const ConfigMap map = ConfigMap::load(path).map("domain");
  map.allow_only({"makers", "dtypes", "layers", "launched", "f32_peak", "half_peak",
                  "memory_bandwidth", "images", "sequences"});
  SheetDomain domain;
  domain.makers = map.texts("makers");
  domain.dtypes = map.texts("dtypes");
  domain.layers = map.texts("layers");
  domain.launched = read_span(map, "launched");
  domain.f32_peak = read_span(map, "f32_peak");
  domain.half_peak = read_span(map, "half_peak");
  domain.memory_bandwidth = read_span(map, "memory_bandwidth");
  domain.images = read_span(map, "images");
  domain.sequences = read_span(map, "sequences");
  return domain;
}

const SheetDomain& nominal_domain() {
  static const SheetDomain domain = load_sheet_domain(find_config("models", "kernels"));
  return domain;
}

std::vector<std::string> beyond(const SheetDomain& domain, const Device& device,
                                const Network& network, const Run& run) {
  EXPECT(has_kernel_times(device));
  Clauses clauses;
  compare_device(domain, device, run.dtype, clauses);
  if (!holds(domain.dtypes, dtype_name(run.dtype))) {
    clauses.add(fmt::format("no training in {} was fitted", dtype_name(run.dtype)));
  }
  std::vector<std::string> layers = layer_words(network);
  std::erase_if(layers, [&](const std::string& word) { return holds(domain.layers, word); });
  if (!layers.empty()) {
    clauses.add(fmt::format("no training with {} was fitted", fmt::join(layers, ", ")));
  }
  const bool sequences = network.is_over_sequences();
  clauses.compare(sequences ? "its number of sequences a GPU" : "its number of images a GPU",
                  run.batch, sequences ? domain.sequences : domain.images, 1, "");
  return std::move(clauses).all();
}

TimeRange stretched(const TimeRange& range) {
  return {std::pow(range.low, scaling::outside_stretch),
          std::pow(range.high, scaling::outside_stretch)};
}

}  // namespace dlscale::model::sheet
