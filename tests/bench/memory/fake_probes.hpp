#pragma once
#include <memory>

#include "backend/compute/device_probes.hpp"

namespace dlscale::bench {

/// What FakeProbes do wrong.
enum class ProbeFault {
  none,
  wrong_elements,  ///< three elements of every probe
  no_graphs,       ///< launches as a graph are not offered
  broken,          ///< every run throws
};

/// Probes of a device that is not there: a run reads what follows from its specification. Memory:
/// 256 KiB of first cache (30 cycles), 4 MiB of last (200 cycles), 1 GiB in all (600 cycles); an
/// empty lap has 10 cycles. A copy has 10 GB/s after 5 µs, half of that beside copies the other
/// way. A launch has 2 µs on the device and 3 µs on the host. Every sample of a probe is a
/// nanosecond longer than the one before.
std::unique_ptr<backend::DeviceProbes> make_fake_probes(ProbeFault fault = ProbeFault::none);

}  // namespace dlscale::bench
