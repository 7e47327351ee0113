#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/recording.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// A driver accepts about a thousand launches ahead of the device; more could not be held back
/// until all are enqueued.
constexpr int most_held = 512;
constexpr Seconds longest_hold = 20.0_ms;

Seconds host_time(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

class LaunchProbe : public Probe {
 public:
  LaunchProbe(const ProbeContext& context, const LaunchSpec& spec)
      : context_(&context), spec_(spec), counter_(sizeof(std::uint32_t)) {}

  [[nodiscard]] std::size_t wrong_elements() override {
    select_device(context_->device);
    const std::uint32_t none = 0;
    upload(std::as_bytes(std::span(&none, 1)), counter_.get());
    run_counted();
    finish(*context_);
    std::uint32_t counted = 0;
    download(counter_.get(), std::as_writable_bytes(std::span(&counted, 1)));
    const auto wanted = static_cast<std::uint32_t>(spec_.kernels);
    return counted > wanted ? counted - wanted : wanted - counted;
  }

 protected:
  /// The probe's work with kernels that count themselves.
  virtual void run_counted() = 0;

  [[nodiscard]] const ProbeContext& context() const { return *context_; }
  [[nodiscard]] cudaStream_t stream() const { return context_->stream.get(); }
  [[nodiscard]] int kernels() const { return spec_.kernels; }
  [[nodiscard]] std::uint32_t* counter() const {
    return reinterpret_cast<std::uint32_t*>(counter_.get());
  }
  void launch_all(std::uint32_t* counter) const {
    for (int i = 0; i < kernels(); ++i) run_nothing(stream(), counter);
  }

  /// Time by events of what `give` enqueues in about `given` of the host's time.
  template <class Give>
  [[nodiscard]] Seconds held(Seconds given, const Give& give) const {
    hold(stream(), std::min(longest_hold, short_hold + 2 * given));
    record(context_->before, stream());
    give();
    record(context_->after, stream());
    return elapsed(context_->before, context_->after);
  }

 private:
  const ProbeContext* context_;
  LaunchSpec spec_;
  DeviceMemory counter_;
};

class BackToBack final : public LaunchProbe {
 public:
  using LaunchProbe::LaunchProbe;
  [[nodiscard]] std::string implementation() const override {
    return fmt::format("{} launches of an empty kernel", kernels());
  }
  [[nodiscard]] Reading run() override {
    select_device(context().device);
    const Seconds given = host_time([this] { launch_all(nullptr); });
    finish(context());
    Reading reading;
    reading.host_time = given / kernels();
    reading.time = held(given, [this] { launch_all(nullptr); }) / kernels();
    return reading;
  }

 private:
  void run_counted() override { launch_all(counter()); }
};

class Synchronised final : public LaunchProbe {
 public:
  using LaunchProbe::LaunchProbe;
  [[nodiscard]] std::string implementation() const override {
    return fmt::format("{} launches of an empty kernel, cudaStreamSynchronize after each",
                       kernels());
  }
  [[nodiscard]] Reading run() override {
    select_device(context().device);
    Reading reading;
    reading.time = host_time([this] { launch_and_wait(nullptr); }) / kernels();
    reading.host_time = reading.time;
    return reading;
  }

 private:
  void run_counted() override { launch_and_wait(counter()); }
  void launch_and_wait(std::uint32_t* counter) const {
    for (int i = 0; i < kernels(); ++i) {
      run_nothing(stream(), counter);
      finish(context());
    }
  }
};

class AsGraph final : public LaunchProbe {
 public:
  AsGraph(const ProbeContext& context, const LaunchSpec& spec) : LaunchProbe(context, spec) {
    run_ = make_run(nullptr);
    check(cudaGraphUpload(run_.get(), stream()), "cudaGraphUpload", what());
    finish(context);
  }
  [[nodiscard]] std::string implementation() const override {
    return fmt::format("a graph of {} empty kernels in a row", kernels());
  }
  [[nodiscard]] Reading run() override {
    select_device(context().device);
    Reading reading;
    const Seconds time = held(given_, [this] { given_ = host_time([this] { launch(run_); }); });
    reading.time = time / kernels();
    reading.host_time = given_ / kernels();
    return reading;
  }

 private:
  [[nodiscard]] std::string what() const { return implementation(); }
  void run_counted() override {
    const GraphExecutable counted = make_run(counter());
    launch(counted);
    finish(context());
  }
  void launch(const GraphExecutable& run) const {
    check(cudaGraphLaunch(run.get(), stream()), "cudaGraphLaunch", [this] { return what(); });
  }
  [[nodiscard]] GraphExecutable make_run(std::uint32_t* counter) const {
    return instantiate(capture(stream(), [&] { launch_all(counter); }));
  }

  GraphExecutable run_;
  Seconds given_ = 200.0_us;
};

}  // namespace

std::unique_ptr<Probe> make_launch_probe(const ProbeContext& context, const LaunchSpec& spec) {
  EXPECT(spec.kernels >= 1);
  if (spec.method == LaunchMethod::graph) return std::make_unique<AsGraph>(context, spec);
  if (spec.method == LaunchMethod::synchronised)
    return std::make_unique<Synchronised>(context, spec);
  if (spec.kernels > most_held) {
    throw Unsupported(
        fmt::format("{} launches at once (a driver takes about a thousand ahead, so more cannot be "
                    "started together). Choose {} at most, or a graph.",
                    spec.kernels, most_held));
  }
  return std::make_unique<BackToBack>(context, spec);
}

}  // namespace dlscale::backend::cuda
