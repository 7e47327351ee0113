#pragma once

namespace dlscale::backend {

/// Cycles a second at which the core that runs the calling thread computes right now, from the time
/// that a chain of additions takes of which each waits for the one before: one cycle each on every
/// processor of today (that assumption is the method's) [McVoy, Staelin 1996: lmbench, mhz]. The
/// counter that programs can read (rdtsc, cntvct) goes on at a constant rate instead, whatever the
/// core does. The fastest of three chains of some microseconds, since whatever interrupts one only
/// makes it slower.
double core_clock_hertz();

}  // namespace dlscale::backend
