#include "backend/compute/onednn/compat.hpp"

#include <dnnl_debug.h>
#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend::onednn_device {

namespace {

/// The caller provides the scratchpad, so that a running primitive allocates nothing.
dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr attributes(Then then) {
  dnnl::primitive_attr with = attributes();
  if (then == Then::nothing) return with;
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
  after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
  with.set_post_ops(after);
  return with;
}

constexpr auto training = dnnl::prop_kind::forward_training;
constexpr auto across = dnnl::algorithm::lrn_across_channels;

dnnl::normalization_flags learned(Then then) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  return then == Then::relu ? flags | dnnl::normalization_flags::fuse_norm_relu : flags;
}

/// For a primitive whose type differs between the versions.
dnnl::primitive_desc_base untyped(const dnnl::primitive_desc_base& desc) {
  dnnl_primitive_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, desc.get()),
                          "could not copy a primitive descriptor");
  dnnl::primitive_desc_base base;
  base.reset(copy);
  return base;
}

#if DNNL_VERSION_MAJOR >= 3

/// 3.x creates a primitive descriptor from engine and arguments.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc forward_desc_with(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attributes,
                                                     const Arguments&... arguments) {
  return {engine, arguments..., attributes};
}

template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc backward_desc(const dnnl::engine& engine, const Forward& forward,
                                                 const Arguments&... arguments) {
  return {engine, arguments..., forward, attributes()};
}

#else

/// 2.x first creates an operation descriptor from the arguments.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc forward_desc_with(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attributes,
                                                     const Arguments&... arguments) {
  return {typename Primitive::desc(arguments...), attributes, engine};
}

template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc backward_desc(const dnnl::engine& engine, const Forward& forward,
                                                 const Arguments&... arguments) {
  return {typename Primitive::desc(arguments...), attributes(), engine, forward};
}

#endif

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc forward_desc(const dnnl::engine& engine,
                                                const Arguments&... arguments) {
  return forward_desc_with<Primitive>(engine, attributes(), arguments...);
}

}  // namespace

#if DNNL_VERSION_MAJOR >= 3

MemoryDims dims_of(const Desc& desc) {
  return desc.get_dims();
}

DataType type_of(const Desc& desc) {
  return desc.get_data_type();
}

Blocking blocking_of(const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) {
    throw LibraryError("oneDNN chose an opaque layout, whose order dlscale cannot read");
  }
  const MemoryDims block_dims = desc.get_inner_idxs();
  return {desc.get_strides(), desc.get_inner_blks(),
          std::vector<int>(block_dims.begin(), block_dims.end())};
}

/// A descriptor of 3.x cannot be edited, and one with inner blocks only comes from a format tag. So
/// this looks for the tag that gives the same blocks and strides.
Desc with_type(const Desc& desc, DataType type) {
  if (type_of(desc) == type) return desc;
  const Blocking wanted = blocking_of(desc);
  if (wanted.block_sizes.empty()) return {dims_of(desc), type, wanted.strides};
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
    const Desc same_type(dims_of(desc), type_of(desc), static_cast<dnnl::memory::format_tag>(tag),
                         true);
    if (same_type.get(true) == nullptr || same_type != desc) continue;
    return {dims_of(desc), type, static_cast<dnnl::memory::format_tag>(tag)};
  }
  throw LibraryError(
      "oneDNN chose a layout that no format tag names, so gradients in f32 cannot "
      "have it");
}

#else

MemoryDims dims_of(const Desc& desc) {
  return desc.dims();
}

DataType type_of(const Desc& desc) {
  return desc.data_type();
}

Blocking blocking_of(const Desc& desc) {
  if (desc.data.format_kind != dnnl_blocked) {
    throw LibraryError("oneDNN chose an opaque layout, whose order dlscale cannot read");
  }
  const auto& [strides, count, sizes, dims] = desc.data.format_desc.blocking;
  return {MemoryDims(strides, strides + desc.data.ndims), MemoryDims(sizes, sizes + count),
          std::vector<int>(dims, dims + count)};
}

Desc with_type(const Desc& desc, DataType type) {
  Desc other = desc;
  other.data.data_type = dnnl::memory::convert_to_c(type);
  return other;
}

#endif

dnnl::convolution_forward::primitive_desc convolution_forward(const dnnl::engine& engine,
                                                              const Desc& x, const Desc& weights,
                                                              const Desc& bias, const Desc& y,
                                                              const ConvolutionGeometry& geometry,
                                                              ConvolutionMethod method, Then then) {
  return forward_desc_with<dnnl::convolution_forward>(
      engine, attributes(then), training, method, x, weights, bias, y, geometry.strides,
      geometry.padding_left, geometry.padding_right);
}

