#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dlscale::bench {

/// A thread that sends messages while the caller computes, as in train/exchange/exchange.hpp: it
/// sleeps until it is given work.
class MessageThread {
 public:
  MessageThread();
  /// Waits for the work in progress.
  ~MessageThread();
  MessageThread(const MessageThread&) = delete;
  MessageThread& operator=(const MessageThread&) = delete;

  /// Starts `work` on the thread and returns. Requires that earlier work was waited for.
  void begin(std::function<void()> work);
  /// Waits for the work; rethrows its exception.
  void finish();

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any given_;
  std::condition_variable done_;
  std::function<void()> work_;  ///< empty: none
  std::exception_ptr failure_;
  std::jthread thread_;  ///< last: it stops before the members it uses are destroyed
};

}  // namespace dlscale::bench
