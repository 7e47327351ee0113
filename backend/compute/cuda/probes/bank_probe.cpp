#include <fmt/format.h>

#include "backend/compute/cuda/probes/banks.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class BankProbe final : public Probe {
 public:
  BankProbe(const ProbeContext& context, const BankSpec& spec)
      : context_(&context), spec_(spec), result_(sizeof(BankResult)) {}

  [[nodiscard]] std::string implementation() const override {
    return fmt::format("ld.shared, {} warp(s), {} load(s) in flight each, {} way(s)", warps(),
                       chains(), conflict_ways(static_cast<std::uint32_t>(spec_.stride)));
  }

  [[nodiscard]] std::size_t wrong_elements() override {
    const BankResult result = go();
    const BankRing ring{static_cast<std::uint32_t>(spec_.stride)};
    std::size_t wrong = 0;
    for (std::uint32_t thread = 0; thread < warps() * warp_lanes; ++thread) {
      for (std::uint32_t chain = 0; chain < chains(); ++chain) {
        const std::uint32_t word = ring.word(thread % warp_lanes, chain + bank_loads);
        wrong += result.final_words[thread * chains() + chain] == word ? 0 : 1;
      }
    }
    return wrong;
  }

  [[nodiscard]] Reading run() override {
    const BankResult result = go();
    const double loads = double{bank_loads} * warps() * chains();
    Reading reading;
    reading.time = Seconds(1e-9 * static_cast<double>(result.nanoseconds) / loads);
    reading.cycles = {static_cast<double>(result.cycles) / loads};
    return reading;
  }

 private:
  [[nodiscard]] bool many() const { return spec_.load == BankLoad::throughput; }
  [[nodiscard]] std::uint32_t warps() const { return many() ? bank_warps : 1; }
  [[nodiscard]] std::uint32_t chains() const { return many() ? bank_chains : 1; }

  BankResult go() {
    select_device(context_->device);
    run_banks(context_->stream.get(), spec_, reinterpret_cast<BankResult*>(result_.get()));
    finish(*context_);
    BankResult result{};
    download(result_.get(), std::as_writable_bytes(std::span(&result, 1)));
    return result;
  }

  const ProbeContext* context_;
  BankSpec spec_;
  DeviceMemory result_;
};

}  // namespace

std::unique_ptr<Probe> make_bank_probe(const ProbeContext& context, const BankSpec& spec) {
  EXPECT(spec.stride >= 1 && spec.stride <= static_cast<int>(most_bank_stride));
  return std::make_unique<BankProbe>(context, spec);
}

}  // namespace dlscale::backend::cuda
