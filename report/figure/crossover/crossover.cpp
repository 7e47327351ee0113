#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/units.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/crossover/crossover_map.hpp"
#include "report/figure/figures.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/axes.hpp"

namespace dlscale::report::figure {
namespace {

double number_of(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Ranks, and ranks on a node.
using Ranks = std::pair<int, int>;

std::string ranks_name(const Ranks& ranks) {
  const auto [all, on_node] = ranks;
  if (on_node == 0 || all == on_node) return counted(all, "rank");
  return fmt::format("{}, {} a node", all, on_node);
}

/// Whether a row sends messages as training does, by any algorithm.
bool is_of_any_algorithm(const Measurement& row) {
  if (!is_timed(row) || !is_of_messages(row) || !row.series.contains("time")) return false;
  Measurement question;
  question.benchmark = row.benchmark;
  question.axes = row.axes;
  question.axes.erase("algorithm");
  return is_sent_as_in_training(question) && !axis_or_empty(row, "algorithm").empty() &&
         number_of(axis_or_empty(row, "bytes")) > 0;
}

using MessageTimes = std::map<std::pair<Ranks, double>, CrossoverTimes>;

/// An algorithm, and the number of its segments.
using SegmentedAlgorithm = std::pair<std::string, std::string>;
/// All times of one place of a map.
using RepeatedTimes = std::map<SegmentedAlgorithm, std::vector<CrossoverTime>>;

/// The joined times of each algorithm with the segments that it is fastest with, which a user can
/// choose.
CrossoverTimes fastest_segments(const RepeatedTimes& repeated) {
  CrossoverTimes times;
  for (const auto& [algorithm, repeats] : repeated) {
    const CrossoverTime time = joined_time(repeats);
    const auto [found, is_new] = times.try_emplace(algorithm.first, time);
    if (!is_new && time.median < found->second.median) found->second = time;
  }
  return times;
}

/// Times by the axes that a map does not have: collective, synchronization and memory.
std::map<Axes, MessageTimes> message_times(std::span<const ResultFile> results) {
  std::map<Axes, std::map<std::pair<Ranks, double>, RepeatedTimes>> repeated;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (!is_of_any_algorithm(row)) continue;
      Axes rest = row.axes;
      for (const char* name :
           {"algorithm", "bytes", "ranks", "ranks_on_node", "segments", "repeat"}) {
        rest.erase(name);
      }
      const Ranks ranks{static_cast<int>(number_of(axis_or_empty(row, "ranks"))),
                        static_cast<int>(number_of(axis_or_empty(row, "ranks_on_node")))};
      const SegmentedAlgorithm algorithm{axis_or_empty(row, "algorithm"),
                                         axis_or_empty(row, "segments")};
      repeated[rest][{ranks, number_of(axis_or_empty(row, "bytes"))}][algorithm].push_back(
          crossover_time(row.at("time").summary));
    }
  }
  std::map<Axes, MessageTimes> all;
  for (const auto& [rest, places] : repeated) {
    for (const auto& [place, times] : places) all[rest][place] = fastest_segments(times);
  }
  return all;
}

/// "all_reduce, waiting sleep": the collective, and axes that tell its maps apart.
std::string message_title(const Axes& rest, const std::vector<std::string>& telling) {
  std::string title = axis_or_empty(rest, "collective");
  for (const std::string& name : telling) {
    if (name != "collective") title += fmt::format(", {} {}", name, axis_or_empty(rest, name));
  }
  return title;
}

/// A filter and an image, in their order: first by area.
using FilterKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using ImageKey = std::pair<std::int64_t, std::int64_t>;

FilterKey filter_of(const ConvolutionShape& shape) {
  return {shape.kernel_h * shape.kernel_w, shape.kernel_h, shape.stride, shape.groups};
}

std::string filter_name(const FilterKey& filter) {
  const auto [area, height, stride, groups] = filter;
  std::string name = fmt::format("{} × {}", height, area / height);
  if (stride != 1) name += fmt::format(", stride {}", stride);
  if (groups != 1) name += fmt::format(", {} groups", groups);
  return name;
}

std::string image_name(const ImageKey& image) {
  const auto [area, height] = image;
  return area == height * height ? std::to_string(height)
                                 : fmt::format("{} × {}", height, area / height);
}

/// Times of the shapes at each place.
using ShapeTimes = std::map<std::pair<FilterKey, ImageKey>, std::vector<CrossoverTimes>>;

ShapeTimes shape_times(const std::map<std::string, Rows>& kernels) {
  ShapeTimes times;
  for (const auto& [kernel, rows] : kernels) {
    const auto parsed = parse_convolution_key(kernel, 1);
    if (!parsed) continue;
    CrossoverTimes timings;
    std::map<std::string, std::vector<CrossoverTime>> repeated;
    for (const Measurement* row : rows) {
      if (!is_timed(*row) || keeps_filters(*row)) continue;
      repeated[algorithm_of(*row)].push_back(crossover_time(row->at("time").summary));
    }
    for (const auto& [algorithm, repeats] : repeated) timings[algorithm] = joined_time(repeats);
    if (timings.empty()) continue;
    const ConvolutionShape& shape = parsed->shape;
    times[{filter_of(shape), {shape.height * shape.width, shape.height}}].push_back(timings);
  }
  return times;
}

/// Rows by kernel and pass, under the condition that most kernels were measured under.
std::map<std::string, std::map<std::string, Rows>> kernels_by_pass(
    std::span<const ResultFile> results, Axes& condition) {
  std::map<Axes, std::map<std::string, std::map<std::string, Rows>>> all;
  for (const Measurement* row : algorithm_rows(results)) {
    Axes rest = condition_of(*row);
    rest.erase("network");
    all[rest][axis_or_empty(*row, "pass")][axis_or_empty(*row, "kernel")].push_back(row);
  }
  if (all.empty()) return {};
  const auto kernels = [](const auto& each) {
    std::size_t count = 0;
    for (const auto& [pass, rows] : each.second) count += rows.size();
    return count;
  };
  const auto most = std::ranges::max_element(all, {}, kernels);
  condition = most->first;
  return most->second;
}

}  // namespace

