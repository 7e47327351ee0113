#include "bench/conv/algorithmic_work.hpp"

#include "core/lowering/work.hpp"

namespace dlscale::bench {

std::optional<Work> algorithmic_work(std::string_view backend, std::string_view implementation,
                                     const MeasuredKernel& kernel) {
  if (kernel.dtype != DType::f32 && kernel.dtype != DType::tf32) return std::nullopt;
  const auto convolution = parse_convolution_key(kernel.key, kernel.batch);
  const auto kept = lowering::with_kept_filters(implementation);
  const auto method = lowering::method_of(kept.value_or(implementation));
  if (!convolution || !method) return std::nullopt;
  const lowering::Blocking blocking = lowering::blocking_of(backend);
  if (*method != lowering::Method::direct &&
      !lowering::refusal(*method, convolution->shape, blocking).empty()) {
    return std::nullopt;
  }
  const lowering::AlgorithmWork work =
      lowering::algorithm_work(*method, convolution->shape, kernel.pass,
                               {.blocking = blocking,
                                .threads = kernel.threads,
                                .vector_floats = lowering::vector_floats(implementation),
                                .bias = convolution->bias,
                                .relu = convolution->relu,
                                .kept_filters = kept.has_value()});
  return Work{work.flops(), work.bytes()};
}

}  // namespace dlscale::bench
