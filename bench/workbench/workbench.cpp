#include "bench/workbench/workbench.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/near_words.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {

namespace {

Bytes last_level_cache_of(const backend::ComputeDevice& device) {
  const auto own = device.own_memory();
  return own ? own->last_level_cache : backend::last_level_cache();
}

}  // namespace

const backend::ComputeBackend& find_backend(std::string_view name) {
  const auto backends = family<backend::ComputeBackend>();
  if (const backend::ComputeBackend* found = backends.find(name)) return *found;
  for (const Absent& absent : backends.absent) {
    if (absent.name != name) continue;
    throw Unsupported(
        fmt::format("backend {} is not in this program ({}). Build with it, or choose another "
                    "with {}.",
                    name, absent.reason, option_name("backend")));
  }
  std::vector<std::string> names;
  for (const backend::ComputeBackend* member : backends.members) names.emplace_back(member->name);
  std::vector<std::string> absent;
  for (const Absent& one : backends.absent) absent.emplace_back(one.name);
  const std::string near = did_you_mean(same_words(name, absent));
  throw ConfigError(fmt::format("{} is \"{}\" (no such compute backend). {}{}",
                                option_name("backend"), name, near, suggestion(name, names)));
}

std::unique_ptr<backend::ComputeDevice> open_device(std::string_view backend, int threads,
                                                    int gpu) {
  return find_backend(backend).open({.threads = threads, .place = gpu});
}

Workbench::Workbench(std::unique_ptr<backend::ComputeDevice> device,
                     std::unique_ptr<backend::ComputeDevice> reference, int threads)
    : device_(std::move(device)),
      reference_(std::move(reference)),
      threads_(threads),
      witness_(witness_of(*device_)),
      last_level_(last_level_cache_of(*device_)) {}

Workbench::Workbench(std::unique_ptr<backend::ComputeDevice> device,
                     std::unique_ptr<backend::ComputeDevice> reference, int threads,
                     DeviceWitness witness)
    : Workbench(std::move(device), std::move(reference), threads) {
  witness_ = std::move(witness);
}

std::map<std::string, std::string> Workbench::axes(
    const backend::Communicator& communicator) const {
  return {{"backend", std::string(device_->name())},
          {"threads", std::to_string(threads_)},
          {"ranks", std::to_string(communicator.size())},
          {"ranks_on_node", std::to_string(communicator.node_size())}};
}

const train::ProgramPlan& Workbench::plan(const Network& network, int batch, DType dtype) {
  const std::tuple key(fingerprint(network), batch, dtype);
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    found = plans_.emplace(key, train::make_plan(network, *device_, batch, dtype)).first;
  }
  return found->second;
}

Measurement Workbench::sample(const Sampler& sampler, CacheState state,
                              std::span<const std::span<std::byte>> produced,
                              const std::function<void()>& work) {
  if (device_->own_memory() && sampler.extra_work().runs > 1) {
    throw ConfigError(fmt::format(
        "{} is for backends that compute on the host: of others the time to hand work over is kept "
        "beside each run's own. Leave it out, or choose another backend.",
        option_name(extra_work_axis)));
  }
  std::vector<double> given;
  const auto measure = [&](std::size_t& runs) {
    Measurement taken = take_samples(sampler, state, produced, work, given);
    runs = given.size();
    return taken;
  };
  std::size_t runs = 0;
  Measurement measurement =
      witness_ ? with_conditions(*witness_, sampler.communicator(), measure) : measure(runs);
  if (device_->own_memory()) add_given(measurement, sampler.communicator(), given);
  const std::vector<std::string> doubts = cache_warnings(state);
  measurement.warnings.insert(measurement.warnings.end(), doubts.begin(), doubts.end());
  if (!device_->own_memory()) add_compute_warnings(measurement, threads_, sampler.communicator());
  return measurement;
}

Measurement Workbench::take_samples(const Sampler& sampler, CacheState state,
                                    std::span<const std::span<std::byte>> produced,
                                    const std::function<void()>& work, std::vector<double>& given) {
  return sampler.sample({.set_up = [&] { set_caches(state, produced); },
                         .barrier = backend::WaitPolicy::spin,
                         .once =
                             [&] {
                               const backend::Timed timed = device_->time(work);
                               given.push_back(timed.host.si());
                               return timed.device;
                             }});
}

/// Adds the series "give" for the samples that were kept, which are the last.
void Workbench::add_given(Measurement& measurement, backend::Communicator& communicator,
                          std::span<const double> given) {
  const auto times = measurement.series.find("time");
  if (times == measurement.series.end()) return;
  const std::size_t count = times->second.samples.front().size();
  EXPECT(given.size() >= count);
  const auto mine = given.last(count);
  std::vector<double> all(count * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
  std::vector<std::vector<double>> by_rank;
  for (auto from = all.begin(); from != all.end(); from += static_cast<std::ptrdiff_t>(count)) {
    by_rank.emplace_back(from, from + static_cast<std::ptrdiff_t>(count));
  }
  measurement.series["give"] = make_series("s", by_rank);
}

std::vector<std::string> Workbench::cache_warnings(CacheState state) const {
  if (state == CacheState::hot) return {};
  std::vector<std::string> doubts = unknown_size_warnings(last_level_);
  const bool emptied = state != CacheState::rotating;
  if (emptied && threads_ > 1 && !device_->own_memory()) {
    doubts.push_back(fmt::format(
        "one thread emptied the caches, but {} compute: what the others keep in the private caches "
        "of their cores may still be there. For times from cold caches measure with one thread.",
        threads_));
  }
  return doubts;
}

void Workbench::set_caches(CacheState state, std::span<const std::span<std::byte>> produced) {
  if (state == CacheState::hot || state == CacheState::rotating) return;
  empty_caches();
  if (state == CacheState::producer) {
    for (const std::span<std::byte> tensor : produced) {
      device_->touch(tensor.data(), tensor.size());
    }
  }
  device_->synchronize();
}

void Workbench::empty_caches() {
  if (!device_->own_memory()) {
    if (!flusher_) flusher_.emplace(last_level_);
    EXPECT(flusher_->flush() == flusher_->bytes());
    return;
  }
  const auto bytes = static_cast<std::size_t>(flush_size(last_level_).si());
  if (!flushed_) flushed_ = device_->allocate(bytes);
  device_->clear(flushed_.get(), bytes);
}

}  // namespace dlscale::bench
