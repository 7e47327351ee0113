#include "core/base/interrupt.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <stop_token>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

// A signal handler can access only global variables.
std::atomic<int> caught_signal{0};
std::atomic<int> followed_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// Waits until stop is requested; the handlers only interrupt the wait.
void wait_for_signals(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any idle;
  std::unique_lock lock(mutex);
  idle.wait(lock, stop, [] { return false; });
}

}  // namespace

void remember_signal(int signal) {
  caught_signal.store(signal, std::memory_order_relaxed);
}

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  // The second signal meets the default action and ends the process.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT(sigaction(signal, &action, nullptr) == 0);
  }
  struct sigaction before = {};
  EXPECT(sigaction(SIGHUP, nullptr, &before) == 0);
  const bool ignored = before.sa_handler == SIG_IGN;  // as set by nohup
  if (!ignored) EXPECT(sigaction(SIGHUP, &action, nullptr) == 0);
}

void follow_signal(int signal) {
  if (own_signal() == 0) followed_signal.store(signal, std::memory_order_relaxed);
}

/// A followed signal comes first: a launcher signals the others once one rank has left.
int pending_signal() {
  const int followed = followed_signal.load(std::memory_order_relaxed);
  return followed != 0 ? followed : own_signal();
}

int own_signal() {
  return caught_signal.load(std::memory_order_relaxed);
}

void throw_if_interrupted() {
  if (const int signal = pending_signal(); signal != 0) throw Interrupted(signal);
}

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
