#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::backend {

/// Probes of a device's memory, of its connection to the host, and of what it costs to give it
/// work. Each is prepared once and run many times; each run returns what was read, never a mean
/// over runs. Nothing runs beside a probe but what its specification names.

/// What one run of a probe read. What a probe does not read stays empty.
struct Reading {
  Seconds time;                      ///< of one unit of the probe's work; below, each says which
  std::optional<Seconds> host_time;  ///< the host's, of the same unit
  std::vector<double> cycles;  ///< of single accesses, on the clock of the processor that made
                               ///< them, in order
  std::vector<double> empty_cycles;  ///< the same without the access: what reading the clock costs
};

/// A probe that is ready to run. Used by the thread that made it.
class Probe {
 public:
  virtual ~Probe() = default;
  /// What runs, in a few words.
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// Runs once and returns how many of the elements that it produced or moved (of its company too)
  /// are not what they should be.
  [[nodiscard]] virtual std::size_t wrong_elements() = 0;
  [[nodiscard]] virtual Reading run() = 0;
};

/// A pass over arrays of doubles, as in STREAM   [McCalpin 1995]:
///   copy out = a;  scale out = 3 a;  add out = a + b;  triad out = a + 3 b
enum class ArrayPass { copy, scale, add, triad };

/// `time` is of one pass. Passes over small arrays are repeated within a run, for one would be
/// shorter than the start of a kernel: then it is their mean.
struct ArraySpec {
  ArrayPass pass = ArrayPass::copy;
  std::size_t bytes = 0;  ///< of each array; a positive multiple of 64
};

/// Which caches a pointer chase goes through.
enum class ChasePath {
  all_caches,  ///< as an ordinary load
  shared_l2,   ///< past the cache of the multiprocessor
};

/// One thread follows a random single cycle through the addresses 0, stride, 2 stride, … of a
/// working set, each access waiting for the one before [Mei, Chu 2017: fine-grained P-chase].
/// `time` is of one access without laps; `cycles` is of each of the accesses whose laps were taken.
/// Each run goes on where the one before stopped. The working set was read just before, so that the
/// caches hold of it what they can.
struct ChaseSpec {
  std::size_t bytes = 0;   ///< of the working set: at least two strides
  std::size_t stride = 0;  ///< bytes; a positive multiple of 4
  ChasePath path = ChasePath::all_caches;
};

enum class BankLoad {
  latency,     ///< one warp, each load waiting for the one before
  throughput,  ///< as many warps as a multiprocessor takes in one block, several loads in flight
};

/// Loads from shared memory by warps whose neighbouring threads read words `stride` apart.
/// `cycles` has one value a run, of one load of a warp; `time` is the same by the device's clock.
struct BankSpec {
  BankLoad load = BankLoad::latency;
  int stride = 1;  ///< words of 4 bytes, 1 … 64
};

enum class LaunchWay {
  back_to_back,  ///< one after the other, waiting for the last
  synchronised,  ///< waiting for each
  graph,         ///< as one graph
};

/// Launches of a kernel that does nothing. `time` is of one kernel, from the first to the last of
/// them by the device's events (synchronised: by the host's clock); `host_time` is what the host
/// took to give one, which for a synchronised launch includes waiting for it.
struct LaunchSpec {
  LaunchWay way = LaunchWay::back_to_back;
  int kernels = 1;  ///< ≥ 1
};

enum class Direction { host_to_device, device_to_host, within_device };

enum class HostMemory {
  pageable,    ///< as malloc() gives it
  pinned,      ///< allocated by the driver
  registered,  ///< pageable, then pinned
};

/// What goes on beside a copy, from before its start to after its end: a run in which it was not
/// so is made again.
enum class Company {
  solo,
  bidirectional,  ///< copies of the same size the other way, one after the other
  kernel,         ///< a kernel that keeps every multiprocessor computing, hardly touching memory
};

/// `time` is of one copy by the device's events, `host_time` from the call to the end on the host.
struct CopySpec {
  Direction direction = Direction::host_to_device;
  std::size_t bytes = 0;                   ///< ≥ 1
  HostMemory memory = HostMemory::pinned;  ///< not looked at within_device
  Company company = Company::solo;
};

/// What has to be known to choose working sets.
struct ProbedDevice {
  std::string name;
  std::string bus_id;  ///< PCI address, "00000000:3B:00.0", by which its monitor finds it
  Bytes memory;        ///< free when the probes were opened
  Bytes last_level_cache;
  int multiprocessors = 0;
};

/// Makes probes of one device. One thread uses it and what it made, and destroys it last. What is
/// asked for is refused by Unsupported, with the reason, where the device does not offer it, and by
/// ConfigError where memory does not suffice.
class DeviceProbes {
 public:
  virtual ~DeviceProbes() = default;
  [[nodiscard]] virtual const ProbedDevice& device() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Probe> arrays(const ArraySpec& spec) = 0;
  [[nodiscard]] virtual std::unique_ptr<Probe> chase(const ChaseSpec& spec) = 0;
  [[nodiscard]] virtual std::unique_ptr<Probe> banks(const BankSpec& spec) = 0;
  [[nodiscard]] virtual std::unique_ptr<Probe> launches(const LaunchSpec& spec) = 0;
  [[nodiscard]] virtual std::unique_ptr<Probe> copies(const CopySpec& spec) = 0;
};

}  // namespace dlscale::backend
