#include "backend/compute/cuda/cudnn/transform_algorithms.hpp"

#include <array>
#include <string>
#include <utility>

#include "backend/compute/cuda/cudnn/convolution_extras.hpp"
#include "backend/compute/cuda/transforms/library_fourier.hpp"
#include "backend/compute/cuda/transforms/spectral_shape.hpp"
#include "backend/compute/cuda/transforms/winograd_shape.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

using image_tiling::Tiling;

template <int m>
double operations_of_winograd(const ConvolutionProblem& problem, Pass pass) {
  return winograd_operations(winograd_shape(problem, pass, m), m);
}

double operations_of_fft(const ConvolutionProblem& problem, Pass pass) {
  return spectral_operations(problem, whole_shape(problem, pass));
}

double operations_of_fft_tiled(const ConvolutionProblem& problem, Pass pass) {
  return spectral_operations(problem, tiled_shape(problem, pass));
}

template <int m>
std::unique_ptr<const Transforms> make_winograd_transforms(const Context& context,
                                                           const ConvolutionProblem& problem,
                                                           Pass pass) {
  return winograd_on_device<m>(context, problem, pass);
}

template <Tiling tiling>
std::unique_ptr<const Transforms> make_fft_transforms(const Context& context,
                                                      const ConvolutionProblem& problem,
                                                      Pass pass) {
  return spectral_on_device(
      context, problem, pass, tiling,
      [&context](const FourierProblem& fourier) { return make_library_fourier(context, fourier); });
}

constexpr std::array all_algorithms{
    TransformAlgorithm{"winograd_f2", operations_of_winograd<2>, make_winograd_transforms<2>},
    TransformAlgorithm{"winograd_f4", operations_of_winograd<4>, make_winograd_transforms<4>},
    TransformAlgorithm{"fft", operations_of_fft, make_fft_transforms<Tiling::whole>},
    TransformAlgorithm{"fft_tiled", operations_of_fft_tiled,
                       make_fft_transforms<Tiling::overlap_save>}};

class TransformPass final : public ConvolutionPass {
 public:
  TransformPass(const Context& context, const ConvolutionProblem& problem, Pass pass,
                const TransformAlgorithm& algorithm, std::size_t most_scratch)
      : extras_(context, problem, {.pass = pass}),
        convolution_(problem, pass, algorithm.make(context, problem, pass),
                     [&context](const BatchedProblem& products) {
                       return make_library_product(context, products);
                     },
                     {.scratch = most_scratch}) {}

  [[nodiscard]] std::string name() const override {
    return "own " + convolution_.name() + extras_.name();
  }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return extras_.scratch_bytes() + convolution_.scratch_bytes();
  }
  void run(const ConvolutionMemory& memory, std::byte* scratch) override {
    convolution_.run(memory, scratch + extras_.scratch_bytes());
    extras_.run(memory, scratch);
  }

 private:
  ConvolutionExtras extras_;
  TransformedConvolution convolution_;
};

}  // namespace

std::span<const TransformAlgorithm> transform_algorithms() {
  return all_algorithms;
}

std::unique_ptr<ConvolutionPass> make_transform_pass(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass,
                                                     const TransformAlgorithm& algorithm,
                                                     std::size_t most_scratch) {
  return std::make_unique<TransformPass>(context, problem, pass, algorithm, most_scratch);
}

bool is_candidate(const TransformAlgorithm& algorithm, const ConvolutionProblem& problem,
                  Pass pass) {
  const auto& [filters, channels, height, width] = problem.weights;
  const auto outputs =
      static_cast<double>(problem.output[0] * problem.output[2] * problem.output[3]);
  const double defined = 2 * outputs * static_cast<double>(filters * channels * height * width);
  try {
    const double saving = defined / algorithm.operations(problem, pass);
    return saving > (problem.dtype == DType::f32 ? 1 : 4);
  } catch (const Unsupported&) {
    return false;
  }
}

}  // namespace dlscale::backend::cuda::transforms