std::optional<Figure> message_crossover(std::span<const ResultFile> results) {
  const std::map<Axes, MessageTimes> all = message_times(results);
  std::vector<Axes> rests;
  for (const auto& [rest, times] : all) rests.push_back(rest);
  const std::vector<std::string> telling = varying_axes(rests);
  std::vector<CrossoverMap> maps;
  for (const auto& [rest, times] : all) {
    maps.push_back(crossover_map<Ranks, double, CrossoverTimes>(
        message_title(rest, telling), "message size", times, ranks_name,
        [](const double& bytes) { return to_text(Bytes(bytes)); },
        [](const CrossoverTimes& at) { return at; }));
  }
  return crossover_figure(std::move(maps),
                          {"message_crossover",
                           "The fastest algorithm of a collective by size and ranks", "ranks", ""});
}

std::optional<Figure> convolution_crossover(std::span<const ResultFile> results) {
  Axes condition;
  const auto passes = kernels_by_pass(results, condition);
  condition["network"] = "all layers";
  std::vector<CrossoverMap> maps;
  for (const Pass pass : convolution_passes) {
    const auto found = passes.find(std::string(pass_name(pass)));
    if (found == passes.end()) continue;
    maps.push_back(crossover_map<FilterKey, ImageKey, std::vector<CrossoverTimes>>(
        fmt::format("{}, {}", found->first, condition_text(condition)),
        "height and width of the input, pixels", shape_times(found->second), filter_name,
        image_name,
        [](const std::vector<CrossoverTimes>& shapes) { return geometric_mean(shapes); }));
  }
  return crossover_figure(
      std::move(maps),
      {"crossover", "The fastest convolution by filter and image", "filter",
       "Where several shapes share a cell, times and intervals are geometric means over them, and "
       "an algorithm that lacks one of them is left out."});
}

}  // namespace dlscale::report::figure
