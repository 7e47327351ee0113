#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "model/sgd_iter/graph/contention.hpp"

namespace dlscale::model {

/// The activities in progress, by event number, and their ends. Time starts at 0.
///
/// Activities that keep processor cores busy share `cores` of them; while they want more, each runs
/// at
///   speed = cores / Σ wanted.
/// One factor holds for all, so they share a clock, `pace_`, which runs at that factor: on it each
/// takes exactly its work.
///
/// Computing and a message (begin_computing(), begin_message(); one of each at a time) also slow
/// each other down while both run. If their contention was measured with only these two, of a and b
/// cores, on a rank, they run at
///   speed / (cores / max(cores, a + b)) / s_c  and  / s_m
/// because s_c and s_m include the cost of sharing cores between these two, but not with others.
class Progress {
 public:
  explicit Progress(double cores) : cores_(cores) {}

  /// `work` ≥ 0 is its time with enough cores; 0 cores: it needs none.
  void begin(std::size_t event, double work, double cores);
  /// Begins something that ends at `when` ≥ now().
  void begin_until(std::size_t event, double when) { alone_.emplace(when, event); }
  /// `beside`, by kind of message, must outlive it; empty: messages do not slow it.
  void begin_computing(std::size_t event, double work, double cores,
                       std::span<const Contention> beside);
  /// Begins a message of that kind.
  void begin_message(std::size_t event, double work, double cores, std::size_t kind);

  /// Advances to the next end and returns its event. Of simultaneous ends computing is first, then
  /// the message, events with cores, events without; of these by number. Requires something in
  /// progress. Keeps its cores until release().
  std::size_t next();
  /// Frees the cores of an event that next() returned.
  void release(double cores);

  [[nodiscard]] double now() const { return now_; }

 private:
  /// Computing, or a message, with its remaining time alone.
  struct Contender {
    std::size_t event = 0;
    double left = 0;
    double cores = 0;
    std::span<const Contention> beside;  ///< of computing
    std::size_t kind = 0;                ///< of a message
  };
  using Contenders = std::optional<Contender>;

  void want(double cores);
  [[nodiscard]] double speed(double wanted) const { return wanted > cores_ ? cores_ / wanted : 1; }
  [[nodiscard]] double speed() const { return speed(wanted_); }
  [[nodiscard]] double next_sharing() const {
    return now_ + (sharing_.top().first - pace_) / speed();
  }
  [[nodiscard]] const Contention* contention() const;
  [[nodiscard]] double rate(const Contender& one, double Contention::*slowdown) const;
  [[nodiscard]] double done(const Contenders& one, double Contention::*slowdown) const;
  void move_contenders(double to);
  std::size_t take(Contenders& one, double when);

  /// End, on the clock of its kind, and event number; the first on top.
  using Entry = std::pair<double, std::size_t>;
  using Finishes = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  double cores_;
  Finishes alone_;    ///< without cores, by time
  Finishes sharing_;  ///< with cores, by pace
  Contenders computing_;
  Contenders message_;
  std::size_t sharers_ = 0;
  double wanted_ = 0;
  double now_ = 0;
  double pace_ = 0;
};

}  // namespace dlscale::model