dnnl::convolution_backward_data::primitive_desc convolution_backward_data(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& y,
    const ConvolutionGeometry& geometry, const dnnl::convolution_forward::primitive_desc& forward,
    ConvolutionMethod method) {
  return backward_desc<dnnl::convolution_backward_data>(engine, forward, method, x, weights, y,
                                                        geometry.strides, geometry.padding_left,
                                                        geometry.padding_right);
}

dnnl::convolution_backward_weights::primitive_desc convolution_backward_weights(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& bias, const Desc& y,
    const ConvolutionGeometry& geometry, const dnnl::convolution_forward::primitive_desc& forward,
    ConvolutionMethod method) {
  return backward_desc<dnnl::convolution_backward_weights>(
      engine, forward, method, x, weights, bias, y, geometry.strides, geometry.padding_left,
      geometry.padding_right);
}

dnnl::inner_product_forward::primitive_desc inner_product_forward(const dnnl::engine& engine,
                                                                  const Desc& x,
                                                                  const Desc& weights,
                                                                  const Desc& bias, const Desc& y) {
  return forward_desc<dnnl::inner_product_forward>(engine, training, x, weights, bias, y);
}

dnnl::inner_product_backward_data::primitive_desc inner_product_backward_data(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& y,
    const dnnl::inner_product_forward::primitive_desc& forward) {
  return backward_desc<dnnl::inner_product_backward_data>(engine, forward, x, weights, y);
}

dnnl::inner_product_backward_weights::primitive_desc inner_product_backward_weights(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& bias, const Desc& y,
    const dnnl::inner_product_forward::primitive_desc& forward) {
  return backward_desc<dnnl::inner_product_backward_weights>(engine, forward, x, weights, bias, y);
}

dnnl::matmul::primitive_desc matmul(const dnnl::engine& engine, const Desc& a, const Desc& b,
                                    const Desc& c) {
  return forward_desc<dnnl::matmul>(engine, a, b, c);
}

#if DNNL_VERSION_MAJOR >= 3

dnnl::pooling_forward::primitive_desc pooling_forward(const dnnl::engine& engine, const Desc& x,
                                                      const Desc& y,
                                                      const PoolingGeometry& geometry) {
  return forward_desc<dnnl::pooling_forward>(engine, training, geometry.algorithm, x, y,
                                             geometry.strides, geometry.kernel, MemoryDims{0, 0},
                                             geometry.padding_left, geometry.padding_right);
}

dnnl::pooling_backward::primitive_desc pooling_backward(
    const dnnl::engine& engine, const Desc& x, const Desc& y, const PoolingGeometry& geometry,
    const dnnl::pooling_forward::primitive_desc& forward) {
  return backward_desc<dnnl::pooling_backward>(engine, forward, geometry.algorithm, x, y,
                                               geometry.strides, geometry.kernel, MemoryDims{0, 0},
                                               geometry.padding_left, geometry.padding_right);
}

dnnl::eltwise_forward::primitive_desc relu_forward(const dnnl::engine& engine, const Desc& x) {
  return forward_desc<dnnl::eltwise_forward>(engine, training, dnnl::algorithm::eltwise_relu, x, x,
                                             0.0F);
}

dnnl::eltwise_backward::primitive_desc relu_backward(
    const dnnl::engine& engine, const Desc& x,
    const dnnl::eltwise_forward::primitive_desc& forward) {
  return {engine, dnnl::algorithm::eltwise_relu, x, x, x, 0.0F, forward, attributes()};
}

dnnl::lrn_forward::primitive_desc lrn_forward(const dnnl::engine& engine, const Desc& x,
                                              const LrnParameters& parameters) {
  const auto& [size, alpha, beta, k] = parameters;
  return forward_desc<dnnl::lrn_forward>(engine, training, across, x, x, size, alpha, beta, k);
}

dnnl::lrn_backward::primitive_desc lrn_backward(const dnnl::engine& engine, const Desc& x,
                                                const LrnParameters& parameters,
                                                const dnnl::lrn_forward::primitive_desc& forward) {
  const auto& [size, alpha, beta, k] = parameters;
  return backward_desc<dnnl::lrn_backward>(engine, forward, across, x, x, x, size, alpha, beta, k);
}

dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                     const Desc& x, float epsilon,
                                                                     Then then) {
  return forward_desc<dnnl::batch_normalization_forward>(engine, training, x, x, epsilon,
                                                         learned(then));
}

dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const Desc& x, float epsilon, Then then,
    const dnnl::batch_normalization_forward::primitive_desc& forward) {
  return backward_desc<dnnl::batch_normalization_backward>(
      engine, forward, dnnl::prop_kind::backward, x, x, x, epsilon, learned(then));
}

