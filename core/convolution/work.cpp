#include "core/convolution/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/convolution/stages.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::convolution {
namespace {

/// One dimension of a convolution.
struct Along {
  Index inputs;
  Index taps;
  Index outputs;
  Index stride;
  Index pad;
  Index dilation;
};

/// The number of pairs of an output and a filter tap inside the image, that is with 0 <= stride ·
/// output + dilation · tap - pad < inputs.
double taps_inside(const Along& along) {
  double pairs = 0;
  for (Index tap = 0; tap < along.taps; ++tap) {
    const Index place = along.dilation * tap;
    const Index before = std::max<Index>(0, along.pad - place);  // padding pixels at the front
    const Index first = (before + along.stride - 1) / along.stride;
    const Index room = along.inputs - 1 + along.pad - place;
    const Index end = room < 0 ? 0 : std::min(along.outputs, room / along.stride + 1);
    pairs += static_cast<double>(std::max<Index>(0, end - first));
  }
  return pairs;
}

/// direct_flops() without the taps on padding, which are known to be 0 and which libraries skip.
/// All three passes use the same pairs of a tap and an output.
Flops flops_inside(const ConvolutionShape& shape) {
  const double inside =
      taps_inside({shape.height, shape.kernel_h, shape.out_height, shape.stride, shape.pad,
                   shape.dilation}) *
      taps_inside({shape.width, shape.kernel_w, shape.out_width, shape.stride_along_width(),
                   shape.pad_along_width(), shape.dilation});
  const auto filters = static_cast<double>(shape.images * shape.outputs);
  return Flops(2 * filters * static_cast<double>(shape.channels / shape.groups) * inside);
}

AlgorithmWork direct_work(const ConvolutionShape& shape) {
  const Bytes bytes = least_bytes(shape);
  return {{{.name = "convolution",
            .kind = StageKind::direct,
            .flops = flops_inside(shape),
            .bytes = bytes,
            .working_set = bytes}},
          {}};
}

/// y += bias and y = max(y, 0) in one pass; dy = 0 where y is not positive, and db = Σ dy.
void add_output_stages(AlgorithmWork& work, const ConvolutionShape& shape, Pass pass,
                       const WorkSetting& setting) {
  const double outputs = shape.output_elements();
  const auto add = [&](std::string_view name, double operations, double passes) {
    work.stages.push_back({.name = name,
                           .kind = StageKind::copy,
                           .flops = Flops(operations * outputs),
                           .bytes = floats(passes * outputs),
                           .working_set = floats(outputs)});
  };
  if (pass == Pass::forward && (setting.bias || setting.relu)) {
    add(setting.relu ? "bias and ReLU" : "bias", setting.bias && setting.relu ? 2 : 1, 2);
  }
  if (pass != Pass::backward_filter) return;
  if (setting.relu) add("ReLU", 1, 3);
  if (setting.bias) add("bias", 1, 1);
}

/// Removes the filter transform from forward.
void leave_out_filters(AlgorithmWork& work) {
  std::erase_if(work.stages, [](const Stage& stage) {
    return stage.name == "filter transform" || stage.name == "transform of Â";
  });
}

AlgorithmWork work_of(Method method, const ConvolutionShape& shape, Pass pass,
                      const WorkSetting& setting) {
  if (method == Method::direct) return direct_work(shape);
  if (setting.blocking == Blocking::device) return device_work(method, shape, pass);
  switch (family_of(method)) {
    case MethodFamily::direct:
      break;
    case MethodFamily::im2col:
      return im2col_work(shape, pass, setting);
    case MethodFamily::winograd:
      return winograd_work(method, shape, pass, setting);
    case MethodFamily::fft:
    case MethodFamily::fft_tiled:
      return spectral_work(method, shape, pass, setting);
  }
  fail_expectation("a known Method");
}

}  // namespace

Flops AlgorithmWork::flops() const {
  return std::accumulate(stages.begin(), stages.end(), Flops(),
                         [](Flops sum, const Stage& stage) { return sum + stage.flops; });
}

Bytes AlgorithmWork::bytes() const {
  return std::accumulate(stages.begin(), stages.end(), Bytes(),
                         [](Bytes sum, const Stage& stage) { return sum + stage.bytes; });
}

std::string refusal(Method method, const ConvolutionShape& shape, Pass pass,
                    const WorkSetting& setting) {
  std::string why = refusal(method, shape, setting.blocking);
  if (!why.empty() || setting.blocking != Blocking::ours || pass != Pass::backward_filter ||
      !is_fused(method)) {
    return why;
  }
  const Index bytes =
      fused_gradient_bytes(shape.outputs / shape.groups, shape.channels / shape.groups,
                           winograd_outputs(method) + 2, setting.threads);
  if (bytes <= gradient_limit_bytes) return "";
  return fmt::format("transformed gradients of {} MiB for {} threads: it holds up to {} MiB",
                     bytes >> 20, setting.threads, gradient_limit_bytes >> 20);
}

AlgorithmWork algorithm_work(Method method, const ConvolutionShape& shape, Pass pass,
                             const WorkSetting& setting) {
  EXPECT(pass != Pass::accumulate);
  EXPECT(method == Method::direct || refusal(method, shape, setting.blocking).empty());
  EXPECT(pass == Pass::forward || !setting.kept_filters);
  AlgorithmWork work = work_of(method, shape, pass, setting);
  if (setting.kept_filters) leave_out_filters(work);
  const bool ours = setting.blocking != Blocking::whole && method != Method::direct;
  if (ours) add_output_stages(work, shape, pass, setting);
  return work;
}

Stage product_stage(const std::vector<Products>& products, double added) {
  Stage stage{.name = "product", .kind = StageKind::product, .bytes = floats(added)};
  stage.products = products;
  for (const auto& [m, n, k, count] : products) {
    stage.flops += Flops(2 * m * n * k * count);
    const double elements = m * k + k * n + m * n;
    stage.bytes += floats(elements * count);
    stage.working_set = std::max(stage.working_set, floats(elements));
  }
  return stage;
}

}  // namespace dlscale::convolution
