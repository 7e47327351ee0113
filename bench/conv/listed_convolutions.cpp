#include "bench/conv/listed_convolutions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {
namespace {

constexpr IntegerRange count_range{1, 1 << 20};
constexpr IntegerRange pad_range{0, 1 << 20};
/// Most channels of an input that counts as images.
constexpr int picture_channels = 4;

/// One number per direction.
struct Pair {
  int h;
  int w;
  [[nodiscard]] bool same() const { return h == w; }
  [[nodiscard]] std::string text() const {
    return same() ? std::to_string(h) : fmt::format("{}x{}", h, w);
  }
};

/// Reads one number, or [height, width].
Pair read_pair(const ConfigMap& map, std::string_view key, IntegerRange range) {
  const std::vector<int> sizes = map.integers(key, range);
  if (sizes.empty() || sizes.size() > 2) {
    map.refuse(key, "neither one number nor two", "Write a number, or [height, width].");
  }
  return {sizes.front(), sizes.back()};
}

/// A row of a list.
struct Entry {
  std::string name;
  int batch = 1;
  ImageShape input{};
  Convolution kind{};
  Pair stride{1, 1};
  Pair pad{0, 0};
  Pair dilation{1, 1};
  [[nodiscard]] bool dilated() const { return dilation.h > 1 || dilation.w > 1; }
};

Entry read_entry(ConfigMap& map) {
  map.allow_only({"name", "batch", "channels", "height", "width", "out_channels", "kernel",
                  "stride", "pad", "dilation", "groups"});
  Entry entry;
  entry.name = map.text("name");
  map.set_title(fmt::format("convolution \"{}\"", entry.name));
  entry.batch = map.integer("batch", count_range);
  entry.input = {map.integer("channels", count_range), map.integer("height", count_range),
                 map.integer("width", count_range)};
  const Pair kernel = read_pair(map, "kernel", count_range);
  if (map.has("stride")) entry.stride = read_pair(map, "stride", count_range);
  if (map.has("pad")) entry.pad = read_pair(map, "pad", pad_range);
  if (map.has("dilation")) entry.dilation = read_pair(map, "dilation", count_range);
  entry.kind = {.out_channels = map.integer("out_channels", count_range),
                .kernel_h = kernel.h,
                .kernel_w = kernel.w,
                .stride = entry.stride.h,
                .pad = entry.pad.h,
                .groups = map.integer_or("groups", 1, count_range),
                .bias = false};
  return entry;
}

/// The layer before the convolution. It keeps the shape and is a different kernel than the entry's.
LayerKind layer_before(const Entry& entry) {
  const int channels = entry.input.channels;
  if (channels <= picture_channels) return BatchNorm{};
  const bool is_1x1 = entry.kind.kernel_h == 1 && entry.kind.kernel_w == 1;
  const int size = is_1x1 ? 3 : 1;
  return Convolution{.out_channels = channels, .kernel_h = size, .kernel_w = size, .pad = size / 2};
}

std::shared_ptr<const Network> make_network(const std::string& list, const Entry& entry) {
  const std::vector<Network::Node> nodes{
      {"before", layer_before(entry), {"input"}},
      {entry.name, entry.kind, {"before"}},
      {"pool", Pooling{.kind = PoolingKind::average}, {entry.name}},
      {"classes", FullyConnected{.outputs = 2}, {"pool"}},
      {"loss", SoftmaxCrossEntropy{}, {"classes"}}};
  return std::make_shared<const Network>(listed_network(list, entry.name), entry.input, nodes);
}

/// The key, in the format of kernel_key(), of a convolution without an equivalent layer.
std::string key_of(const Entry& entry) {
  const std::string dilation =
      entry.dilated() ? fmt::format(" dilation{}", entry.dilation.text()) : "";
  return fmt::format("convolution c{} h{} w{} k{} r{} s{} stride{} pad{}{} groups{}",
                     entry.input.channels, entry.input.height, entry.input.width,
                     entry.kind.out_channels, entry.kind.kernel_h, entry.kind.kernel_w,
                     entry.stride.text(), entry.pad.text(), dilation, entry.kind.groups);
}

/// Why this convolution cannot be a layer of a network; empty if it can.
std::string refusal(const Entry& entry) {
  if (entry.dilated()) {
    return fmt::format("dilation {}: dilated filters are not supported, by no backend",
                       entry.dilation.text());
  }
  if (entry.stride.same() && entry.pad.same()) return "";
  return fmt::format(
      "stride {} and padding {} (height x width): layers have one number for both directions",
      entry.stride.text(), entry.pad.text());
}

ListedConvolution make_listed(const std::string& list, const Entry& entry) {
  ListedConvolution listed;
  listed.list = list;
  listed.layer = entry.name;
  listed.batch = entry.batch;
  listed.unsupported = refusal(entry);
  if (!listed.unsupported.empty()) {
    listed.kernel = key_of(entry);
    return listed;
  }
  listed.network = make_network(list, entry);
  listed.kernel = kernel_key(*listed.network, listed.network->layers()[2].id);
  return listed;
}

/// Adds one row for each cell that layer_cells() would make with training's algorithm.
void add_unsupported(const Workbench& workbench, const ListedConvolution& convolution,
                     const LayerSelection& selection, const backend::Communicator& communicator,
                     std::vector<Cell>& cells) {
  auto axes = workbench.axes(communicator);
  axes["network"] = listed_network(convolution.list, convolution.layer);
  axes["layer"] = convolution.layer;
  axes["kernel"] = convolution.kernel;
  axes["batch"] = std::to_string(convolution.batch);
  if (selection.algorithms == Algorithms::all) axes["algorithm"] = std::string("chosen");
  Measurement row;
  row.status = Status::unsupported;
  row.reason = convolution.unsupported;
  for (const Pass pass : selection.passes) {
    if (pass == Pass::accumulate) continue;
    axes["pass"] = pass_name(pass);
    for (const DType dtype : selection.dtypes) {
      axes["dtype"] = dtype_name(dtype);
      for (const auto& [layout, with_layout] : in_all_layouts(selection, axes)) {
        for (auto& [conditions, with_conditions] : in_all_conditions(selection, with_layout)) {
          cells.push_back({std::move(with_conditions), [row](const Sampler&) { return row; }});
        }
      }
    }
  }
}

}  // namespace

