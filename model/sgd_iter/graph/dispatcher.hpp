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

/// What begins at a resource. When it is over, the Dispatcher wants to be told.
struct Beginning {
  enum class What {
    task,     ///< `task` by itself, with its meeting; then served()
    pack,     ///< of packed(); then served()
    look,     ///< for what is ready, not before `until`; then looked()
    choice,   ///< takes Resource::choice; then chosen()
    meeting,  ///< of ranks that look, takes Packing::meeting; then met()
    vote,     ///< takes Packing::vote; then voted()
  };
  What what = What::task;
  std::size_t task = 0;
  double until = 0;
};

/// At most two: a task, and the choice of another.
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

/// Which of the tasks that are ready for a Resource starts when, by its order, window and choice or
/// its packing: the rules that the graph of one rank and that of all have in common. It knows of
/// no work and keeps no clock: told what happened and when, s, it says what begins.
class Dispatcher {
 public:
  /// `resource` must outlive it. `restless`: looks that find nothing have to be followed, because
  /// they slow others down; else those of a packing resource that slow nobody down are left out.
  Dispatcher(const Resource& resource, bool restless);

  Beginnings become_ready(const ReadyTask& ready, double now);
  Beginnings served(double now);
  Beginnings looked(double now);
  Beginnings met(double now);
  Beginnings voted(double now) { return serve_pack(now); }
  Beginnings chosen();

  /// The tasks that travel together, from the beginning of a pack to that of the next, the first
  /// first, and their bytes.
  [[nodiscard]] std::span<const std::size_t> packed() const { return packed_.tasks; }
  [[nodiscard]] Bytes packed_size() const { return packed_.size; }

 private:
  /// A task that waits; of those equally urgent the one that came first is first.
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
  int free_;                       ///< servers
  std::deque<ReadyTask> waiting_;  ///< in order of readiness
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> urgent_;
  std::size_t arrivals_ = 0;             ///< of these
  std::deque<std::size_t> chosen_;       ///< to be served next
  std::optional<std::size_t> choosing_;  ///< what a choice is about
  // Of one that packs:
  double last_look_ = 0;
  double free_from_ = 0;    ///< when it was done with what it found then
  std::size_t found_ = 0;   ///< of the messages of an iteration; 0: it rests
  bool busy_ = false;       ///< looks, is about to look, or serves
  std::deque<Pack> packs_;  ///< found at the last look, not served yet
  Pack packed_;
};

}  // namespace dlscale::model
