#include "backend/compute/onednn/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::backend::onednn_device {

namespace {

std::size_t index_of(Pass pass) {
  EXPECT(pass != Pass::accumulate);
  return static_cast<std::size_t>(pass);
}

}  // namespace

/// An operation whose passes are plans.
class PlannedOperation final : public Operation {
 public:
  explicit PlannedOperation(Assembly assembly) : parts_(std::move(assembly)) {}

  [[nodiscard]] const TensorDesc& output() const override { return parts_.output_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return parts_.parameters_;
  }
  [[nodiscard]] std::size_t state_bytes() const override { return parts_.state_bytes_; }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    std::size_t most = 0;
    for (const auto& plan : parts_.plans_) {
      if (plan) most = std::max(most, plan->scratch_bytes());
    }
    return most;
  }

  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    EXPECT(has(pass));
    return parts_.plans_[index_of(pass)]->scratch_bytes();
  }

  [[nodiscard]] bool has(Pass pass) const override {
    return pass != Pass::accumulate && parts_.plans_[index_of(pass)].has_value();
  }

  [[nodiscard]] std::string implementation(Pass pass) const override {
    EXPECT(has(pass));
    return parts_.plans_[index_of(pass)]->implementation();
  }

  [[nodiscard]] bool reorders_activations(Pass pass) const override {
    EXPECT(has(pass));
    return parts_.plans_[index_of(pass)]->reorders_activations();
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    const ThreadScope scope(parts_.context_->threads);
    try {
      parts_.plans_[index_of(pass)]->run(operands);
    } catch (const LibraryError& error) {
      throw LibraryError(fmt::format("{} of {}: oneDNN: {}", pass_name(pass),
                                     describe(parts_.spec_), error.what()));
    } catch (const dnnl::error& error) {
      throw LibraryError(fmt::format("{} of {}: oneDNN: {} (status {})", pass_name(pass),
                                     describe(parts_.spec_), error.what(),
                                     static_cast<int>(error.status)));
    }
  }

 private:
  Assembly parts_;
};

Assembly::Assembly(const Context& context, const OperationSpec& spec)
    : context_(&context), spec_(spec) {}

void Assembly::set_output(const Desc& desc) {
  output_ = tensor_desc(output_dims(spec_), desc);
}

void Assembly::add_parameter(ParameterRole role, Dims dims, const Desc& value) {
  parameters_.push_back(
      {role, tensor_desc(dims, value), tensor_desc(dims, with_type(value, DataType::f32))});
}

Endpoint Assembly::add_state(const Desc& desc) {
  const OperandPlace place{Role::state, state_bytes_};
  state_bytes_ += aligned_bytes(desc);
  return {place, desc};
}

PassPlan& Assembly::plan(Pass pass) {
  return plans_[index_of(pass)].emplace(*context_);
}

Endpoint Assembly::input(std::size_t i) const {
  return {{Role::input, i}, desc_of(spec_.inputs[i])};
}

Endpoint Assembly::input_gradient(std::size_t i) const {
  return {{Role::input_gradient, i}, desc_of(spec_.inputs[i])};
}

Endpoint Assembly::output() const {
  return {{Role::output}, desc_of(output_)};
}

Endpoint Assembly::output_gradient() const {
  return {{Role::output_gradient}, desc_of(output_)};
}

Endpoint Assembly::parameter(std::size_t i) const {
  return {{Role::parameter, i}, desc_of(parameters_[i].value)};
}

Endpoint Assembly::parameter_gradient(std::size_t i) const {
  return {{Role::parameter_gradient, i}, desc_of(parameters_[i].gradient)};
}

std::unique_ptr<Operation> Assembly::finish() && {
  return std::make_unique<PlannedOperation>(std::move(*this));
}

bool is_fallback(const dnnl::primitive_desc_base& primitive) {
  const std::string_view implementation = primitive.impl_info_str();
  return implementation.find("ref") != std::string_view::npos;
}

}  // namespace dlscale::backend::onednn_device