std::vector<ListedConvolution> load_convolutions(std::string_view name) {
  const std::filesystem::path file = find_config("shapes", name);
  const ConfigMap map = ConfigMap::load(file);
  map.allow_only({"shapes", "doc", "source", "lists", "products", "convolutions"});
  const std::string list = map.text("shapes");
  (void)map.text_or("doc", "");
  (void)map.text_or("source", "");
  if (!map.has("convolutions") && (map.has("products") || map.has("lists"))) {
    throw ConfigError(map.where() +
                      " holds matrix products (no convolutions). Measure them by "
                      "the benchmark gemm, or name another list.");
  }
  std::vector<ListedConvolution> all;
  for (ConfigMap& row : map.maps("convolutions")) {
    const Entry entry = read_entry(row);
    const auto same_name = [&](const ListedConvolution& other) {
      return other.layer == entry.name;
    };
    if (std::ranges::any_of(all, same_name)) {
      row.refuse("name", "the name of two convolutions", "Give each one of its own.");
    }
    try {
      all.push_back(make_listed(list, entry));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
    }
  }
  if (all.empty()) map.refuse("convolutions", "no convolution", "Name at least one.");
  return all;
}

std::vector<Cell> listed_cells(const std::shared_ptr<Workbench>& workbench,
                               std::span<const ListedConvolution> convolutions,
                               const LayerSelection& selection,
                               const backend::Communicator& communicator) {
  std::vector<Cell> cells;
  for (const ListedConvolution& convolution : convolutions) {
    if (convolution.network == nullptr) {
      add_unsupported(*workbench, convolution, selection, communicator, cells);
      continue;
    }
    LayerSelection own = selection;
    own.batches = {convolution.batch};
    own.layers = {convolution.layer};
    const std::vector networks{convolution.network};
    std::ranges::move(layer_cells(workbench, networks, own, communicator),
                      std::back_inserter(cells));
  }
  return cells;
}

}  // namespace dlscale::bench
