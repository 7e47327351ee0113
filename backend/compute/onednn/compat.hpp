#pragma once
#include <dnnl.hpp>
#include <string>
#include <vector>

/// Common interface to oneDNN 2.x and 3.x. Only compat.cpp depends on the version.
namespace dlscale::backend::onednn_device {

using Desc = dnnl::memory::desc;
using DataType = dnnl::memory::data_type;
using MemoryDims = dnnl::memory::dims;

MemoryDims dims_of(const Desc& desc);
DataType type_of(const Desc& desc);
/// The same order in memory, elements of another type.
Desc with_type(const Desc& desc, DataType type);

/// Position of the elements of a blocked tensor: the sum of each dimension's outer coordinate times
/// its stride, and the place in the inner blocks. The blocks are listed from the outermost to the
/// innermost.
struct Blocking {
  MemoryDims strides;
  MemoryDims block_sizes;
  std::vector<int> block_dims;
};
/// Throws LibraryError if the format is not a blocked one.
Blocking blocking_of(const Desc& desc);

struct ConvolutionGeometry {
  MemoryDims strides;
  MemoryDims padding_left;
  MemoryDims padding_right;
};

struct PoolingGeometry {
  dnnl::algorithm algorithm;
  MemoryDims kernel;
  MemoryDims strides;
  MemoryDims padding_left;
  MemoryDims padding_right;
};

struct LrnParameters {
  int size;
  float alpha;
  float beta;
  float k;
};

/// Operation that follows within the same primitive.
enum class Then { nothing, relu };

/// The library's documentation calls everything but Winograd direct.
using ConvolutionMethod = dnnl::algorithm;
constexpr auto direct = dnnl::algorithm::convolution_direct;
constexpr auto winograd = dnnl::algorithm::convolution_winograd;

// Primitive descriptors of the training form. The caller provides the scratchpad. An empty bias
// means none. All throw dnnl::error.

dnnl::convolution_forward::primitive_desc convolution_forward(const dnnl::engine& engine,
                                                              const Desc& x, const Desc& weights,
                                                              const Desc& bias, const Desc& y,
                                                              const ConvolutionGeometry& geometry,
                                                              ConvolutionMethod method, Then then);
dnnl::convolution_backward_data::primitive_desc convolution_backward_data(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& y,
    const ConvolutionGeometry& geometry, const dnnl::convolution_forward::primitive_desc& forward,
    ConvolutionMethod method);
dnnl::convolution_backward_weights::primitive_desc convolution_backward_weights(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& bias, const Desc& y,
    const ConvolutionGeometry& geometry, const dnnl::convolution_forward::primitive_desc& forward,
    ConvolutionMethod method);

dnnl::inner_product_forward::primitive_desc inner_product_forward(const dnnl::engine& engine,
                                                                  const Desc& x,
                                                                  const Desc& weights,
                                                                  const Desc& bias, const Desc& y);
dnnl::inner_product_backward_data::primitive_desc inner_product_backward_data(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& y,
    const dnnl::inner_product_forward::primitive_desc& forward);
dnnl::inner_product_backward_weights::primitive_desc inner_product_backward_weights(
    const dnnl::engine& engine, const Desc& x, const Desc& weights, const Desc& bias, const Desc& y,
    const dnnl::inner_product_forward::primitive_desc& forward);

/// c = a · b of two or three dimensions, the first of three being the batch.
dnnl::matmul::primitive_desc matmul(const dnnl::engine& engine, const Desc& a, const Desc& b,
                                    const Desc& c);

dnnl::pooling_forward::primitive_desc pooling_forward(const dnnl::engine& engine, const Desc& x,
                                                      const Desc& y,
                                                      const PoolingGeometry& geometry);
dnnl::pooling_backward::primitive_desc pooling_backward(
    const dnnl::engine& engine, const Desc& x, const Desc& y, const PoolingGeometry& geometry,
    const dnnl::pooling_forward::primitive_desc& forward);

dnnl::eltwise_forward::primitive_desc relu_forward(const dnnl::engine& engine, const Desc& x);
dnnl::eltwise_backward::primitive_desc relu_backward(
    const dnnl::engine& engine, const Desc& x,
    const dnnl::eltwise_forward::primitive_desc& forward);

dnnl::lrn_forward::primitive_desc lrn_forward(const dnnl::engine& engine, const Desc& x,
                                              const LrnParameters& parameters);
dnnl::lrn_backward::primitive_desc lrn_backward(const dnnl::engine& engine, const Desc& x,
                                                const LrnParameters& parameters,
                                                const dnnl::lrn_forward::primitive_desc& forward);

/// Scale and shift are separate arguments. With a ReLU, forward leaves a workspace for backward.
dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                     const Desc& x, float epsilon,
                                                                     Then then);
dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const Desc& x, float epsilon, Then then,
    const dnnl::batch_normalization_forward::primitive_desc& forward);

/// 2.x refuses to run without the shift, on which no gradient depends; 3.x refuses to run with it.
bool batch_norm_backward_takes_shift();

/// log softmax along dimension 1.
dnnl::primitive_desc_base log_softmax_forward(const dnnl::engine& engine, const Desc& x);

/// Concatenation along dimension 1.
dnnl::concat::primitive_desc concat(const dnnl::engine& engine, const std::vector<Desc>& inputs);
dnnl::sum::primitive_desc sum(const dnnl::engine& engine, const std::vector<Desc>& inputs,
                              const Desc& y);

/// "2.6.3", with the commit if the library knows it.
std::string library_version();
/// The instruction set that the library uses: "avx512_core_bf16".
std::string instruction_set();

/// The threading runtime of the library's build: "OMP", "SEQ", "TBB", …
std::string threading_runtime();

}  // namespace dlscale::backend::onednn_device
