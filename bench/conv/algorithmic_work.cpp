#include "bench/conv/algorithmic_work.hpp"

#include "core/convolution/work.hpp"

namespace dlscale::bench {
namespace {

constexpr double counted_bytes = 4;  ///< per element in algorithm_work()

/// Whether all data has the precision of the tensors. Transformed planes and sums may differ.
bool is_of_one_precision(lowering::Method method) {
  return method == lowering::Method::direct || method == lowering::Method::im2col;
}

}  // namespace

std::optional<Work> algorithmic_work(std::string_view backend, std::string_view implementation,
                                     const MeasuredKernel& kernel) {
  const auto convolution = parse_convolution_key(kernel.key, kernel.batch);
  const auto kept = lowering::with_kept_filters(implementation);
  const auto method = lowering::method_of(kept.value_or(implementation));
  if (!convolution || !method) return std::nullopt;
  const auto element = static_cast<double>(element_bytes(kernel.dtype));
  if (element != counted_bytes && !is_of_one_precision(*method)) return std::nullopt;
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
  return Work{work.flops(), (element / counted_bytes) * work.bytes()};
}

}  // namespace dlscale::bench
