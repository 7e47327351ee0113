#include "tests/bench/conv/fake_device.hpp"

#include <cmath>
#include <utility>

#include "backend/compute/host_device.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using namespace backend;

constexpr std::size_t exbibyte = std::size_t{1} << 60;

class FakeOperation : public Operation {
 public:
  FakeOperation(std::unique_ptr<Operation> real, Fault fault)
      : real_(std::move(real)), fault_(fault) {}
  [[nodiscard]] const TensorDesc& output() const override { return real_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return real_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return real_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return fault_ == Fault::vast ? exbibyte : real_->scratch_bytes();
  }
  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    return fault_ == Fault::vast ? exbibyte : real_->pass_scratch_bytes(pass);
  }
  [[nodiscard]] bool has(Pass pass) const override { return real_->has(pass); }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    return "fake+" + real_->implementation(pass);
  }
  void run(Pass pass, const Operands& operands) override {
    if (fault_ == Fault::broken) throw LibraryError("the fake is broken");
    real_->run(pass, operands);
    if (fault_ == Fault::output && pass == Pass::forward) operands.output.as<float>()[0] += 0.5F;
    if (fault_ == Fault::gradient && pass == Pass::backward_data) {
      operands.input_gradients[0].as<float>()[0] = HUGE_VALF;
    }
    if (fault_ == Fault::nan) spoil(pass, operands);
    if (fault_ == Fault::filter && pass == Pass::backward_filter) {
      operands.parameter_gradients[0].as<float>()[0] += 100.0F;
    }
  }

 private:
  static void spoil(Pass pass, const Operands& operands) {
    const Tensor& written = pass == Pass::forward         ? operands.output
                            : pass == Pass::backward_data ? operands.input_gradients[0]
                                                          : operands.parameter_gradients[0];
    written.as<float>()[0] = std::nanf("");
  }

  std::unique_ptr<Operation> real_;
  Fault fault_;
};

class FakeProduct : public MatrixProduct {
 public:
  FakeProduct(std::unique_ptr<MatrixProduct> real, Fault fault)
      : real_(std::move(real)), fault_(fault) {}
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return fault_ == Fault::vast ? exbibyte : real_->scratch_bytes();
  }
  [[nodiscard]] std::string implementation() const override {
    return "fake+" + real_->implementation();
  }
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    if (fault_ == Fault::broken) throw LibraryError("the fake is broken");
    real_->run(a, b, c, scratch);
    if (fault_ == Fault::output) reinterpret_cast<float*>(c)[0] += 0.5F;
    if (fault_ == Fault::nan) reinterpret_cast<float*>(c)[0] = std::nanf("");
  }

 private:
  std::unique_ptr<MatrixProduct> real_;
  Fault fault_;
};

class FakeDevice : public HostDevice {
 public:
  explicit FakeDevice(Fault fault) : real_(open_device("reference", 1)), fault_(fault) {}
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] TensorDesc plain(std::array<std::int64_t, 4> dims, DType dtype) const override {
    return real_->plain(dims, dtype);
  }
  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    if (fault_ == Fault::unsupported && std::holds_alternative<Relu>(spec.layer.kind)) {
      throw Unsupported("no ReLU today");
    }
    return std::make_unique<FakeOperation>(real_->create(spec), fault_);
  }
  [[nodiscard]] std::vector<Algorithm> algorithms(const OperationSpec& spec, Pass pass) override {
    const LayerKind& kind = spec.layer.kind;
    const bool knows = std::holds_alternative<Convolution>(kind) ||
                       (std::holds_alternative<Relu>(kind) && pass != Pass::backward_filter);
    if (!knows) return {};
    const auto by = [this, spec](Fault fault) {
      return std::make_unique<FakeOperation>(real_->create(spec), fault);
    };
    const Fault off = pass == Pass::forward         ? Fault::output
                      : pass == Pass::backward_data ? Fault::gradient
                                                    : Fault::filter;
    return {{"good", [by] { return by(Fault::none); }},
            {"off", [by, off] { return by(off); }},
            {"fails", [by] { return by(Fault::broken); }},
            {"gone", []() -> std::unique_ptr<Operation> { throw Unsupported("no longer here"); }}};
  }
  [[nodiscard]] std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                              DType dtype) override {
    if (fault_ == Fault::unsupported) throw Unsupported("no products today");
    return std::make_unique<FakeProduct>(real_->matrix_product(shape, dtype), fault_);
  }
  void copy(const Tensor& from, const Tensor& to) override { real_->copy(from, to); }
  void accumulate(const Tensor& value, const Tensor& into) override {
    real_->accumulate(value, into);
    if (fault_ == Fault::accumulate) into.as<float>()[0] += 0.5F;
    if (fault_ == Fault::nan) into.as<float>()[0] = std::nanf("");
  }
  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    if (fault_ == Fault::broken) throw LibraryError("the fake is broken");
    real_->update(step, n, weights, gradients, momentum, low);
    if (fault_ == Fault::update) weights[n - 1] += 1e-3F;
    if (fault_ == Fault::nan) weights[n - 1] = std::nanf("");
  }

 private:
  std::unique_ptr<ComputeDevice> real_;
  Fault fault_;
};

}  // namespace

std::unique_ptr<backend::ComputeDevice> make_fake_device(Fault fault) {
  return std::make_unique<FakeDevice>(fault);
}

}  // namespace dlscale::bench
