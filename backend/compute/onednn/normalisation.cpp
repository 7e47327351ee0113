#include "backend/compute/onednn/assembly.hpp"

namespace dlscale::backend::onednn_device {

namespace {

/// oneDNN 2.6.3 computes wrong gradients of bf16 images in NHWC whose channels do not fill the last
/// vector (lrn_jit:avx512_core_bf16; conformance_test finds it). They go through plain.
Desc computed_on(const Desc& images) {
  constexpr std::int64_t vector = 16;
  const bool is_right = type_of(images) != DataType::bf16 || layout_name(images) != "acdb" ||
                        dims_of(images)[1] % vector == 0;
  return is_right ? images : plain(dims_of(images), type_of(images));
}

}  // namespace

void assemble_lrn(Assembly& assembly, const Lrn& kind) {
  const LrnParameters parameters{kind.size, static_cast<float>(kind.alpha),
                                 static_cast<float>(kind.beta), static_cast<float>(kind.k)};
  const Desc x = computed_on(assembly.input().desc);
  const auto forward = lrn_forward(assembly.engine(), x, parameters);
  const auto backward = lrn_backward(assembly.engine(), x, parameters, forward);

  assembly.set_output(assembly.input().desc);
  std::vector<Argument> forward_arguments{reads(DNNL_ARG_SRC, assembly.input()),
                                          writes(DNNL_ARG_DST, assembly.output())};
  std::vector<Argument> backward_arguments{reads(DNNL_ARG_SRC, assembly.input()),
                                           reads(DNNL_ARG_DIFF_DST, assembly.output_gradient()),
                                           writes(DNNL_ARG_DIFF_SRC, assembly.input_gradient())};
  if (forward.workspace_desc().get_size() > 0) {
    const Endpoint workspace = assembly.add_state(forward.workspace_desc());
    forward_arguments.push_back(writes(DNNL_ARG_WORKSPACE, workspace));
    if (backward.workspace_desc().get_size() > 0) {  // some implementations recompute it
      backward_arguments.push_back(reads(DNNL_ARG_WORKSPACE, workspace));
    }
  }
  assembly.plan(Pass::forward).add(forward, forward_arguments);
  assembly.plan(Pass::backward_data).add(backward, backward_arguments);
}

void assemble_batch_norm(Assembly& assembly, const BatchNorm& kind) {
  const auto epsilon = static_cast<float>(kind.epsilon);
  const int channels = assembly.spec().layer.output.channels;
  const Desc x = assembly.input().desc;
  const Desc vector = plain({channels}, DataType::f32);
  const auto forward = batch_norm_forward(assembly.engine(), x, epsilon, assembly.then());
  const auto backward =
      batch_norm_backward(assembly.engine(), x, epsilon, assembly.then(), forward);

  assembly.set_output(x);
  assembly.add_parameter(ParameterRole::scale, vector_dims(channels), vector);
  assembly.add_parameter(ParameterRole::shift, vector_dims(channels), vector);
  const Endpoint mean = assembly.add_state(vector);
  const Endpoint variance = assembly.add_state(vector);
  std::vector<Argument> forward_arguments{reads(DNNL_ARG_SRC, assembly.input()),
                                          reads(DNNL_ARG_SCALE, assembly.parameter(0)),
                                          reads(DNNL_ARG_SHIFT, assembly.parameter(1)),
                                          writes(DNNL_ARG_DST, assembly.output()),
                                          writes(DNNL_ARG_MEAN, mean),
                                          writes(DNNL_ARG_VARIANCE, variance)};
  std::vector<Argument> backward_arguments{
      reads(DNNL_ARG_SRC, assembly.input()),
      reads(DNNL_ARG_DIFF_DST, assembly.output_gradient()),
      reads(DNNL_ARG_SCALE, assembly.parameter(0)),
      reads(DNNL_ARG_MEAN, mean),
      reads(DNNL_ARG_VARIANCE, variance),
      writes(DNNL_ARG_DIFF_SRC, assembly.input_gradient()),
      writes(DNNL_ARG_DIFF_SCALE, assembly.parameter_gradient(0)),
      writes(DNNL_ARG_DIFF_SHIFT, assembly.parameter_gradient(1))};
  if (batch_norm_backward_takes_shift()) {
    backward_arguments.push_back(reads(DNNL_ARG_SHIFT, assembly.parameter(1)));
  }
  if (assembly.then() == Then::relu) {
    const Endpoint workspace = assembly.add_state(forward.workspace_desc());
    forward_arguments.push_back(writes(DNNL_ARG_WORKSPACE, workspace));
    backward_arguments.push_back(reads(DNNL_ARG_WORKSPACE, workspace));
  }
  assembly.plan(Pass::forward).add(forward, forward_arguments);
  assembly.plan(Pass::backward_data).add(backward, backward_arguments);
}

}  // namespace dlscale::backend::onednn_device
