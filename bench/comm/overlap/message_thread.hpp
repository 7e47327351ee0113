#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dlscale::bench {

/// A thread that carries messages while the caller computes, as train/exchange/exchange.hpp has one: it
/// sleeps until it is given something to do, and is woken for it.
class MessageThread {
 public:
  MessageThread();
  /// Waits for what was begun.
  ~MessageThread();
  MessageThread(const MessageThread&) = delete;
  MessageThread& operator=(const MessageThread&) = delete;

  /// Has it call `work`, and returns. Requires that what was begun before was waited for.
  void begin(std::function<void()> work);
  /// Returns when it is done, or throws what it threw.
  void finish();

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any given_;
  std::condition_variable done_;
  std::function<void()> work_;  ///< empty: there is none
  std::exception_ptr failure_;
  std::jthread thread_;  ///< last: stops before what it uses goes
};

}  // namespace dlscale::bench
