#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "backend/comm/communicator.hpp"
#include "bench/comm/overlap/overlap_work.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Times of computing and messages, each alone and both at once. All are positive.
struct OverlapTimes {
  Seconds compute_alone;    ///< T_c
  Seconds messages_alone;   ///< T_m
  Seconds together;         ///< T_o, from when both could begin until the later one ended
  Seconds compute_beside;   ///< C_o, computing during the messages; it begins where T_o does
  Seconds messages_beside;  ///< M_o, the messages during computing
};

/// How well both overlap.
struct Overlap {
  /// E = (T_c + T_m - T_o) / min(T_c, T_m): 1 if the shorter of both was hidden, 0 if serial
  /// execution takes as long, negative if it is faster. It is not clamped at 0, which would hide
  /// contention for a core or the memory.
  double efficiency = 0;
  double compute_slowdown = 0;   ///< C_o / T_c
  double messages_slowdown = 0;  ///< M_o / T_m
  Seconds exposed;               ///< max(0, T_o - C_o): time of the messages after computing
  /// M_o - exposed. Negative where messages began so late that the wait for them was exposed, too.
  Seconds hidden;
};
Overlap overlap(const OverlapTimes& times);

/// The number of runs of `each` > 0 whose time is closest to `ratio` times that of the messages; 1
/// to a million.
int matching_runs(double ratio, Seconds messages, Seconds each);

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

/// Work alone, messages alone and both at once. The work runs on the calling thread, the messages
/// on their own, whose ranks pass a barrier first, as the gradient exchange does in training. All
/// calls but throw_failure() are collective and begin with a barrier.
///
/// An exception of the work is kept. The work is skipped from then on, but this rank still joins
/// the barriers, so that the others do not block.
class OverlapRounds {
 public:
  /// `ranks` is for the calling thread, `carrier` (the same ranks) for the traffic; all must
  /// outlive it. `waiting` is the wait policy of the barrier before the messages.
  OverlapRounds(backend::Communicator& ranks, backend::Communicator& carrier, Traffic& traffic,
                OverlapWork& work, backend::WaitPolicy waiting)
      : ranks_(&ranks), carrier_(&carrier), traffic_(&traffic), work_(&work), waiting_(waiting) {}

  /// Sets the runs of the work in each round; once by default.
  void set_runs(int runs) { runs_ = runs; }
  [[nodiscard]] int runs() const { return runs_; }

  Seconds compute();
  /// Sends the messages after a barrier, as before all messages.
  Seconds send();
  /// Times of both at once; the times alone are zero.
  OverlapTimes both();
  /// Measures all three, in an order that rotates from round to round. `prepare` runs untimed
  /// before each of the two that send; if it throws, it throws on all ranks.
  OverlapTimes round(const std::function<void()>& prepare);

  /// When this rank was in the messages of the last both().
  [[nodiscard]] const Stay& stay() const { return stay_; }

  /// Collective: throws on all ranks if the work threw on one.
  void throw_failure() const;

 private:
  void do_work();
  void carry();

  backend::Communicator* ranks_;
  backend::Communicator* carrier_;
  Traffic* traffic_;
  OverlapWork* work_;
  backend::WaitPolicy waiting_;
  int runs_ = 1;
  int first_ = 0;  ///< index of the first of the three in the next round
  Seconds carried_;
  Stay stay_;
  std::exception_ptr failure_;
  MessageThread thread_;  ///< last: it ends before the members it uses are destroyed
};

}  // namespace dlscale::bench
