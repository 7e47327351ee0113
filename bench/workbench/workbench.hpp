#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/check/reference_answers.hpp"
#include "backend/compute/compute.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/cache.hpp"
#include "bench/quiet/device_watch.hpp"
#include "bench/workbench/values.hpp"
#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::bench {

/// Conditions under which a kernel is measured.
struct Conditions {
  CacheState cache = CacheState::cold;
  ValueKind values = ValueKind::normal;
};

/// The values of --cache for kernels that can rotate through sets of operands.
inline constexpr std::array kernel_cache_states{CacheState::cold, CacheState::producer,
                                                CacheState::hot, CacheState::rotating};

/// A backend of this build. Throws ConfigError for an unknown name, and Unsupported with the reason
/// for one that was not built.
const backend::ComputeBackend& find_backend(std::string_view name);

/// Opens a backend of this build. Throws ConfigError for an unknown name, and Unsupported with the
/// reason for one that was not built or has no device here. `gpu` is Communicator::gpu().
std::unique_ptr<backend::ComputeDevice> open_device(std::string_view backend, int threads,
                                                    int gpu = 0);

/// Shared parts of all cells on one compute device: the device, its reference, operand values,
/// control of the caches, and compiled networks.
class Workbench {
 public:
  Workbench(std::unique_ptr<backend::ComputeDevice> device,
            std::unique_ptr<backend::ComputeDevice> reference, int threads);

  /// Uses `witness` instead of NVML.
  Workbench(std::unique_ptr<backend::ComputeDevice> device,
            std::unique_ptr<backend::ComputeDevice> reference, int threads, DeviceWitness witness);

  [[nodiscard]] backend::ComputeDevice& device() { return *device_; }
  [[nodiscard]] const backend::ComputeDevice& device() const { return *device_; }
  [[nodiscard]] backend::ComputeDevice& reference() { return *reference_; }
  /// Cached results of the reference, which several workbenches may share.
  [[nodiscard]] const std::shared_ptr<backend::ReferenceAnswers>& answers() { return answers_; }
  void share_answers(std::shared_ptr<backend::ReferenceAnswers> answers) {
    answers_ = std::move(answers);
  }
  [[nodiscard]] const OperandValues& values() const { return values_; }
  [[nodiscard]] int threads() const { return threads_; }
  /// Number of operand sets for CacheState::rotating if a run moves `each` bytes.
  [[nodiscard]] int rotation_sets(Bytes each) const {
    return bench::rotation_sets(last_level_, each);
  }
  /// The axes backend, threads, ranks and ranks_on_node of every measurement here.
  [[nodiscard]] std::map<std::string, std::string> axes(
      const backend::Communicator& communicator) const;

  /// A network compiled with training's layouts at first use. Throws Unsupported naming the layer.
  const train::ProgramPlan& plan(const Network& network, int batch, DType dtype);

  /// Samples `work`, which is local to a rank, may throw and may be asynchronous:
  /// ComputeDevice::time() times it. Before each sample the device's caches are set to `state` and
  /// the ranks pass a barrier. For CacheState::rotating, `work` itself rotates. `produced` is the
  /// output of the previous step.
  ///
  /// An asynchronous device adds the series "give", the host's time to enqueue the work. A device
  /// with its own memory adds its conditions during the measurement (bench/quiet/device_watch.hpp).
  [[nodiscard]] Measurement sample(const Sampler& sampler, CacheState state,
                                   std::span<const std::span<std::byte>> produced,
                                   const std::function<void()>& work);

 private:
  /// Takes the samples. `given` is the host's time of each sample, warm-up first.
  [[nodiscard]] Measurement take_samples(const Sampler& sampler, CacheState state,
                                         std::span<const std::span<std::byte>> produced,
                                         const std::function<void()>& work,
                                         std::vector<double>& given);
  static void add_given(Measurement& measurement, backend::Communicator& communicator,
                        std::span<const double> given);
  void set_caches(CacheState state, std::span<const std::span<std::byte>> produced);
  void empty_caches();
  /// Warnings about the control of the caches on this machine.
  [[nodiscard]] std::vector<std::string> cache_warnings(CacheState state) const;

  std::unique_ptr<backend::ComputeDevice> device_;
  std::unique_ptr<backend::ComputeDevice> reference_;
  std::shared_ptr<backend::ReferenceAnswers> answers_ =
      std::make_shared<backend::ReferenceAnswers>();
  int threads_;
  std::optional<DeviceWitness> witness_;  ///< set if the device has its own memory
  OperandValues values_;
  Bytes last_level_;
  std::optional<CacheFlusher> flusher_;  ///< for the host; made at first use
  backend::Buffer flushed_;  ///< memory of a device that has its own; allocated at first use
  /// Compiled networks by fingerprint() (several may share a name), batch and precision.
  std::map<std::tuple<std::string, int, DType>, train::ProgramPlan> plans_;
};

}  // namespace dlscale::bench
