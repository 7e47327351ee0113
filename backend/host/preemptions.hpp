#pragma once

namespace dlscale::backend {

/// How often the system has taken the calling thread's core away for something else, so far: what
/// was timed meanwhile is no time of the thread's own. What a hypervisor takes does not show.
long preemptions();  // NOLINT(google-runtime-int): as the system counts

}  // namespace dlscale::backend
