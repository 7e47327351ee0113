#pragma once

namespace dlscale::backend {

/// How often the system has taken the core from the calling thread so far. A time measured across a
/// preemption includes other work. Preemption by a hypervisor does not show.
long preemptions();  // NOLINT(google-runtime-int): as the system counts

}  // namespace dlscale::backend
