#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/probes/array_pass.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class ArrayProbe final : public Probe {
 public:
  ArrayProbe(const ProbeContext& context, const ArraySpec& spec)
      : context_(&context),
        spec_(spec),
        passes_(passes_for(spec.bytes)),
        a_(spec.bytes),
        b_(reads_two(spec.pass) ? spec.bytes : 0),
        out_(spec.bytes) {
    fill(a_, first_input);
    if (reads_two(spec.pass)) fill(b_, second_input);
  }

  [[nodiscard]] std::string implementation() const override {
    const std::string kernel = "own kernel, reads past L1";
    return passes_ == 1 ? kernel : fmt::format("{}, {} passes at once", kernel, passes_);
  }

  [[nodiscard]] std::size_t wrong_elements() override {
    select_device(context_->device);
    constexpr int not_a_number = 0xFF;
    check(cudaMemsetAsync(out_.get(), not_a_number, spec_.bytes, context_->stream.get()),
          "cudaMemsetAsync", "the output of a pass over arrays");
    give(1);
    finish(*context_);
    std::vector<double> out(count());
    download(out_.get(), std::as_writable_bytes(std::span(out)));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      wrong += out[i] == expected_output(spec_.pass, i) ? 0 : 1;
    }
    return wrong;
  }

  [[nodiscard]] Reading run() override {
    select_device(context_->device);
    hold(context_->stream.get(), short_hold);
    record(context_->before, context_->stream.get());
    give(passes_);
    record(context_->after, context_->stream.get());
    Reading reading;
    reading.time = elapsed(context_->before, context_->after) / passes_;
    return reading;
  }

 private:
  [[nodiscard]] std::size_t count() const { return spec_.bytes / sizeof(double); }
  [[nodiscard]] static double* doubles(const DeviceMemory& memory) {
    return reinterpret_cast<double*>(memory.get());
  }

  void fill(const DeviceMemory& memory, double (*value)(std::size_t)) const {
    std::vector<double> values(count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
    upload(std::as_bytes(std::span(values)), memory.get());
  }

  void give(int passes) const {
    run_passes(context_->stream.get(), spec_, passes, context_->multiprocessors, doubles(a_),
               doubles(b_), doubles(out_));
  }

  const ProbeContext* context_;
  ArraySpec spec_;
  int passes_;
  DeviceMemory a_;
  DeviceMemory b_;
  DeviceMemory out_;
};

}  // namespace

std::unique_ptr<Probe> make_array_probe(const ProbeContext& context, const ArraySpec& spec) {
  EXPECT(spec.bytes >= 64 && spec.bytes % 64 == 0);
  return std::make_unique<ArrayProbe>(context, spec);
}

}  // namespace dlscale::backend::cuda
