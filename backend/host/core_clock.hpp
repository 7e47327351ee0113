#pragma once

namespace dlscale::backend {

/// Current clock in Hz of the core that runs the calling thread. Measured from a chain of dependent
/// additions; the method assumes one cycle for each, which holds on every processor of today
/// [McVoy, Staelin 1996: lmbench, mhz]. The counter that programs can read (rdtsc, cntvct) has a
/// constant rate instead, independent of the core's clock. The fastest of three chains of some
/// microseconds counts, since interruptions only make a chain slower.
double core_clock_hertz();

/// How often the system has taken the core from the calling thread so far. A time measured across a
/// preemption includes other work. Preemption by a hypervisor does not show.
long preemptions();  // NOLINT(google-runtime-int): as the system counts

}  // namespace dlscale::backend
