#include "model/roofline/kernels/kernel_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

using convolution::Stage;
using convolution::StageKind;

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

struct TensorBytes {
  Bytes read, written;
  [[nodiscard]] Bytes all() const { return read + written; }
};

/// Share of the input's pixels that at least one filter covers.
double met_share(const ConvolutionShape& shape) {
  const auto along = [&](std::int64_t filter, std::int64_t outputs, std::int64_t inputs) {
    const std::int64_t met = (outputs - 1) * std::min(filter, shape.stride) + filter;
    return std::min(1.0, static_cast<double>(met) / static_cast<double>(inputs));
  };
  return along(shape.kernel_h, shape.out_height, shape.height) *
         along(shape.kernel_w, shape.out_width, shape.width);
}

/// Only input pixels that some filter covers count, unless the input is the result, whose other
/// pixels are set to zero.
TensorBytes touched_bytes(const ConvolutionShape& shape, Pass pass) {
  const Bytes input(element_bytes * shape.input_elements());
  const Bytes weights(element_bytes * shape.weight_elements());
  const Bytes output(element_bytes * shape.output_elements());
  switch (pass) {
    case Pass::forward:
      return {met_share(shape) * input + weights, output};
    case Pass::backward_data:
      return {weights + output, input};
    case Pass::backward_filter:
      return {met_share(shape) * input + output, weights};
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass is one of a convolution");
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

/// The loops of a direct convolution: channels in vectors of 16, rows of the inner kernel, and
/// filters.
struct DirectLoops {
  double inputs, outputs;                ///< channels of a group, padded to vectors
  double input_vectors, output_vectors;  ///< number of such vectors, partial ones counted
  double groups, filter_rows, filter_taps;
  double output_rows, output_columns;  ///< N P of all images, and Q
};

/// A few input channels, as in a first layer, are not padded where they are only read. Libraries
/// have kernels that read them so, but none that write them so.
DirectLoops direct_loops(const ConvolutionShape& shape, Pass pass) {
  constexpr double vector = 16;
  const auto of_group = [&](std::int64_t channels) {
    return static_cast<double>(channels) / static_cast<double>(shape.groups);
  };
  const double channels = of_group(shape.channels);
  const double input_vectors = std::ceil(channels / vector);
  const double output_vectors = std::ceil(of_group(shape.outputs) / vector);
  const bool as_they_are = channels < vector && pass != Pass::backward_data;
  const auto height = static_cast<double>(shape.kernel_h);
  return {.inputs = as_they_are ? channels : vector * input_vectors,
          .outputs = vector * output_vectors,
          .input_vectors = input_vectors,
          .output_vectors = output_vectors,
          .groups = static_cast<double>(shape.groups),
          .filter_rows = height,
          .filter_taps = height * static_cast<double>(shape.kernel_w),
          .output_rows = static_cast<double>(shape.images * shape.out_height),
          .output_columns = static_cast<double>(shape.out_width)};
}

/// Results of a pass, counted as often as they are loaded and stored: once a vector of the channels
/// that are summed. Gradients of filters count once a row of outputs, those of 1 × 1 filters once
/// an image.
double direct_results(const DirectLoops& loops, const ConvolutionShape& shape, Pass pass) {
  const bool pointwise = loops.filter_taps == 1;
  const double pixels = loops.output_rows * loops.output_columns;
  switch (pass) {
    case Pass::forward:
      return loops.groups * loops.outputs * pixels * loops.input_vectors;
    case Pass::backward_data: {
      const auto all = static_cast<double>(shape.images * shape.height * shape.width);
      return loops.groups * loops.inputs * (pointwise ? pixels : all) * loops.output_vectors;
    }
    case Pass::backward_filter: {
      const double times = pointwise ? static_cast<double>(shape.images) : loops.output_rows;
      return loops.groups * loops.inputs * loops.outputs * loops.filter_taps * times;
    }
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass is one of a convolution");
}

void add_direct(const ConvolutionShape& shape, Pass pass, const DirectTerms& terms,
                Amounts& compute) {
  const DirectLoops loops = direct_loops(shape, pass);
  at(compute, terms.flops) = 2 * loops.groups * loops.inputs * loops.outputs * loops.filter_taps *
                             loops.output_rows * loops.output_columns;
  at(compute, terms.result) = direct_results(loops, shape, pass);
  at(compute, terms.call) = loops.groups * loops.output_rows * loops.output_vectors *
                            loops.input_vectors * loops.filter_rows;
}

/// The amount of Term::spilled.
double spilled_bytes(const KernelCase& what, Bytes last) {
  Bytes scratch;
  for (const Stage& stage : what.work.stages) scratch += stage.scratch;
  const double over = std::pow(what.work.workspace / last, 4);
  return scratch.si() * (over / (over + 1));
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
      add_direct(shape, what.way.pass, direct_terms(shape), terms.compute);
      at(terms.memory, direct_terms(shape).memory) = touched_bytes(shape, what.way.pass).all().si();
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
                                                           "read_s_per_byte",
                                                           "written_s_per_byte",
                                                           "workspace_s_per_byte",
                                                           "spilled_s_per_byte",
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

KernelTerms terms_of(const KernelCase& what, const Caches& caches) {
  KernelTerms terms;
  at(terms.always, Term::start) = 1;
  const TensorBytes tensors = touched_bytes(what.shape, what.way.pass);
  at(terms.always, Term::read) = tensors.read.si();
  at(terms.always, Term::written) = tensors.written.si();
  at(terms.always, Term::workspace) = what.work.workspace.si();
  at(terms.always, Term::spilled) = spilled_bytes(what, caches.last);
  terms.stages.reserve(what.work.stages.size());
  for (const Stage& stage : what.work.stages) {
    terms.stages.push_back(stage_terms(stage, what, caches.near));
    if (stage.kind == StageKind::direct) {
      at(terms.always, Term::pointwise_strided) = strided_bytes(what.shape, what.way.pass).si();
    }
  }
  return terms;
}

TermSet occurring(const KernelTerms& terms) {
  TermSet set;
  const auto add = [&set](const Amounts& amounts) {
    for (std::size_t i = 0; i < term_count; ++i) {
      if (amounts.at(i) > 0) set.set(i);
    }
  };
  add(terms.always);
  for (const StageTerms& stage : terms.stages) {
    add(stage.compute);
    add(stage.memory);
  }
  return set;
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
