#pragma once
#include <signal.h>

#include <thread>

namespace dlscale {

/// While it lives, SIGINT, SIGTERM and SIGHUP are handled on a thread of its own: the thread that
/// made it blocks them, and so do all that it starts later. A handler must not run on a thread that
/// computes: kernels that oneDNN makes as it runs (seen in dnnl_sgemm of 2.6) keep values below the
/// stack pointer, further down than the 128 bytes that the system spares, and a handler's frame
/// overwrites them. Make it before libraries start threads. A signal sent to one thread, as
/// by raise(), still waits for that one.
class SignalThread {
 public:
  SignalThread();
  /// The maker's mask is as it was; threads that it started meanwhile keep theirs.
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::jthread thread_;
  sigset_t before_{};
};

}  // namespace dlscale
