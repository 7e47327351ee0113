#include "model/roofline/kernel_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlscale::model {
namespace {

using lowering::Stage;
using lowering::StageKind;

double& at(Amounts& amounts, Term term) {
  return amounts.at(static_cast<std::size_t>(term));
}

double far_bytes(const Stage& stage, Bytes near) {
  return stage.bytes.si() * (stage.working_set / (stage.working_set + near));
}

void add_products(const Stage& stage, Amounts& compute) {
  for (const auto& [m, n, k, count] : stage.products) {
    at(compute, Term::multiply) += 2 * m * n * k * count;
    at(compute, Term::product_result) += m * n * count;
    at(compute, Term::product_left) += m * k * count;
    at(compute, Term::product_right) += k * n * count;
    at(compute, Term::product_call) += count;
  }
}

constexpr double element_bytes = 4;  ///< f32

/// Bytes of input, weights and output; of the input only pixels that some filter meets, unless it
/// is the result and the others are set to zero.
Bytes touched_bytes(const ConvolutionShape& shape, Pass pass) {
  const auto share = [&](std::int64_t filter, std::int64_t outputs, std::int64_t inputs) {
    const std::int64_t met = (outputs - 1) * std::min(filter, shape.stride) + filter;
    return std::min(1.0, static_cast<double>(met) / static_cast<double>(inputs));
  };
  const double met = pass == Pass::backward_data
                         ? 1
                         : share(shape.kernel_h, shape.out_height, shape.height) *
                               share(shape.kernel_w, shape.out_width, shape.width);
  return Bytes(element_bytes *
               (met * shape.input_elements() + shape.weight_elements() + shape.output_elements()));
}

/// See Term::pointwise_strided.
Bytes strided_bytes(const ConvolutionShape& shape, Pass pass) {
  if (shape.kernel_h * shape.kernel_w != 1 || shape.stride == 1) return {};
  const auto pixels = static_cast<double>(shape.out_height * shape.out_width);
  const double apart = static_cast<double>(shape.images * shape.channels) * pixels;
  return Bytes(element_bytes *
               (apart + (pass == Pass::backward_data ? shape.input_elements() : 0)));
}

/// The terms of a direct convolution.
struct DirectTerms {
  Term flops, result, call, memory;
};

DirectTerms direct_terms(const ConvolutionShape& shape) {
  if (shape.kernel_h * shape.kernel_w == 1) {
    return {Term::pointwise_flops, Term::pointwise_result, Term::pointwise_call,
            Term::pointwise_memory};
  }
  return {Term::direct_flops, Term::direct_result, Term::direct_call, Term::direct_memory};
}

/// Channels in vectors of 16. Few input channels, as of a first layer, are not padded.
void add_direct(const ConvolutionShape& shape, const DirectTerms& terms, Amounts& compute) {
  constexpr double vector = 16;
  const auto groups = static_cast<double>(shape.groups);
  const double channels = static_cast<double>(shape.channels) / groups;
  const double outputs = static_cast<double>(shape.outputs) / groups;
  const auto vectors = [](double count) { return std::ceil(count / vector); };
  const double padded_in = channels < vector ? channels : vector * vectors(channels);
  const double padded_out = vector * vectors(outputs);
  const auto rows = static_cast<double>(shape.images * shape.out_height);
  const double pixels = rows * static_cast<double>(shape.out_width);
  const auto height = static_cast<double>(shape.kernel_h);
  const double filter = height * static_cast<double>(shape.kernel_w);
  at(compute, terms.flops) = 2 * groups * padded_in * padded_out * pixels * filter;
  at(compute, terms.result) = groups * padded_out * pixels * vectors(channels);
  at(compute, terms.call) = groups * rows * vectors(outputs) * vectors(channels) * height;
}

StageTerms stage_terms(const Stage& stage, const KernelCase& what, Bytes near) {
  const ConvolutionShape& shape = what.shape;
  StageTerms terms;
  switch (stage.kind) {
    case StageKind::product:
      add_products(stage, terms.compute);
      at(terms.memory, Term::product_memory) = far_bytes(stage, near);
      break;
    case StageKind::direct:
      add_direct(shape, direct_terms(shape), terms.compute);
      at(terms.memory, direct_terms(shape).memory) = touched_bytes(shape, what.way.pass).si();
      break;
    case StageKind::transform:
      at(terms.compute, Term::transform_flops) = stage.vector_flops.si();
      at(terms.compute, Term::transform_runs) = stage.runs;
      at(terms.memory, Term::transform_bytes) = stage.bytes.si();
      at(terms.memory, Term::transform_memory) = far_bytes(stage, near);
      break;
    case StageKind::copy:
      at(terms.memory, Term::copy_bytes) = stage.bytes.si();
      at(terms.memory, Term::copy_memory) = far_bytes(stage, near);
      at(terms.memory, Term::copy_runs) = stage.runs;
      at(terms.memory, Term::copy_gathered) = stage.gathered;
      break;
  }
  return terms;
}

}  // namespace

std::string_view term_name(Term term) {
  constexpr std::array<std::string_view, term_count> names{"start_s",
                                                           "tensors_s_per_byte",
                                                           "workspace_s_per_byte",
                                                           "multiply_s_per_flop",
                                                           "product_result_s_per_element",
                                                           "product_left_s_per_element",
                                                           "product_right_s_per_element",
                                                           "product_call_s",
                                                           "product_memory_s_per_byte",
                                                           "transform_s_per_flop",
                                                           "transform_run_s",
                                                           "transform_s_per_byte",
                                                           "transform_memory_s_per_byte",
                                                           "copy_s_per_byte",
                                                           "copy_memory_s_per_byte",
                                                           "copy_run_s",
                                                           "copy_gathered_s_per_element",
                                                           "direct_s_per_flop",
                                                           "direct_result_s_per_element",
                                                           "direct_call_s",
                                                           "direct_memory_s_per_byte",
                                                           "pointwise_s_per_flop",
                                                           "pointwise_result_s_per_element",
                                                           "pointwise_call_s",
                                                           "pointwise_memory_s_per_byte",
                                                           "pointwise_strided_s_per_byte"};
  return names.at(static_cast<std::size_t>(term));
}

KernelTerms terms_of(const KernelCase& what, Bytes near) {
  KernelTerms terms;
  at(terms.always, Term::start) = 1;
  at(terms.always, Term::tensors) = touched_bytes(what.shape, what.way.pass).si();
  at(terms.always, Term::workspace) = what.work.workspace.si();
  terms.stages.reserve(what.work.stages.size());
  for (const Stage& stage : what.work.stages) {
    terms.stages.push_back(stage_terms(stage, what, near));
    if (stage.kind == StageKind::direct) {
      at(terms.always, Term::pointwise_strided) = strided_bytes(what.shape, what.way.pass).si();
    }
  }
  return terms;
}

double dot(const Amounts& a, const Amounts& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Seconds time_of(const KernelTerms& terms, const Amounts& parameters) {
  double time = dot(terms.always, parameters);
  for (const StageTerms& stage : terms.stages) {
    time += std::max(dot(stage.compute, parameters), dot(stage.memory, parameters));
  }
  return Seconds(time);
}

}  // namespace dlscale::model
