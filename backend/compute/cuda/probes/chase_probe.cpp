#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "backend/compute/cuda/probes/cycle.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::uint64_t cycle_seed = 1;

class ChaseProbe final : public Probe {
 public:
  ChaseProbe(const ProbeContext& context, const ChaseSpec& spec)
      : context_(&context),
        spec_(spec),
        image_(chase_image(spec, cycle_seed)),
        words_(spec.bytes),
        result_(sizeof(ChaseResult)) {
    prepare_chase();
    upload(std::as_bytes(std::span(image_)), words_.get());
    const ChaseResult start{};  // at word 0
    upload(std::as_bytes(std::span(&start, 1)), result_.get());
  }

  [[nodiscard]] std::string implementation() const override {
    return fmt::format(
        "{}, {} laps a run, then {} accesses without",
        spec_.path == ChasePath::all_caches ? "ld.global.ca" : "ld.global.cg (past L1)", chase_laps,
        chase_steps);
  }

  [[nodiscard]] std::size_t wrong_elements() override {
    const std::uint32_t start = position_;
    const ChaseResult result = go();
    const std::size_t wrong = wrong_visits(image_, start, result.visited);
    const std::uint32_t end = follow(image_, start, chase_laps + chase_steps);
    return wrong + (result.position == end ? 0 : 1);
  }

  [[nodiscard]] Reading run() override {
    const ChaseResult result = go();
    Reading reading;
    reading.time = Seconds(1e-9 * static_cast<double>(result.nanoseconds) / chase_steps);
    reading.cycles.assign(std::begin(result.cycles), std::end(result.cycles));
    reading.empty_cycles.assign(std::begin(result.empty_cycles), std::end(result.empty_cycles));
    return reading;
  }

 private:
  ChaseResult go() {
    select_device(context_->device);
    run_chase(context_->stream.get(), spec_, context_->multiprocessors,
              reinterpret_cast<const std::uint32_t*>(words_.get()),
              reinterpret_cast<ChaseResult*>(result_.get()));
    finish(*context_);
    ChaseResult result{};
    download(result_.get(), std::as_writable_bytes(std::span(&result, 1)));
    position_ = result.position;
    return result;
  }

  const ProbeContext* context_;
  ChaseSpec spec_;
  std::vector<std::uint32_t> image_;
  DeviceMemory words_;
  DeviceMemory result_;
  std::uint32_t position_ = 0;
};

}  // namespace

std::unique_ptr<Probe> make_chase_probe(const ProbeContext& context, const ChaseSpec& spec) {
  return std::make_unique<ChaseProbe>(context, spec);
}

}  // namespace dlscale::backend::cuda
