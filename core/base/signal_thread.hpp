#pragma once
#include <signal.h>

#include <thread>

namespace dlscale {

/// Handles SIGINT, SIGTERM and SIGHUP on its own thread during its lifetime; the constructing
/// thread and all threads that it starts later block them. A handler must not run on a thread that
/// computes. Kernels that oneDNN generates at run time (seen in dnnl_sgemm of 2.6) keep values more
/// than 128 bytes below the stack pointer. The system spares only 128 bytes, and a handler's frame
/// overwrites the rest. Construct it before libraries start threads. A signal to one thread, for
/// example by raise(), still waits for that thread.
class SignalThread {
 public:
  SignalThread();
  /// Restores the constructing thread's mask; threads started meanwhile keep theirs.
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::jthread thread_;
  sigset_t before_{};
};

}  // namespace dlscale
