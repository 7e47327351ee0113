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

/// What is under way, known by numbers, and when it is done. Time starts at 0.
///
/// What keeps processor cores busy shares `cores` of them: while more are wanted, it goes at
///   speed = cores / Σ wanted.
/// Because that is one factor for all, they share a clock of their own, `pace_`, which runs at that
/// factor: on it each takes just its work.
///
/// Computing and a message (begin_computing(), begin_message(); one of each at a time) slow each
/// other down besides while both go on. Of a and b cores, of which they were alone on a rank when
/// their contention was measured, they go at
///   speed / (cores / max(cores, a + b)) / s_c  and  / s_m
/// for what sharing cores costs these two is in s_c and s_m, and what others cost both is not.
class Progress {
 public:
  explicit Progress(double cores) : cores_(cores) {}

  /// `work` ≥ 0 is its time with cores to itself; 0 cores: it needs none.
  void begin(std::size_t event, double work, double cores);
  /// Something that is done at `when` ≥ now().
  void begin_until(std::size_t event, double when) { alone_.emplace(when, event); }
  /// `beside`, by kind of message, must outlive it; empty: messages do not concern it.
  void begin_computing(std::size_t event, double work, double cores,
                       std::span<const Contention> beside);
  /// A message of that kind.
  void begin_message(std::size_t event, double work, double cores, std::size_t kind);

  /// Goes on to what is done next, and returns it; of several at once computing, the message, what
  /// needs cores and what needs none, of these by number. Requires that something is under way. Its
  /// cores are kept until release().
  std::size_t next();
  /// The cores of something that next() returned.
  void release(double cores);

  [[nodiscard]] double now() const { return now_; }

 private:
  /// Computing, or a message, with the time alone that it still needs.
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

  /// When it is done, by the clock of its kind, and its number; the first on top.
  using Entry = std::pair<double, std::size_t>;
  using Finishes = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  double cores_;
  Finishes alone_;    ///< without cores, by time
  Finishes sharing_;  ///< on cores, by pace
  Contenders computing_;
  Contenders message_;
  std::size_t sharers_ = 0;
  double wanted_ = 0;
  double now_ = 0;
  double pace_ = 0;
};

}  // namespace dlscale::model
