#include "backend/compute/cuda/transforms/library_fourier.hpp"

#include <cufft.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

void check_fourier(cufftResult code, std::string_view call, std::string_view what) {
  switch (code) {
    case CUFFT_SUCCESS:
      return;
    case CUFFT_ALLOC_FAILED:
      return check(cudaErrorMemoryAllocation, call, what);
    case CUFFT_INVALID_SIZE:
    case CUFFT_NOT_IMPLEMENTED:
    case CUFFT_NOT_SUPPORTED:
      throw Unsupported(fmt::format("{}: {} does not offer this: cufftResult {}.", what, call,
                                    static_cast<int>(code)));
    default:  // versions of cuFFT differ in the others
      throw LibraryError(
          fmt::format("{}: {} failed: cufftResult {}.", what, call, static_cast<int>(code)));
  }
}

/// A plan of cuFFT. Reuses the stream and the scratch it has passed to the library as long as they
/// stay the same.
class Plan {
 public:
  Plan(const FourierProblem& problem, cufftType type) : what_(problem.what) {
    EXPECT(problem.planes >= 1 && problem.planes <= std::numeric_limits<int>::max());
    check_fourier(cufftCreate(&handle_), "cufftCreate", what_);
    try {
      make(problem, type);
    } catch (...) {
      destroy();
      throw;
    }
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { destroy(); }

  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }

  [[nodiscard]] cufftHandle ready(cudaStream_t stream, std::byte* scratch) {
    const std::pair wanted{stream, scratch};
    if (told_ == wanted) return handle_;
    check_fourier(cufftSetStream(handle_, stream), "cufftSetStream", what_);
    if (scratch_bytes_ > 0) {
      check_fourier(cufftSetWorkArea(handle_, scratch), "cufftSetWorkArea", what_);
    }
    told_ = wanted;
    return handle_;
  }

 private:
  void make(const FourierProblem& problem, cufftType type) {
    std::array<int, 2> extents{static_cast<int>(problem.L), static_cast<int>(problem.L)};
    check_fourier(cufftSetAutoAllocation(handle_, 0), "cufftSetAutoAllocation", what_);
    check_fourier(cufftMakePlanMany(handle_, 2, extents.data(), nullptr, 1, 0, nullptr, 1, 0, type,
                                    static_cast<int>(problem.planes), &scratch_bytes_),
                  "cufftMakePlanMany", what_);
  }
  void destroy() const noexcept { static_cast<void>(cufftDestroy(handle_)); }

  std::string what_;
  cufftHandle handle_{};
  std::size_t scratch_bytes_ = 0;
  std::optional<std::pair<cudaStream_t, std::byte*>> told_;
};

class LibraryFourier final : public FourierTransform {
 public:
  LibraryFourier(const Context& context, const FourierProblem& problem)
      : context_(&context),
        what_(problem.what),
        forward_(problem, CUFFT_R2C),
        inverse_(problem, CUFFT_C2R) {}

  [[nodiscard]] std::string name() const override { return "cufft"; }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return std::max(forward_.scratch_bytes(), inverse_.scratch_bytes());
  }

  void forward(const float* planes, Complex* spectra, std::byte* scratch) override {
    // Runs out of place, so that the planes are only read.
    check_fourier(
        cufftExecR2C(forward_.ready(context_->stream, scratch), const_cast<float*>(planes),
                     reinterpret_cast<cufftComplex*>(spectra)),
        "cufftExecR2C", what_);
  }

  void inverse(Complex* spectra, float* planes, std::byte* scratch) override {
    check_fourier(cufftExecC2R(inverse_.ready(context_->stream, scratch),
                               reinterpret_cast<cufftComplex*>(spectra), planes),
                  "cufftExecC2R", what_);
  }

 private:
  const Context* context_;
  std::string what_;
  Plan forward_;
  Plan inverse_;
};

Transposed transposed(Form form, Number number) {
  if (form == Form::plain) return Transposed::no;
  return form == Form::adjoint && number == Number::complex ? Transposed::conjugated
                                                            : Transposed::yes;
}

ProductProblem problem_of(const BatchedProblem& problem) {
  const DType dtype = problem.factors == Factors::f32 ? DType::f32 : DType::tf32;
  const auto matrix = [&](const Matrices& of) {
    return Matrix{of.rows, of.columns, dtype, problem.count, of.leading, of.distance};
  };
  return {.what = problem.what,
          .left = matrix(problem.left),
          .left_transposed = transposed(problem.left.form, problem.number),
          .right = matrix(problem.right),
          .right_transposed = transposed(problem.right.form, problem.number),
          .result = matrix(problem.result),
          .number = problem.number,
          .alignment = problem.alignment};
}

class LibraryProduct final : public BatchedProduct {
 public:
  LibraryProduct(const Context& context, const BatchedProblem& problem)
      : product_(context, problem_of(problem)), algorithm_(product_.algorithm()) {}

  [[nodiscard]] std::string name() const override { return cuda::describe(algorithm_); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return algorithm_.workspace_bytes; }

  void run(const float* left, const float* right, float* result, Sum sum,
           std::byte* scratch) const override {
    product_.run(algorithm_, {left, right, result}, scratch, sum);
  }

 private:
  Product product_;
  ProductAlgorithm algorithm_;
};

}  // namespace

std::unique_ptr<FourierTransform> make_library_fourier(const Context& context,
                                                       const FourierProblem& problem) {
  return std::make_unique<LibraryFourier>(context, problem);
}

std::string fourier_library_version() {
  int version = 0;  // 12.0.1 is 12001
  check_fourier(cufftGetVersion(&version), "cufftGetVersion", "cuFFT");
  return fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100);
}

std::unique_ptr<BatchedProduct> make_library_product(const Context& context,
                                                     const BatchedProblem& problem) {
  return std::make_unique<LibraryProduct>(context, problem);
}

}  // namespace dlscale::backend::cuda::transforms
