#pragma once
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"

namespace dlscale::model {

/// A task that is ready for a resource.
struct ReadyTask {
  std::size_t task = 0;
  int rank = 0;     ///< as Task::rank
  Bytes size = {};  ///< as Task::size
};

/// An activity that begins at a resource. The caller reports its end to the Dispatcher.
struct Beginning {
  enum class What {
    task,     ///< `task` alone, with its barrier; then served()
    pack,     ///< of packed(); then served()
    look,     ///< looks for ready tasks, not before `until`; then looked()
    choice,   ///< takes Resource::choice; then chosen()
    barrier,  ///< of ranks that look, takes Packing::barrier; then met()
    vote,     ///< takes Packing::vote; then voted()
  };
  What what = What::task;
  std::size_t task = 0;
  double until = 0;
};

/// At most two: a task, and the choice of the next.
class Beginnings {
 public:
  Beginnings() = default;
  Beginnings(const Beginning& one) : all_{one}, count_(1) {}  // NOLINT: one is some
  void add(const Beginnings& others);
  [[nodiscard]] const Beginning* begin() const { return all_.data(); }
  [[nodiscard]] const Beginning* end() const { return all_.data() + count_; }

 private:
  std::array<Beginning, 2> all_ = {};
  std::size_t count_ = 0;
};

/// Decides which of the ready tasks a Resource starts and when, by its order, window and choice or
/// its packing. The graphs of one rank and of all ranks share it. It holds no work and no clock:
/// the caller reports events with their time in s, and it returns the activities that begin.
class Dispatcher {
 public:
  /// `resource` must outlive it. `restless`: simulates looks that find nothing, because they slow
  /// others down; else it skips them.
  Dispatcher(const Resource& resource, bool restless);

  Beginnings become_ready(const ReadyTask& ready, double now);
  Beginnings served(double now);
  Beginnings looked(double now);
  Beginnings met(double now);
  Beginnings voted(double now) { return serve_pack(now); }
  Beginnings chosen();

  /// The tasks that travel together, in order, and their bytes; valid from the beginning of a pack
  /// to that of the next.
  [[nodiscard]] std::span<const std::size_t> packed() const { return packed_.tasks; }
  [[nodiscard]] Bytes packed_size() const { return packed_.size; }

 private:
  /// A waiting task; among equally urgent ones the first to arrive is first.
  struct Waiting {
    ReadyTask ready;
    std::size_t arrival;
    bool operator>(const Waiting& other) const {
      const bool same = ready.rank == other.ready.rank;
      return same ? arrival > other.arrival : ready.rank > other.ready.rank;
    }
  };
  struct Pack {
    std::vector<std::size_t> tasks;
    Bytes size;
  };

  void wait(const ReadyTask& ready);
  [[nodiscard]] bool none_waits() const { return waiting_.empty() && urgent_.empty(); }
  std::size_t take_waiting();
  [[nodiscard]] bool chooses_at_once() const { return resource_->choice == Seconds(); }
  Beginnings begin_choice();
  Beginnings plan_look(double now);
  [[nodiscard]] double next_look(double now) const;
  void find_packs();
  Beginnings vote(double now);
  Beginnings serve_pack(double now);

  const Resource* resource_;
  bool restless_;
  int free_;                       ///< idle servers
  std::deque<ReadyTask> waiting_;  ///< in order of readiness
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> urgent_;
  std::size_t arrivals_ = 0;             ///< arrivals in urgent_
  std::deque<std::size_t> chosen_;       ///< to be served next
  std::optional<std::size_t> choosing_;  ///< the task of a choice in progress
  // State of a resource that packs:
  double last_look_ = 0;
  double free_from_ = 0;    ///< end of service of the last packs found
  std::size_t found_ = 0;   ///< messages found in this iteration; 0: rests
  bool busy_ = false;       ///< looks, is about to look, or serves
  std::deque<Pack> packs_;  ///< found at the last look, not served yet
  Pack packed_;
};

}  // namespace dlscale::model
