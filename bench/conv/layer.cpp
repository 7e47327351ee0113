#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "backend/compute/specification.hpp"
#include "bench/conv/layer_cells.hpp"
#include "bench/conv/listed_convolutions.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/text/suggest.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::bench {
namespace {

Algorithms parse_algorithms(const std::string& text) {
  if (text == "chosen") return Algorithms::chosen;
  if (text == "all") return Algorithms::all;
  throw ConfigError(fmt::format(
      "{} is \"{}\" (neither chosen nor all). Write all to compare every algorithm that the "
      "backend knows with the one that training uses.",
      option_name("algorithms"), text));
}

/// Parses a layout; empty for "chosen".
std::optional<backend::LayoutKind> parse_layout(const std::string& name) {
  std::vector<std::string> known{"chosen"};
  if (name == known.front()) return std::nullopt;
  for (const auto kind :
       {backend::LayoutKind::nchw, backend::LayoutKind::nhwc, backend::LayoutKind::blocked}) {
    if (backend::layout_kind_name(kind) == name) return kind;
    known.emplace_back(backend::layout_kind_name(kind));
  }
  throw ConfigError(fmt::format("{} names {} (no layout of activations). {}", option_name("layout"),
                                name, suggestion(name, known)));
}

LayerSelection parse_selection(const Context& context) {
  LayerSelection selection{.batches = context.integers("batch"),
                           .dtypes = {},
                           .passes = parse_passes(context.list("passes")),
                           .layers = context.list("layers"),
                           .caches = {},
                           .check = parse_check(context.value("check")),
                           .algorithms = parse_algorithms(context.value("algorithms"))};
  for (const std::string& name : context.list("dtype")) {
    selection.dtypes.push_back(parse_dtype(name));
  }
  for (const std::string& name : context.list("cache")) {
    selection.caches.push_back(parse_cache_state(name, kernel_cache_states));
  }
  selection.values.clear();
  for (const std::string& name : context.list("values")) {
    selection.values.push_back(parse_value_kind(name));
  }
  selection.layouts.clear();
  for (const std::string& name : context.list("layout")) {
    selection.layouts.push_back(parse_layout(name));
  }
  return selection;
}

/// Loads the networks, fused as requested. "all" stands for every network in configs/networks whose
/// layers the engine computes. Throws ConfigError for one that is named and has others.
std::vector<std::shared_ptr<const Network>> load_networks(const Context& context) {
  Run run;
  run.fuse_relu = parse_fusion(context.value("fuse"));
  const std::vector<std::string> names = context.list("network");
  const bool all = means_all("network", names);
  std::vector<std::shared_ptr<const Network>> networks;
  for (const std::string& name : all ? config_names("networks") : names) {
    Network network = load_network(name);
    if (all && !train::is_trainable(network)) continue;
    train::check_trainable(network);
    networks.push_back(std::make_shared<const Network>(as_run(network, run)));
  }
  return networks;
}

/// Refuses options next to a list, which itself defines convolutions and batches.
void refuse_beside_list(const Context& context) {
  for (const std::string axis : {"network", "layers", "batch"}) {
    if (!context.given.contains(axis)) continue;
    throw ConfigError(fmt::format(
        "{} has no effect beside {} {}, whose convolutions have shapes and batches of their own. "
        "Leave out one of the two.",
        option_name(axis), option_name("list"), context.value("list")));
  }
}

/// Loads the lists, which have only convolutions and thus no ReLUs to fuse.
std::vector<ListedConvolution> load_lists(const Context& context) {
  refuse_beside_list(context);
  if (parse_fusion(context.value("fuse"))) {
    throw ConfigError(fmt::format(
        "{} measures convolutions alone, which no ReLU follows, so there is nothing to fuse. Leave "
        "out {}, or measure a network.",
        option_name("list"), option_name("fuse")));
  }
  std::vector<ListedConvolution> all;
  for (const std::string& name : context.list("list")) {
    std::ranges::move(load_convolutions(name), std::back_inserter(all));
  }
  return all;
}

/// Adds --fuse as an axis to the cells.
std::vector<Cell> marked(std::vector<Cell> cells, const std::string& fusion) {
  for (Cell& cell : cells) cell.axes["fuse"] = fusion;
  return cells;
}

std::vector<Cell> make_cells(Context& context) {
  const LayerSelection selection = parse_selection(context);
  const bool listed = !context.value("list").empty();
  const auto convolutions = listed ? load_lists(context) : std::vector<ListedConvolution>();
  const auto networks =
      listed ? std::vector<std::shared_ptr<const Network>>() : load_networks(context);
  const int threads = context.integer("threads");
  const auto answers = std::make_shared<backend::ReferenceAnswers>();
  std::vector<Cell> cells;
  for (const std::string& backend : context.list("backend")) {
    const auto workbench =
        std::make_shared<Workbench>(open_device(backend, threads, context.communicator->gpu()),
                                    open_device("reference", 1), threads);
    workbench->share_answers(answers);
    backend::Communicator& communicator = *context.communicator;
    std::ranges::move(listed ? listed_cells(workbench, convolutions, selection, communicator)
                             : layer_cells(workbench, networks, selection, communicator),
                      std::back_inserter(cells));
  }
  return marked(std::move(cells), context.value("fuse"));
}

}  // namespace

extern const Benchmark conv;
const Benchmark conv{
    .name = "conv",
    .doc = "Every distinct kernel of a network: its layers, forward and backward.",
    .axes =
        {{"network",
          "networks, by name or file; all: those in configs/networks. A kernel that several "
          "of them run is measured once",
          "resnet50"},
         {"batch", "images per rank", "8"},
         {"passes", "all, or some of forward,backward_data,backward_filter,accumulate", "all"},
         {"layers", "all, or the kernels that these layers run, or layers of these kinds", "all"},
         {"list",
          "convolutions of a list, by name (convnet, deepbench_convolution) or file, in place "
          "of networks, layers and batches",
          ""},
         {"dtype", "f32, tf32, bf16, f16: as far as the backend has them", "f32"},
         {"backend", "compute backends", "onednn"},
         {"threads", "compute threads per rank", "1"},
         {"cache",
          "what the caches hold when a kernel starts: cold, producer, hot; rotating: cold by "
          "taking sets of operands in turn",
          "cold"},
         advanced("values", "numbers to compute with: normal, uniform, zeros", "normal"),
         advanced(
             "layout",
             "in which order activations lie: chosen by the backend, as in training; nchw; nhwc; "
             "blocked. What computes works on them as they lie, or the row says why it cannot",
             "chosen"),
         {"algorithms", "chosen: what training uses; all: beside it all that the backend knows",
          "chosen"},
         advanced("fuse",
                  "relu: ReLUs are parts of the layers before them, where they can be; none",
                  "none"),
         advanced("check", "yes: compare each answer with the reference before timing it; no",
                  "yes")},
    .cells = make_cells,
    .suites = Benchmark::Suites::named_after_it,
    .rows = Benchmark::Rows::kernels,
    .extra = Benchmark::Extra::offered};

}  // namespace dlscale::bench
