#include <algorithm>

#include "backend/compute/onednn/assembly.hpp"

namespace dlscale::backend::onednn_device {

namespace {

/// Padding that the last window needs (more than `pad` where `ceil_mode` lets it reach beyond).
std::int64_t padding_right(std::int64_t input, std::int64_t output, std::int64_t kernel,
                           const Pooling& kind) {
  return std::max<std::int64_t>(kind.pad, (output - 1) * kind.stride + kernel - input - kind.pad);
}

PoolingGeometry pooling_geometry(const OperationSpec& spec, const Pooling& kind) {
  const ImageShape& x = spec.layer.input_shapes.front();
  const ImageShape& y = spec.layer.output;
  return {.algorithm = kind.kind == PoolingKind::max ? dnnl::algorithm::pooling_max
                                                     : dnnl::algorithm::pooling_avg_exclude_padding,
          .kernel = {kind.kernel_h, kind.kernel_w},
          .strides = {kind.stride, kind.stride},
          .padding_left = {kind.pad, kind.pad},
          .padding_right = {padding_right(x.height, y.height, kind.kernel_h, kind),
                            padding_right(x.width, y.width, kind.kernel_w, kind)}};
}

}  // namespace

void assemble_pooling(Assembly& assembly, const Pooling& kind) {
  const PoolingGeometry geometry = pooling_geometry(assembly.spec(), kind);
  const Desc x = assembly.input().desc;
  const Desc y = any(library_dims(output_dims(assembly.spec())), assembly.type());
  const auto forward = pooling_forward(assembly.engine(), x, y, geometry);
  const auto backward =
      pooling_backward(assembly.engine(), x, forward.dst_desc(), geometry, forward);

  assembly.set_output(forward.dst_desc());
  std::vector<Argument> forward_arguments{reads(DNNL_ARG_SRC, assembly.input()),
                                          writes(DNNL_ARG_DST, assembly.output())};
  std::vector<Argument> backward_arguments{reads(DNNL_ARG_DIFF_DST, assembly.output_gradient()),
                                           writes(DNNL_ARG_DIFF_SRC, assembly.input_gradient())};
  if (kind.kind == PoolingKind::max) {  // positions of the maxima
    const Endpoint workspace = assembly.add_state(forward.workspace_desc());
    forward_arguments.push_back(writes(DNNL_ARG_WORKSPACE, workspace));
    backward_arguments.push_back(reads(DNNL_ARG_WORKSPACE, workspace));
  }
  assembly.plan(Pass::forward).add(forward, forward_arguments);
  assembly.plan(Pass::backward_data).add(backward, backward_arguments);
}

}  // namespace dlscale::backend::onednn_device
