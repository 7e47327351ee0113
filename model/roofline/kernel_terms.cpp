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

StageTerms stage_terms(const Stage& stage, const ConvolutionShape& shape, Bytes near) {
  StageTerms terms;
  switch (stage.kind) {
    case StageKind::product:
      add_products(stage, terms.compute);
      at(terms.memory, Term::product_memory) = far_bytes(stage, near);
      break;
    case StageKind::direct:
      add_direct(shape, direct_terms(shape), terms.compute);
      at(terms.memory, direct_terms(shape).memory) = stage.bytes.si();
      break;
    case StageKind::transform:
      at(terms.compute, Term::transform_flops) = stage.flops.si();
      at(terms.memory, Term::transform_bytes) = stage.bytes.si();
      at(terms.memory, Term::transform_memory) = far_bytes(stage, near);
      break;
    case StageKind::copy:
      at(terms.memory, Term::copy_bytes) = stage.bytes.si();
      at(terms.memory, Term::copy_memory) = far_bytes(stage, near);
      break;
  }
  return terms;
}

}  // namespace

std::string_view term_name(Term term) {
  constexpr std::array<std::string_view, term_count> names{"start_s",
                                                           "tensors_s_per_byte",
                                                           "multiply_s_per_flop",
                                                           "product_result_s_per_element",
                                                           "product_left_s_per_element",
                                                           "product_right_s_per_element",
                                                           "product_call_s",
                                                           "product_memory_s_per_byte",
                                                           "transform_s_per_flop",
                                                           "transform_s_per_byte",
                                                           "transform_memory_s_per_byte",
                                                           "copy_s_per_byte",
                                                           "copy_memory_s_per_byte",
                                                           "direct_s_per_flop",
                                                           "direct_result_s_per_element",
                                                           "direct_call_s",
                                                           "direct_memory_s_per_byte",
                                                           "pointwise_s_per_flop",
                                                           "pointwise_result_s_per_element",
                                                           "pointwise_call_s",
                                                           "pointwise_memory_s_per_byte"};
  return names.at(static_cast<std::size_t>(term));
}

KernelTerms terms_of(const KernelCase& what, Bytes near) {
  KernelTerms terms;
  at(terms.always, Term::start) = 1;
  at(terms.always, Term::tensors) = least_bytes(what.shape).si();
  terms.stages.reserve(what.work.stages.size());
  for (const Stage& stage : what.work.stages) {
    terms.stages.push_back(stage_terms(stage, what.shape, near));
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