bool batch_norm_backward_takes_shift() {
  return false;
}

dnnl::primitive_desc_base log_softmax_forward(const dnnl::engine& engine, const Desc& x) {
  return untyped(
      forward_desc<dnnl::softmax_forward>(engine, training, dnnl::algorithm::softmax_log, x, x, 1));
}

dnnl::concat::primitive_desc concat(const dnnl::engine& engine, const std::vector<Desc>& inputs) {
  return {engine, 1, inputs, attributes()};
}

dnnl::sum::primitive_desc sum(const dnnl::engine& engine, const std::vector<Desc>& inputs,
                              const Desc& y) {
  return {engine, y, std::vector<float>(inputs.size(), 1.0F), inputs, attributes()};
}

#else

dnnl::pooling_forward::primitive_desc pooling_forward(const dnnl::engine& engine, const Desc& x,
                                                      const Desc& y,
                                                      const PoolingGeometry& geometry) {
  return forward_desc<dnnl::pooling_forward>(engine, training, geometry.algorithm, x, y,
                                             geometry.strides, geometry.kernel,
                                             geometry.padding_left, geometry.padding_right);
}

dnnl::pooling_backward::primitive_desc pooling_backward(
    const dnnl::engine& engine, const Desc& x, const Desc& y, const PoolingGeometry& geometry,
    const dnnl::pooling_forward::primitive_desc& forward) {
  return backward_desc<dnnl::pooling_backward>(engine, forward, geometry.algorithm, x, y,
                                               geometry.strides, geometry.kernel,
                                               geometry.padding_left, geometry.padding_right);
}

dnnl::eltwise_forward::primitive_desc relu_forward(const dnnl::engine& engine, const Desc& x) {
  return forward_desc<dnnl::eltwise_forward>(engine, training, dnnl::algorithm::eltwise_relu, x,
                                             0.0F);
}

dnnl::eltwise_backward::primitive_desc relu_backward(
    const dnnl::engine& engine, const Desc& x,
    const dnnl::eltwise_forward::primitive_desc& forward) {
  return backward_desc<dnnl::eltwise_backward>(engine, forward, dnnl::algorithm::eltwise_relu, x, x,
                                               0.0F);
}

dnnl::lrn_forward::primitive_desc lrn_forward(const dnnl::engine& engine, const Desc& x,
                                              const LrnParameters& parameters) {
  const auto& [size, alpha, beta, k] = parameters;
  return forward_desc<dnnl::lrn_forward>(engine, training, across, x, size, alpha, beta, k);
}

dnnl::lrn_backward::primitive_desc lrn_backward(const dnnl::engine& engine, const Desc& x,
                                                const LrnParameters& parameters,
                                                const dnnl::lrn_forward::primitive_desc& forward) {
  const auto& [size, alpha, beta, k] = parameters;
  return backward_desc<dnnl::lrn_backward>(engine, forward, across, x, x, size, alpha, beta, k);
}

dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                     const Desc& x, float epsilon,
                                                                     Then then) {
  return forward_desc<dnnl::batch_normalization_forward>(engine, training, x, epsilon,
                                                         learned(then));
}

dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const Desc& x, float epsilon, Then then,
    const dnnl::batch_normalization_forward::primitive_desc& forward) {
  return backward_desc<dnnl::batch_normalization_backward>(
      engine, forward, dnnl::prop_kind::backward, x, x, epsilon, learned(then));
}

bool batch_norm_backward_takes_shift() {
  return true;
}

dnnl::primitive_desc_base log_softmax_forward(const dnnl::engine& engine, const Desc& x) {
  return untyped(forward_desc<dnnl::logsoftmax_forward>(engine, training, x, 1));
}

dnnl::concat::primitive_desc concat(const dnnl::engine& engine, const std::vector<Desc>& inputs) {
  return {1, inputs, engine, attributes()};
}

dnnl::sum::primitive_desc sum(const dnnl::engine& engine, const std::vector<Desc>& inputs,
                              const Desc& y) {
  return {y, std::vector<float>(inputs.size(), 1.0F), inputs, engine, attributes()};
}

#endif

std::string library_version() {
  const dnnl_version_t* version = dnnl_version();
  const std::string number =
      fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
  const std::string commit = version->hash;
  return commit.empty() || commit == "N/A" ? number : number + " (" + commit.substr(0, 12) + ")";
}

std::string instruction_set() {
  const std::string name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  constexpr std::string_view prefix = "cpu_isa_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string threading_runtime() {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  return "OMP";
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ
  return "SEQ";
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
  return "TBB";
#else
  return "unknown";
#endif
}

}  // namespace dlscale::backend::onednn_device
