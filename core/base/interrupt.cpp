#include "core/base/interrupt.hpp"

#include <atomic>
#include <csignal>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

// A signal handler can access only global variables.
std::atomic<int> caught_signal{0};
std::atomic<int> followed_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

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

}  // namespace dlscale
