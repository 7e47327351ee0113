#include <fmt/format.h>
#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend/compute/compute.hpp"
#include "backend/compute/host_device.hpp"
#include "backend/compute/host_gemm.hpp"
#include "backend/compute/native/algorithms.hpp"
#include "backend/compute/native/convolution/operation.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

extern const ComputeBackend onednn;

namespace native_device {

namespace {

class HostProduct final : public MatrixProduct {
 public:
  explicit HostProduct(const GemmShape& shape) : shape_(shape) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }
  [[nodiscard]] std::string implementation() const override { return std::string(multiply_call); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* /*scratch*/) override {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape_;
    const auto* left = reinterpret_cast<const float*>(a);
    const auto* right = reinterpret_cast<const float*>(b);
    auto* result = reinterpret_cast<float*>(c);
    for (std::int64_t i = 0; i < batch; ++i) {
      multiply(m, n, k, {left + i * m * k, transpose_a ? m : k, transpose_a},
               {right + i * k * n, transpose_b ? k : n, transpose_b}, result + i * m * n, n);
    }
  }

 private:
  GemmShape shape_;
};

/// multiply(), the product that our convolutions run, as a separate MatrixProduct, so that their
/// speed can be compared with that of their products. It is f32, on the calling thread, and takes
/// the products of a batch one after the other. Its matrices are dense; a convolution's may be
/// parts of larger ones, and later blocks of backward_filter add to the result. `threads` are those
/// of the device. Throws Unsupported for several: a convolution then runs several single-threaded
/// products concurrently.
std::unique_ptr<MatrixProduct> make_host_product(const GemmShape& shape, int threads) {
  EXPECT(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  if (threads > 1) {
    throw Unsupported(
        fmt::format("a product of native runs on one thread, not on {}: its convolutions run "
                    "several beside one another. Measure with 1 thread.",
                    threads));
  }
  return std::make_unique<HostProduct>(shape);
}

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

/// A device with convolutions of our own. oneDNN does the rest, in the plain layouts of their
/// outputs.
class NativeDevice final : public HostDevice {
 public:
  explicit NativeDevice(const ComputeOptions& options)
      : others_(onednn.open(options)), threads_(options.threads) {}

  [[nodiscard]] std::string_view name() const override { return "native"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override {
    auto all = others_->libraries();
    all["Highway"] = fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH);
    return all;
  }
  [[nodiscard]] TensorDesc plain(Dims dims, DType dtype) const override {
    refuse_low(dtype);
    return others_->plain(dims, dtype);
  }

  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    refuse_low(spec.dtype);
    const auto* kind = std::get_if<Convolution>(&spec.layer.kind);
    if (kind == nullptr) return others_->create(spec);
    check_specification(spec);
    return make_convolution(*others_, spec, *kind, usual_passes(shape_of(spec, *kind)), threads_);
  }

  [[nodiscard]] std::vector<Algorithm> algorithms(const OperationSpec& spec, Pass pass) override {
    const auto* kind = std::get_if<Convolution>(&spec.layer.kind);
    if (kind == nullptr || pass == Pass::accumulate) return {};
    std::vector<Algorithm> all;
    const auto add = [&](std::string name, const ConvolutionAlgorithm* algorithm, Filters filters) {
      all.push_back(
          {std::move(name), [this, spec, kind = *kind, pass, algorithm, filters] {
             const ConvolutionShape shape = shape_of(spec, kind);
             ConvolutionPasses chosen = usual_passes(shape);
             chosen[static_cast<std::size_t>(pass)] = algorithm->make(shape, pass, threads_);
             return make_convolution(*others_, spec, kind, std::move(chosen), threads_, filters);
           }});
    };
    for (const ConvolutionAlgorithm* algorithm : all_algorithms()) {
      const std::string& name = algorithm->name;
      add(name, algorithm, Filters::made_anew);
      // Kept filters serve inference: training changes them after every use.
      const bool keeps = algorithm->keeps_filters && pass == Pass::forward;
      if (keeps) add(name + "_kept_filters", algorithm, Filters::kept);
    }
    return all;
  }

  [[nodiscard]] std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                              DType dtype) override {
    refuse_low(dtype);
    return make_host_product(shape, threads_);
  }

  void copy(const Tensor& from, const Tensor& to) override { others_->copy(from, to); }
  void accumulate(const Tensor& value, const Tensor& into) override {
    others_->accumulate(value, into);
  }
  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    others_->update(step, n, weights, gradients, momentum, low);
  }

 private:
  static void refuse_low(DType dtype) {
    if (dtype == DType::f32) return;
    throw Unsupported(fmt::format("native computes in f32 only, not in {}. Choose another backend.",
                                  dtype_name(dtype)));
  }

  [[nodiscard]] ConvolutionPasses usual_passes(const ConvolutionShape& shape) const {
    ConvolutionPasses made;
    for (const Pass pass : passes) {
      made[static_cast<std::size_t>(pass)] = usual_pass(shape, pass);
    }
    return made;
  }

  [[nodiscard]] std::unique_ptr<ConvolutionPass> usual_pass(const ConvolutionShape& shape,
                                                            Pass pass) const {
    try {
      return usual_algorithm(shape).make(shape, pass, threads_);
    } catch (const Unsupported&) {
      return own_algorithms().front()->make(shape, pass, threads_);
    }
  }

  std::unique_ptr<ComputeDevice> others_;
  int threads_;
};

std::unique_ptr<ComputeDevice> open(const ComputeOptions& options) {
  return std::make_unique<NativeDevice>(options);
}

}  // namespace
}  // namespace native_device

extern const ComputeBackend native;
const ComputeBackend native{
    .name = "native",
    .doc = "our own convolutions on processors (im2col, FFT, Winograd), oneDNN for the rest",
    .open = native_device::open};

}  // namespace dlscale::backend
