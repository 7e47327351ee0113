#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/axes.hpp"
#include "bench/memory/host/host_latency.hpp"
#include "bench/memory/host/host_sweep.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using backend::PageSize;
using Axes = std::map<std::string, std::string>;
using Measure = std::function<Measurement(const Sampler&)>;

constexpr std::array page_sizes{Named<PageSize>{"small", PageSize::small},
                                Named<PageSize>{"huge", PageSize::huge}};

/// Measurements to make. Each operation uses the lists that apply to it.
struct Selection {
  std::vector<std::size_t> chase_bytes;
  std::vector<std::size_t> strides;
  std::vector<PageSize> pages;
  std::size_t largest_set = 0;  ///< for levels
};

/// Collects cells with their common axes.
class Cells {
 public:
  explicit Cells(const backend::Communicator& communicator)
      : ranks_{{"ranks", std::to_string(communicator.size())},
               {"ranks_on_node", std::to_string(communicator.node_size())}} {}
  void add(const std::string& operation, PageSize pages, Axes axes, Measure measure) {
    axes.insert(ranks_.begin(), ranks_.end());
    axes["operation"] = operation;
    axes["pages"] = backend::page_size_name(pages);
    cells_.push_back({std::move(axes), std::move(measure)});
  }
  [[nodiscard]] std::vector<Cell> take() { return std::move(cells_); }

 private:
  Axes ranks_;
  std::vector<Cell> cells_;
};

using AddLatencyCells = void (*)(Cells&, const std::string& operation, const Selection& selection);

void expect_two_places(std::size_t bytes, std::size_t stride) {
  if (bytes >= 2 * stride) return;
  throw ConfigError(
      fmt::format("{} has {} bytes, which strides of {} B ({}) cannot cross. Choose at least two "
                  "strides.",
                  option_name("chase_sizes"), bytes, stride, option_name("strides")));
}

void add_chases(Cells& cells, const std::string& operation, const Selection& selection) {
  for (const auto& [bytes, stride, pages] :
       combinations(selection.chase_bytes, selection.strides, selection.pages)) {
    expect_two_places(bytes, stride);
    const HostChaseSpec spec{.bytes = bytes, .stride = stride, .pages = pages};
    cells.add(operation, pages,
              {{"bytes", std::to_string(bytes)}, {"stride", std::to_string(stride)}},
              [spec](const Sampler& sampler) { return measure_host_chase(spec, sampler); });
  }
}

/// Checks the range of sizes: they begin at 16 strides, and a level needs at least a doubling.
void expect_sizes_of_levels(std::size_t stride, std::size_t largest) {
  const std::size_t longest = std::bit_floor(largest / (2 * fewest_places_of_levels));
  if (stride <= longest) return;
  const auto text = [](std::size_t bytes) { return to_text(Bytes(static_cast<double>(bytes))); };
  throw ConfigError(fmt::format(
      "{} has {}, and levels begins with a working set of {} strides and ends "
      "at {}, so that too few sizes are left to tell levels apart. Choose strides up "
      "to {}.",
      option_name("strides"), text(stride), fewest_places_of_levels, text(largest), text(longest)));
}

void add_levels(Cells& cells, const std::string& operation, const Selection& selection) {
  for (const auto& [pages, stride] : combinations(selection.pages, selection.strides)) {
    expect_sizes_of_levels(stride, selection.largest_set);
    cells.add(operation, pages, {{"stride", std::to_string(stride)}},
              [stride = stride, pages = pages](const Sampler& sampler) {
                return measure_host_levels(stride, pages, sampler);
              });
  }
}

template <Measurement (*measure)(PageSize, const Sampler&)>
void add_pages(Cells& cells, const std::string& operation, const Selection& selection) {
  for (const PageSize pages : selection.pages) {
    cells.add(operation, pages, {},
              [pages](const Sampler& sampler) { return measure(pages, sampler); });
  }
}

constexpr std::array latency_operations{
    Named<AddLatencyCells>{"chase", add_chases}, Named<AddLatencyCells>{"levels", add_levels},
    Named<AddLatencyCells>{"line", add_pages<measure_line_size>},
    Named<AddLatencyCells>{"page_reach", add_pages<measure_page_reach>}};

std::vector<Cell> make_latency_cells(Context& context) {
  refuse_axes_without_effect(context,
                             {{"chase_sizes", {"chase"}}, {"strides", {"chase", "levels"}}});
  const std::size_t beyond = chased_beyond_caches(backend::last_level_cache());
  Selection selection{
      .chase_bytes = sizes_of(context, "chase_sizes", {.unit = 64, .beyond = beyond}),
      .strides = sizes_of(context, "strides", {.unit = 8, .beyond = beyond}),
      .pages = {},
      .largest_set = largest_set(*context.communicator)};
  for (const std::string& name : context.list("pages")) {
    selection.pages.push_back(value_of<PageSize>(name, page_sizes, "pages"));
  }
  // The list of places takes up to a quarter more.
  const auto largest = static_cast<double>(selection.chase_bytes.back());
  expect_room(fmt::format("{} has a working set of {}", option_name("chase_sizes"),
                          to_text(Bytes(largest))),
              largest, *context.communicator);
  Cells cells(*context.communicator);
  for (const std::string& operation : context.list("operations")) {
    const AddLatencyCells add =
        value_of<AddLatencyCells>(operation, latency_operations, "operations");
    add(cells, operation, selection);
  }
  return cells.take();
}

}  // namespace

extern const Benchmark latency;
const Benchmark latency{
    .name = "latency",
    .doc = "Latency of the host's memory and caches, their sizes, lines and pages.",
    .axes = {{"operations",
              "chase: latency of a working set; levels: size and latency of each cache; line: size "
              "of a cache line; page_reach: memory reached without asking where its pages are",
              "chase,levels,line,page_reach"},
             {"chase_sizes",
              "chase: bytes of the working set; beyond_caches: four times the last-level cache, at most "
              "1 GiB; sweep: 4 KiB to that by doublings",
              "16 KiB,256 KiB,4 MiB,beyond_caches"},
             {"strides", "chase, levels: bytes between two places", "64 B"},
             {"pages", "small: of the system, mostly 4 KiB; huge: transparent huge ones",
              "small,huge"}},
    .cells = make_latency_cells,
    .order = Benchmark::Order::as_made};

}  // namespace dlscale::bench
