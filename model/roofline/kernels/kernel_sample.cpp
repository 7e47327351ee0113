#include "model/roofline/kernels/kernel_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

/// Measurements of one case, and their common properties.
struct Found {
  KernelCase what;
  Group group;
  std::set<std::string> layers;
};

/// The medians whose middle pool() takes.
std::vector<Seconds> medians(const Group& group) {
  std::vector<Seconds> times;
  times.reserve(group.size());
  for (const Sourced& one : group) {
    times.emplace_back(one.measurement->series.at("time").summary.median);
  }
  return times;
}

std::optional<Bytes> largest_workspace(const Group& group) {
  std::optional<Bytes> largest;
  for (const Sourced& one : group) {
    const std::optional<Bytes>& workspace = one.measurement->workspace;
    if (workspace && (!largest || *workspace > *largest)) largest = workspace;
  }
  return largest;
}

class Sorter {
 public:
  explicit Sorter(LeftOut& left_out) : left_out_(&left_out) {}

  void add(const Sourced& one) {
    const auto pass = convolution_pass(one.axis("pass"));
    const auto method = convolution::method_of(one.measurement->implementation);
    if (!pass || !method || !one.axis("kernel").starts_with("convolution ")) {
      ++left_out_->other_kernels;
    } else if (one.axis("dtype") != dtype_name(DType::f32)) {
      ++left_out_->other_precisions;
    } else if (one.measurement->axes.contains("layout")) {
      ++left_out_->other_layouts;
    } else if (!has_normal_values(*one.measurement)) {
      ++left_out_->other_values;
    } else if (one.count("ranks_on_node") != 1) {
      ++left_out_->beside_others;
    } else {
      add(one, {one.axis("backend"), *method, *pass, one.count("threads"), one.axis("cache")});
    }
  }

  [[nodiscard]] std::vector<KernelSample> samples() const {
    std::vector<KernelSample> all;
    all.reserve(found_.size());
    for (const auto& [key, found] : found_) {
      const Estimate<Seconds> time = pool(found.group, "time", Range::positive, Ranks::slowest);
      all.push_back({found.what,
                     time.value,
                     {found.layers.begin(), found.layers.end()},
                     medians(found.group),
                     largest_workspace(found.group),
                     time.low,
                     time.high});
    }
    return all;
  }

 private:
  void add(const Sourced& one, const Way& way) {
    const std::string& kernel = one.axis("kernel");
    const int batch = one.count("batch");
    const std::tuple key(way, kernel, batch);
    auto place = found_.find(key);
    if (place == found_.end()) {
      place = found_.emplace(key, Found{read(one, way, kernel, batch), {}, {}}).first;
    }
    place->second.group.push_back(one);
    place->second.layers.insert(fmt::format("{} {}", one.axis("network"), one.axis("layer")));
  }

  static KernelCase read(const Sourced& one, const Way& way, const std::string& kernel, int batch) {
    try {
      return make_case(way, kernel, batch,
                       convolution::vector_floats(one.measurement->implementation));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", one.file, error.what()));
    }
  }

  LeftOut* left_out_;
  std::map<std::tuple<Way, std::string, int>, Found> found_;
};

bool usable(const Measurement& measurement) {
  return measurement.benchmark == "conv" && is_timed(measurement);
}

}  // namespace

std::optional<Pass> convolution_pass(std::string_view name) {
  const auto found = std::ranges::find(passes, name, pass_name);
  if (found == passes.end()) return std::nullopt;
  return *found;
}

std::string Way::algorithm() const {
  return fmt::format("{} {}", backend, convolution::method_name(method));
}

bool on_device(std::string_view backend) {
  return convolution::blocking_of(backend) == convolution::Blocking::device;
}

bool on_device(const Measurement& measurement) {
  const auto backend = measurement.axes.find("backend");
  return backend != measurement.axes.end() && on_device(backend->second);
}

double KernelSample::repeat_spread() const {
  EXPECT(!repeats.empty());
  std::vector<double> distances;
  distances.reserve(repeats.size());
  for (const Seconds measured : repeats) distances.push_back(std::abs(measured / time - 1));
  return median(distances);
}

bool Way::on_device() const {
  return model::on_device(backend);
}

bool Way::is_nominal() const {
  return convolution::is_nominal(method, convolution::blocking_of(backend));
}

std::string refusal(const Way& way, const ConvolutionShape& shape) {
  if (way.method == convolution::Method::direct) return "";
  const convolution::Blocking blocking = convolution::blocking_of(way.backend);
  std::string why = convolution::refusal(way.method, shape, way.pass,
                                         {.blocking = blocking, .threads = way.threads});
  if (!why.empty() || blocking != convolution::Blocking::whole ||
      way.method == convolution::Method::im2col) {
    return why;
  }
  if (shape.groups > 1) return fmt::format("{} groups: it offers one", shape.groups);
  return shape.pad > 1 ? fmt::format("pad {}: it offers 0 and 1", shape.pad) : "";
}

KernelCase make_case(const Way& way, const std::string& kernel, int batch, int vector_floats) {
  const auto convolution = parse_convolution_key(kernel, batch);
  EXPECT(convolution.has_value());
  const convolution::Blocking blocking = convolution::blocking_of(way.backend);
  if (way.method != convolution::Method::direct) {
    const std::string why = convolution::refusal(way.method, convolution->shape, blocking);
    if (!why.empty()) {
      throw ConfigError(
          fmt::format("\"{}\" cannot have run by {}: {}. Measure it again with this version.",
                      kernel, convolution::method_name(way.method), why));
    }
  }
  return {way,
          kernel,
          batch,
          convolution->shape,
          convolution::algorithm_work(way.method, convolution->shape, way.pass,
                                      {.blocking = blocking,
                                       .threads = way.threads,
                                       .vector_floats = vector_floats,
                                       .bias = convolution->bias,
                                       .relu = convolution->relu}),
          vector_floats};
}

std::vector<KernelSample> kernel_samples(std::span<const ResultFile> results, LeftOut& left_out) {
  Sorter sorter(left_out);
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      if (usable(measurement)) sorter.add({&measurement, file.path.string()});
    }
  }
  std::vector<KernelSample> samples = sorter.samples();
  if (samples.empty()) {
    throw RemediableError(
        "these results have no convolution in f32 on a rank alone, in the layout of training, so "
        "nothing can be modelled. Measure some.",
        {.subject = "conv", .axes = {{"algorithms", "all"}}});
  }
  return samples;
}

}  // namespace dlscale::model
