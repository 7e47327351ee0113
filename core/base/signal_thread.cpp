#include "core/base/signal_thread.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

/// Waits until stop is requested; the handlers only interrupt the wait.
void wait_for_signals(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any idle;
  std::unique_lock lock(mutex);
  idle.wait(lock, stop, [] { return false; });
}

}  // namespace

// The thread is created first, so that it inherits the previous mask.
SignalThread::SignalThread() : thread_(wait_for_signals) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, signal);
  EXPECT(pthread_sigmask(SIG_BLOCK, &handled, &before_) == 0);
}

SignalThread::~SignalThread() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace dlscale
