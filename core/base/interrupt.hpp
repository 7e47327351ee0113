#pragma once
#include <signal.h>

#include <thread>

namespace dlscale {

/// SIGINT, SIGTERM and, unless it is ignored, SIGHUP set a flag. Long loops check it between
/// samples and throw Interrupted, so that results reach the disk. A second signal ends the process
/// at once.
void install_signal_handlers();
/// Acts as if `signal` had arrived; for code that takes it off the queue of blocked signals.
void remember_signal(int signal);
/// Acts as if a signal to another process of the same job had arrived here.
void follow_signal(int signal);
/// The signal that arrived here or at a process that is followed, or 0.
int pending_signal();
/// The signal that this process itself received, or 0.
int own_signal();
/// Throws Interrupted if a signal arrived.
void throw_if_interrupted();

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
