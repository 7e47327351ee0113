#include "backend/compute/onednn/elementwise.hpp"

#include <algorithm>
#include <span>

#include "backend/compute/onednn/assembly.hpp"
#include "backend/compute/precision.hpp"

namespace dlscale::backend::onednn_device {
namespace {

std::vector<Desc> inputs_of(const Assembly& assembly) {
  std::vector<Desc> inputs;
  inputs.reserve(assembly.spec().inputs.size());
  for (std::size_t i = 0; i < assembly.spec().inputs.size(); ++i) {
    inputs.push_back(assembly.input(i).desc);
  }
  return inputs;
}

/// The library joins blocked tensors fast only if every input ends on a block. Otherwise a slice of
/// the gradient does not even have a descriptor, and all tensors go through plain.
std::vector<Desc> joinable(const std::vector<Desc>& inputs) {
  const bool aligned = std::all_of(inputs.begin(), inputs.end(), [&](const Desc& input) {
    std::int64_t block = 1;
    const Blocking blocking = blocking_of(input);
    for (std::size_t i = 0; i < blocking.block_sizes.size(); ++i) {
      if (blocking.block_dims[i] == 1) block *= blocking.block_sizes[i];
    }
    return dims_of(input)[1] % block == 0 && layout_name(input) == layout_name(inputs.front());
  });
  if (aligned) return inputs;
  std::vector<Desc> dense;
  dense.reserve(inputs.size());
  for (const Desc& input : inputs) dense.push_back(plain(dims_of(input), type_of(input)));
  return dense;
}

/// Each input's gradient is a slice of the channels of the output's.
void add_slices(Assembly& assembly, const std::vector<Desc>& pieces, const Desc& whole) {
  PassPlan& plan = assembly.plan(Pass::backward_data);
  std::int64_t first_channel = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const MemoryDims dims = dims_of(pieces[i]);
    const Endpoint slice{{Role::output_gradient},
                         whole.submemory_desc(dims, {0, first_channel, 0, 0})};
    plan.add_reorder(slice, assembly.input_gradient(i));
    first_channel += dims[1];
  }
}

}  // namespace

void add(std::size_t n, const float* value, float* into) {
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) into[i] += value[i];
}

void add_bfloat16(std::size_t n, const std::uint16_t* value, std::uint16_t* into) {
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) {
    into[i] = to_bfloat16(from_bfloat16(into[i]) + from_bfloat16(value[i]));
  }
}

namespace {

/// Adds two terms, nearly always the case, in a loop that the compiler can vectorise.
template <class Element, class Widen, class Narrow>
void add_and_rectify(std::size_t n, std::span<std::byte* const> terms, std::byte* into, Widen widen,
                     Narrow narrow) {
  const auto* a = reinterpret_cast<const Element*>(terms[0]);
  const auto* b = reinterpret_cast<const Element*>(terms[1]);
  auto* sum = reinterpret_cast<Element*>(into);
  if (terms.size() == 2) {
#pragma omp parallel for simd
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] = narrow(std::max(widen(a[i]) + widen(b[i]), 0.0F));
    }
    return;
  }
#pragma omp parallel for
  for (std::size_t i = 0; i < n; ++i) {
    float total = 0;
    for (const std::byte* term : terms) total += widen(reinterpret_cast<const Element*>(term)[i]);
    sum[i] = narrow(std::max(total, 0.0F));
  }
}

}  // namespace

void add_and_rectify(std::size_t n, std::span<std::byte* const> terms, std::byte* into) {
  const auto same = [](float value) { return value; };
  add_and_rectify<float>(n, terms, into, same, same);
}

void add_and_rectify_bfloat16(std::size_t n, std::span<std::byte* const> terms, std::byte* into) {
  add_and_rectify<std::uint16_t>(n, terms, into, from_bfloat16, to_bfloat16);
}

void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
            float* momentum, std::uint16_t* low) {
  const SgdStep by = step;  // a copy, which no store through the pointers can change
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradients[i] * by.gradient_scale + by.weight_decay * weights[i];
    momentum[i] = by.momentum * momentum[i] + g;
    weights[i] -= by.rate * momentum[i];
  }
  if (low == nullptr) return;
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) low[i] = to_bfloat16(weights[i]);
}

void assemble_relu(Assembly& assembly) {
  const Desc x = assembly.input().desc;
  const auto forward = relu_forward(assembly.engine(), x);
  assembly.set_output(x);
  assembly.plan(Pass::forward)
      .add(forward,
           {reads(DNNL_ARG_SRC, assembly.input()), writes(DNNL_ARG_DST, assembly.output())});
  add_relu_backward(assembly, assembly.plan(Pass::backward_data), assembly.input_gradient());
}

/// Uses the output in place of the ReLU's input: both are positive at the same elements.
void add_relu_backward(Assembly& assembly, PassPlan& plan, const Endpoint& gradient) {
  const Desc y = assembly.output().desc;
  plan.add(
      relu_backward(assembly.engine(), y, relu_forward(assembly.engine(), y)),
      {reads(DNNL_ARG_SRC, assembly.output()), reads(DNNL_ARG_DIFF_DST, assembly.output_gradient()),
       writes(DNNL_ARG_DIFF_SRC, gradient)});
}

void assemble_concat(Assembly& assembly) {
  const std::vector<Desc> pieces = joinable(inputs_of(assembly));
  const auto forward = concat(assembly.engine(), pieces);
  assembly.set_output(forward.dst_desc());
  std::vector<Argument> arguments{writes(DNNL_ARG_DST, assembly.output())};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    arguments.push_back(reads(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), assembly.input(i)));
  }
  assembly.plan(Pass::forward).add(forward, arguments);
  add_slices(assembly, pieces, forward.dst_desc());
}

/// The library's sum has no ReLU, so this is one pass of our own. Padding is zero and stays zero.
void assemble_sum_relu(Assembly& assembly) {
  const Desc y = assembly.input().desc;
  assembly.set_output(y);
  const std::size_t terms = assembly.spec().inputs.size();
  std::vector<std::pair<Argument, Desc>> arguments{{writes(DNNL_ARG_DST, assembly.output()), y}};
  for (std::size_t i = 0; i < terms; ++i) {
    arguments.emplace_back(reads(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), assembly.input(i)),
                           y);
  }
  const DType dtype = assembly.spec().dtype;
  const std::size_t elements = y.get_size() / element_bytes(dtype);
  assembly.plan(Pass::forward)
      .add_loop(arguments, [=](const PassPlan::Addresses& tensors, const Operands& /*operands*/) {
        const std::span<std::byte* const> inputs = std::span(tensors).subspan(1);
        if (dtype == DType::f32) {
          add_and_rectify(elements, inputs, tensors.front());
        } else {
          add_and_rectify_bfloat16(elements, inputs, tensors.front());
        }
      });
  add_relu_backward(assembly, assembly.plan(Pass::backward_data), assembly.input_gradient());
}

/// Sums in the layout of the first input. Only a ReLU needs a backward operation: see
/// core/network/step.hpp.
void assemble_sum(Assembly& assembly) {
  if (assembly.then() == Then::relu) return assemble_sum_relu(assembly);
  const Desc y = assembly.input().desc;
  const std::vector<Desc> terms(assembly.spec().inputs.size(), y);
  const auto forward = sum(assembly.engine(), terms, y);
  assembly.set_output(y);
  std::vector<Argument> arguments{writes(DNNL_ARG_DST, assembly.output())};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    arguments.push_back(reads(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), assembly.input(i)));
  }
  assembly.plan(Pass::forward).add(forward, arguments);
}

}  // namespace dlscale::backend::onednn_device
