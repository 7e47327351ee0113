#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/host_device.hpp"
#include "backend/compute/precision.hpp"
#include "backend/compute/reference/plain_operation.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

namespace reference_loops {

namespace {

/// c[i,j] = Σ_p a[i,p] · b[p,j], in double.
class MatrixLoops final : public MatrixProduct {
 public:
  explicit MatrixLoops(const GemmShape& shape) : shape_(shape) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }
  [[nodiscard]] std::string implementation() const override { return "loops"; }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* /*scratch*/) override {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape_;
    for (std::int64_t i = 0; i < batch; ++i) {
      multiply(reinterpret_cast<const float*>(a) + i * m * k, rows_of_b(b, i),
               reinterpret_cast<float*>(c) + i * m * n);
    }
  }

 private:
  /// The rows of op(B), which are the inner loop, so that sums of different columns are
  /// independent.
  [[nodiscard]] const float* rows_of_b(const std::byte* b, std::int64_t which) {
    const auto [n, k] = std::pair(shape_.n, shape_.k);
    const float* values = reinterpret_cast<const float*>(b) + which * k * n;
    if (!shape_.transpose_b) return values;
    turned_.resize(static_cast<std::size_t>(k * n));
    constexpr std::int64_t strip = 16;  // as many numbers as a cache line has
    for (std::int64_t first = 0; first < n; first += strip) {
      const std::int64_t end = std::min(first + strip, n);
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t j = first; j < end; ++j) turned_[p * n + j] = values[j * k + p];
      }
    }
    return turned_.data();
  }

  void multiply(const float* a, const float* b, float* c) {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape_;
    const std::int64_t row = transpose_a ? 1 : k;
    const std::int64_t column = transpose_a ? m : 1;
    for (std::int64_t i = 0; i < m; ++i) {
      sums_.assign(static_cast<std::size_t>(n), 0);
      for (std::int64_t p = 0; p < k; ++p) {
        const double factor = a[i * row + p * column];
        for (std::int64_t j = 0; j < n; ++j) sums_[j] += factor * double{b[p * n + j]};
      }
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] = static_cast<float>(sums_[j]);
    }
  }

  GemmShape shape_;
  std::vector<float> turned_;
  std::vector<double> sums_;
};

/// Plain loops over f32 matrices.
std::unique_ptr<MatrixProduct> make_matrix_product(const GemmShape& shape) {
  EXPECT(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  return std::make_unique<MatrixLoops>(shape);
}

/// Makes the operation of each kind of layer.
struct Maker {
  const OperationSpec& spec;
  using Made = std::unique_ptr<Operation>;

  Made operator()(const Convolution& kind) const { return make_convolution(spec, kind); }
  Made operator()(const Pooling& kind) const { return make_pooling(spec, kind); }
  Made operator()(const Relu& /*kind*/) const { return make_relu(spec); }
  Made operator()(const Lrn& kind) const { return make_lrn(spec, kind); }
  Made operator()(const BatchNorm& kind) const { return make_batch_norm(spec, kind); }
  Made operator()(const FullyConnected& kind) const { return make_fully_connected(spec, kind); }
  Made operator()(const Dropout& kind) const { return make_dropout(spec, kind); }
  Made operator()(const Concat& /*kind*/) const { return make_concat(spec); }
  Made operator()(const Sum& /*kind*/) const { return make_sum(spec); }
  Made operator()(const SoftmaxCrossEntropy& kind) const { return make_loss(spec, kind); }
  template <class Other>
  Made operator()(const Other& /*kind*/) const {
    refuse_kind(spec);
  }
  Made operator()(const Input& /*kind*/) const {
    throw Unsupported(describe(spec) + ": the input is data, not an operation");
  }
};

void expect_plain(const TensorDesc& desc) {
  if (desc.layout.name != "nchw") {
    throw Unsupported(
        fmt::format("reference: layout {} is another device's (this one has nchw "
                    "only). Copy to a plain tensor first.",
                    desc.layout.name));
  }
}

class ReferenceDevice final : public HostDevice {
 public:
  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] TensorDesc plain(Dims dims, DType dtype) const override {
    if (dtype != DType::f32) {
      throw Unsupported(fmt::format(
          "reference computes in f32 only, not in {}. Choose another backend.", dtype_name(dtype)));
    }
    return plain_desc(dims);
  }

  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    static_cast<void>(plain({}, spec.dtype));
    check_specification(spec);
    for (const TensorDesc& input : spec.inputs) expect_plain(input);
    return std::visit(Maker{spec}, spec.layer.kind);
  }

  [[nodiscard]] std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                              DType dtype) override {
    static_cast<void>(plain({}, dtype));
    return make_matrix_product(shape);
  }

  void copy(const Tensor& from, const Tensor& to) override {
    expect_plain(from.desc);
    expect_plain(to.desc);
    EXPECT(from.desc.dims == to.desc.dims);
    std::memcpy(to.data, from.data, to.desc.layout.bytes);
  }

  void accumulate(const Tensor& value, const Tensor& into) override {
    EXPECT(value.desc.dims == into.desc.dims);
    for (std::int64_t i = 0; i < into.desc.elements(); ++i) {
      into.as<float>()[i] += value.as<float>()[i];
    }
  }

  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    for (std::size_t i = 0; i < n; ++i) {
      const float g = gradients[i] * step.gradient_scale + step.weight_decay * weights[i];
      momentum[i] = step.momentum * momentum[i] + g;
      weights[i] -= step.rate * momentum[i];
    }
    if (low != nullptr) std::transform(weights, weights + n, low, to_bfloat16);
  }
};

std::unique_ptr<ComputeDevice> open(const ComputeOptions& options) {
  if (options.threads != 1) {
    throw Unsupported(
        fmt::format("reference computes on 1 thread, not {}. Choose 1 thread, or the "
                    "backend onednn.",
                    options.threads));
  }
  return std::make_unique<ReferenceDevice>();
}

}  // namespace

}  // namespace reference_loops

extern const ComputeBackend reference;
const ComputeBackend reference{
    .name = "reference",
    .doc = "plain loops with double accumulation: the specification the others are held against",
    .open = reference_loops::open};

}  // namespace dlscale::backend
