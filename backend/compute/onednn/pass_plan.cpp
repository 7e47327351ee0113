#include "backend/compute/onednn/pass_plan.hpp"

#include <fmt/format.h>

#include "backend/compute/onednn/layout.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::onednn_device {

namespace {

std::byte* address(OperandPlace place, const Operands& operands) {
  switch (place.role) {
    case Role::input:
      return operands.inputs[place.index].data;
    case Role::output:
      return operands.output.data;
    case Role::parameter:
      return operands.parameters[place.index].data;
    case Role::output_gradient:
      return operands.output_gradient.data;
    case Role::input_gradient:
      return operands.input_gradients[place.index].data;
    case Role::parameter_gradient:
      return operands.parameter_gradients[place.index].data;
    case Role::state:
      return operands.state + place.index;
    case Role::scratch:
      return operands.scratch + place.index;
  }
  return nullptr;
}

bool is_activation(Role role) {
  return role == Role::input || role == Role::output || role == Role::output_gradient ||
         role == Role::input_gradient;
}

/// `wanted` with the dimensions of `actual`: {N, C·H·W} becomes {N, C, H, W}.
Desc in_dims_of(const Desc& actual, const Desc& wanted) {
  return dims_of(actual) == dims_of(wanted) ? wanted : wanted.reshape(dims_of(actual));
}

}  // namespace

void PassPlan::add(const dnnl::primitive_desc_base& primitive,
                   const std::vector<Argument>& arguments) {
  Trailing trailing;
  PrimitiveCall call{dnnl::primitive(primitive.get()), {}, primitive.impl_info_str()};
  for (const Argument& argument : arguments) {
    const Desc wanted = primitive.query_md(dnnl::query::exec_arg_md, argument.id);
    call.arguments.push_back({argument.id, bind(argument, wanted, trailing).get()});
  }
  const Desc scratchpad = primitive.query_md(dnnl::query::exec_arg_md, DNNL_ARG_SCRATCHPAD);
  if (scratchpad.get_size() > 0) {
    const dnnl::memory memory = bind(scratchpad, scratch(scratchpad).place);
    call.arguments.push_back({DNNL_ARG_SCRATCHPAD, memory.get()});
  }
  const std::string name = call.name;
  append(std::move(call), name);
  append_trailing(trailing);
}

void PassPlan::add_loop(const std::vector<std::pair<Argument, Desc>>& arguments, Loop loop) {
  Trailing trailing;
  LoopCall call{{}, Addresses(arguments.size()), std::move(loop)};
  for (const auto& [argument, wanted] : arguments) {
    call.arguments.push_back(bind(argument, wanted, trailing));
  }
  append(std::move(call), "loop");
  append_trailing(trailing);
}

void PassPlan::add_reorder(const Endpoint& from, const Endpoint& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc reorder(context_->engine, from.desc, context_->engine,
                                              to.desc, attributes);
  PrimitiveCall call{dnnl::primitive(reorder.get()),
                     {{DNNL_ARG_FROM, bind(from.desc, from.place).get()},
                      {DNNL_ARG_TO, bind(to.desc, to.place).get()}},
                     "reorder"};
  if (reorder.scratchpad_desc().get_size() > 0) {
    const Endpoint scratchpad = scratch(reorder.scratchpad_desc());
    call.arguments.push_back({DNNL_ARG_SCRATCHPAD, bind(scratchpad.desc, scratchpad.place).get()});
  }
  append(std::move(call), "reorder");
}

Endpoint PassPlan::scratch(const Desc& desc) {
  const OperandPlace place{Role::scratch, scratch_bytes_};
  scratch_bytes_ += aligned_bytes(desc);
  return {place, desc};
}

void PassPlan::run(const Operands& operands) {
  for (Binding& binding : bindings_) {
    std::byte* now = address(binding.place, operands);
    if (now == binding.bound) continue;
    EXPECT(now != nullptr);
    binding.memory.set_data_handle(now);
    binding.bound = now;
  }
  for (Step& step : steps_) {
    if (auto* call = std::get_if<PrimitiveCall>(&step)) {
      execute(*call);
    } else {
      execute(std::get<LoopCall>(step), operands);
    }
  }
}

dnnl::memory PassPlan::bind(const Desc& desc, OperandPlace place) {
  bindings_.push_back({dnnl::memory(desc, context_->engine, DNNL_MEMORY_NONE), place});
  return bindings_.back().memory;
}

dnnl::memory PassPlan::bind(const Argument& argument, const Desc& wanted, Trailing& trailing) {
  const Endpoint& kept = argument.endpoint;
  const Desc seen = in_dims_of(kept.desc, wanted);
  if (same_memory(kept.desc, seen)) return bind(wanted, kept.place);
  reorders_activations_ |= is_activation(kept.place.role);
  const Endpoint between = scratch(seen);
  if (argument.access == Access::read) {
    add_reorder(kept, between);
  } else {
    trailing.emplace_back(between, kept);
  }
  return bind(wanted, between.place);
}

void PassPlan::append(Step step, const std::string& name) {
  steps_.push_back(std::move(step));
  implementation_ += (implementation_.empty() ? "" : "+") + name;
}

void PassPlan::append_trailing(const Trailing& trailing) {
  for (const auto& [from, to] : trailing) add_reorder(from, to);
}

void PassPlan::execute(PrimitiveCall& call) const {
  const dnnl_status_t status =
      dnnl_primitive_execute(call.primitive.get(), context_->stream.get(),
                             static_cast<int>(call.arguments.size()), call.arguments.data());
  if (status != dnnl_success) {
    throw LibraryError(fmt::format("dnnl_primitive_execute({}) returned status {}", call.name,
                                   static_cast<int>(status)));
  }
}

void PassPlan::execute(LoopCall& call, const Operands& operands) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    call.addresses[i] = static_cast<std::byte*>(call.arguments[i].get_data_handle());
  }
  call.loop(call.addresses, operands);
}

}  // namespace dlscale::backend::onednn_device
