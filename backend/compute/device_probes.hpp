#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::backend {

/// Probes of a device's memory, of its connection to the host, and of the cost of giving it work.
/// Each is prepared once and run many times; each run returns its readings, never a mean over runs.
/// Only what the specification names runs concurrently with a probe.

/// Readings of one run of a probe. Members that the probe does not measure stay empty.
struct Reading {
  Seconds time;                      ///< per unit of work, as each specification defines it
  std::optional<Seconds> host_time;  ///< time on the host per unit
  std::vector<double> cycles;  ///< per access, on the clock of the processor that made it, in order
  std::vector<double> empty_cycles;  ///< the same without the access: the cost of reading the clock
};

/// A probe that is ready to run. Only the thread that made it may use it.
class Probe {
 public:
  virtual ~Probe() = default;
  /// Short description of the implementation.
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// Runs once and returns the number of wrong elements among those that it, or its concurrent
  /// work, produced or moved.
  [[nodiscard]] virtual std::size_t wrong_elements() = 0;
  [[nodiscard]] virtual Reading run() = 0;
};

/// A pass over arrays of doubles, as in STREAM   [McCalpin 1995]:
///   copy out = a;  scale out = 3 a;  add out = a + b;  triad out = a + 3 b
enum class ArrayPass { copy, scale, add, triad };

/// `time` is of one pass. A pass over a small array would be shorter than the launch of a kernel,
/// so a run repeats it and reads the mean.
struct ArraySpec {
  ArrayPass pass = ArrayPass::copy;
  std::size_t bytes = 0;  ///< per array; a positive multiple of 64
};

/// Caches that a pointer chase goes through.
enum class ChasePath {
  all_caches,  ///< as an ordinary load
  shared_l2,   ///< bypasses the cache of the multiprocessor
};

/// One thread follows a random single cycle through the addresses 0, stride, 2 stride, … of a
/// working set. Each access waits for the previous one [Mei, Chu 2017: fine-grained P-chase].
/// `time` is of one access without laps; `cycles` is of each access with a lap. Each run continues
/// where the previous one stopped. The working set was read just before, so that the caches hold as
/// much of it as they can.
struct ChaseSpec {
  std::size_t bytes = 0;   ///< working set, at least two strides
  std::size_t stride = 0;  ///< bytes; a positive multiple of 4
  ChasePath path = ChasePath::all_caches;
};

enum class BankLoad {
  latency,     ///< one warp, each load waits for the previous one
  throughput,  ///< as many warps as a multiprocessor takes in one block, several loads in flight
};

/// Loads from shared memory by warps whose neighbouring threads read words `stride` apart. `cycles`
/// has one value a run, of one load of a warp; `time` is the same by the device's clock.
struct BankSpec {
  BankLoad load = BankLoad::latency;
  int stride = 1;  ///< words of 4 bytes, 1 … 64
};

enum class LaunchMethod {
  back_to_back,  ///< one after the other, waiting for the last
  synchronised,  ///< waiting for each
  graph,         ///< as one graph
};

/// Launches of a kernel that does nothing. `time` is per kernel, from the first to the last, by the
/// device's events (synchronised: by the host's clock). `host_time` is the host's time to launch
/// one; for a synchronised launch it includes the wait.
struct LaunchSpec {
  LaunchMethod method = LaunchMethod::back_to_back;
  int kernels = 1;  ///< ≥ 1
};

enum class Direction { host_to_device, device_to_host, within_device };

enum class HostMemory {
  pageable,    ///< as returned by malloc()
  pinned,      ///< allocated by the driver
  registered,  ///< pageable, pinned afterwards
};

/// Concurrent work beside a copy, from before its start to after its end. A run in which it ended
/// too early is repeated.
enum class ConcurrentWork {
  none,
  copy,  ///< copies of the same size in the other direction, one after the other
  /// A kernel that keeps every multiprocessor computing, with hardly any memory access.
  kernel,
};

/// `time` is of one copy by the device's events, `host_time` from the call to the end on the host.
struct CopySpec {
  Direction direction = Direction::host_to_device;
  std::size_t bytes = 0;                   ///< ≥ 1
  HostMemory memory = HostMemory::pinned;  ///< ignored for within_device
  ConcurrentWork concurrent = ConcurrentWork::none;
};

/// Facts about a device that the choice of working sets needs.
struct ProbedDevice {
  std::string name;
  std::string bus_id;  ///< PCI address, "00000000:3B:00.0", by which its monitor finds it
  Bytes memory;        ///< free when the probes were opened
  Bytes last_level_cache;
  int multiprocessors = 0;
};

/// Makes probes of one device. One thread uses it and its probes, and destroys it last. Throws
/// Unsupported, with the reason, where the device does not offer a probe, and ConfigError where
/// memory does not suffice.
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
