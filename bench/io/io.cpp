#include <fmt/format.h>

#include <algorithm>

#include "bench/engine/benchmark.hpp"
#include "bench/io/io_cell.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"

namespace dlscale::bench {
namespace {

std::string_view source_name(FileSource source) {
  return source == FileSource::page_cache ? "page_cache" : "storage";
}

FileSource parse_source(const std::string& name) {
  for (const FileSource source : {FileSource::page_cache, FileSource::storage}) {
    if (source_name(source) == name) return source;
  }
  throw ConfigError(
      fmt::format("{} is \"{}\" (no such source of files). Write page_cache or storage.",
                  option_name("source"), name));
}

train::DataSet open_data(const Context& context) {
  const std::string& folder = context.value("data");
  if (!folder.empty()) return train::open_data_set(folder);
  throw ConfigError(fmt::format(
      "{} is missing (there are no pictures to load). Give the folder of a data set, as the verb "
      "data make writes it.",
      option_name("data")));
}

/// The input of a network over images.
ImageShape picture_shape(const std::string& name) {
  const Network network = load_network(name);
  if (!network.is_over_sequences()) return network.input();
  throw ConfigError(
      fmt::format("{} reads tokens (this measures how pictures load). Name a network "
                  "over images, such as resnet50.",
                  network.name()));
}

/// The input shapes of networks, each once, or the one size that --height and --width give.
std::vector<ImageShape> crops(const Context& context) {
  const bool height = !context.value("height").empty();
  const bool width = !context.value("width").empty();
  if (height != width) {
    throw ConfigError(fmt::format("--{} is missing (a crop has two sides). Give both or neither.",
                                  height ? "width" : "height"));
  }
  if (height) return {{3, context.integer("height"), context.integer("width")}};
  std::vector<ImageShape> shapes;
  for (const std::string& name : context.list("networks")) {
    const ImageShape shape = picture_shape(name);
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

Cell make_cell(const IoCell& cell, const backend::Communicator& communicator) {
  const train::PipelineOptions& pipeline = cell.pipeline;
  return {{{"height", std::to_string(pipeline.shape.height)},
           {"width", std::to_string(pipeline.shape.width)},
           {"batch", std::to_string(pipeline.batch)},
           {"loader_threads", std::to_string(pipeline.threads)},
           {"prefetch", std::to_string(pipeline.prefetch)},
           {"source", std::string(source_name(cell.source))},
           {"ranks", std::to_string(communicator.size())},
           {"ranks_on_node", std::to_string(communicator.node_size())}},
          [cell](const Sampler& sampler) { return measure_io(cell, sampler); }};
}

std::vector<Cell> make_cells(Context& context) {
  const auto data = std::make_shared<const train::DataSet>(open_data(context));
  std::vector<Cell> cells;
  for (const auto& [shape, threads, batch, source] :
       combinations(crops(context), context.integers("loader_threads"), context.integers("batch"),
                    context.list("source"))) {
    const train::PipelineOptions pipeline{.shape = shape,
                                          .batch = batch,
                                          .threads = threads,
                                          .prefetch = context.integer("prefetch")};
    cells.push_back(make_cell({data, pipeline, parse_source(source)}, *context.communicator));
  }
  return cells;
}

}  // namespace

extern const Benchmark io;
const Benchmark io{
    .name = "io",
    .doc = "Reading, decoding and augmenting pictures as the input pipeline does.",
    .axes = {{"data", "folder of a data set, as the verb data make writes it", ""},
             {"networks", "networks whose inputs the pictures are cut to",
              "alexnet,googlenet,resnet50"},
             {"height", "height of the cut, instead of networks", ""},
             {"width", "width of the cut, instead of networks", ""},
             {"batch", "pictures per batch and rank", "8"},
             {"loader_threads", "threads per rank", "1"},
             {"prefetch", "batches decoded ahead", "2"},
             {"source",
              "page_cache: files that were read before; storage: files dropped from it first",
              "page_cache"}},
    .cells = make_cells};

}  // namespace dlscale::bench
