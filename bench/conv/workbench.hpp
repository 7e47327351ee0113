#pragma once
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
#include "bench/conv/values.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/cache.hpp"
#include "bench/quiet/device_watch.hpp"
#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::bench {

/// A backend of this build. Throws ConfigError for an unknown name, Unsupported with the reason for
/// one that was not built.
const backend::ComputeBackend& find_backend(std::string_view name);

/// Opens a backend of this build. Throws ConfigError for an unknown name, Unsupported with the
/// reason for one that was not built or has no device here. `gpu`: Communicator::gpu().
std::unique_ptr<backend::ComputeDevice> open_device(std::string_view backend, int threads,
                                                    int gpu = 0);

/// What the cells on one compute device share: the device, the reference it is checked against,
/// data, the means to set the caches, and networks compiled for it.
class Workbench {
 public:
  Workbench(std::unique_ptr<backend::ComputeDevice> device,
            std::unique_ptr<backend::ComputeDevice> reference, int threads);

  /// With another witness than NVML.
  Workbench(std::unique_ptr<backend::ComputeDevice> device,
            std::unique_ptr<backend::ComputeDevice> reference, int threads, DeviceWitness witness);

  [[nodiscard]] backend::ComputeDevice& device() { return *device_; }
  [[nodiscard]] const backend::ComputeDevice& device() const { return *device_; }
  [[nodiscard]] backend::ComputeDevice& reference() { return *reference_; }
  /// What the reference has answered; other workbenches may share it.
  [[nodiscard]] const std::shared_ptr<backend::ReferenceAnswers>& answers() { return answers_; }
  void share_answers(std::shared_ptr<backend::ReferenceAnswers> answers) {
    answers_ = std::move(answers);
  }
  [[nodiscard]] const OperandValues& values() const { return values_; }
  [[nodiscard]] int threads() const { return threads_; }
  /// How many sets of operands, of which a run moves `each`, CacheState::rotating needs here.
  [[nodiscard]] int rotation_sets(Bytes each) const {
    return bench::rotation_sets(last_level_, each);
  }
  /// backend, threads, ranks and ranks_on_node of every measurement here.
  [[nodiscard]] std::map<std::string, std::string> axes(
      const backend::Communicator& communicator) const;

  /// A network with the layouts that training uses, compiled at first use. Throws Unsupported
  /// naming the layer.
  const train::ProgramPlan& plan(const Network& network, int batch, DType dtype);

  /// Samples of `work`, which is local to a rank, may throw and need not wait for the device: it is
  /// timed by ComputeDevice::time(). Before each the caches of the device are brought into `state`
  /// (of CacheState::rotating `work` takes care itself) and the ranks meet. `produced`: what the
  /// step before has just written. On a device that runs beside the host there is a second series,
  /// "give": the host's time to give it the work; and of one with memory of its own the conditions,
  /// read meanwhile (bench/quiet/device_watch.hpp).
  [[nodiscard]] Measurement sample(const Sampler& sampler, CacheState state,
                                   std::span<const std::span<std::byte>> produced,
                                   const std::function<void()>& work);

 private:
  /// `given`: what each sample, the warm-up's first, took the host.
  [[nodiscard]] Measurement take_samples(const Sampler& sampler, CacheState state,
                                         std::span<const std::span<std::byte>> produced,
                                         const std::function<void()>& work,
                                         std::vector<double>& given);
  static void add_given(Measurement& measurement, backend::Communicator& communicator,
                        std::span<const double> given);
  void set_caches(CacheState state, std::span<const std::span<std::byte>> produced);
  void empty_caches();
  /// What is questionable about setting the caches on this machine.
  [[nodiscard]] std::vector<std::string> cache_warnings(CacheState state) const;

  std::unique_ptr<backend::ComputeDevice> device_;
  std::unique_ptr<backend::ComputeDevice> reference_;
  std::shared_ptr<backend::ReferenceAnswers> answers_ =
      std::make_shared<backend::ReferenceAnswers>();
  int threads_;
  std::optional<DeviceWitness> witness_;  ///< if the device has memory of its own
  OperandValues values_;
  Bytes last_level_;
  std::optional<CacheFlusher> flusher_;  ///< of the host, made at first use
  backend::Buffer flushed_;              ///< memory of the device, if it has its own; likewise
  /// By fingerprint(), since several networks may go by one name, batch and precision.
  std::map<std::tuple<std::string, int, DType>, train::ProgramPlan> plans_;
};

}  // namespace dlscale::bench
