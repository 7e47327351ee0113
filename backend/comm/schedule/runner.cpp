#include "backend/comm/schedule/runner.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "backend/comm/schedule/rank_part.hpp"
#include "backend/comm/schedule/schedule.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

class StartedCollective;

/// Largest tag that every MPI guarantees [MPI 4.1, 9.1.2].
constexpr int last_tag = 32767;

}  // namespace

/// Communicator for nonblocking schedules, with the collectives of this rank that are under way.
class ScheduleLane {
 public:
  explicit ScheduleLane(std::unique_ptr<Communicator> own) : own_(std::move(own)) {}

  [[nodiscard]] Communicator& ranks() const { return *own_; }
  int next_tag() {
    tag_ = tag_ % last_tag + 1;
    return tag_;
  }
  void add(StartedCollective& one) { under_way_.push_back(&one); }
  void remove(const StartedCollective& one) { std::erase(under_way_, &one); }
  [[nodiscard]] bool has_several() const { return under_way_.size() > 1; }
  void move_on();

 private:
  std::unique_ptr<Communicator> own_;
  int tag_ = 0;
  std::vector<StartedCollective*> under_way_;
};

namespace {

class StartedCollective : public PreparedCollective {
 public:
  StartedCollective(std::shared_ptr<ScheduleLane> lane, const collective::Schedule& schedule,
                    const CollectiveCall& call, Mode mode)
      : lane_(std::move(lane)),
        part_(
            std::make_unique<RankPart>(schedule, call, lane_->ranks().rank(), lane_->next_tag())) {
    for (const RankPart::Round& round : part_->rounds()) {
      exchanges_.push_back(round.has_messages()
                               ? lane_->ranks().prepare_exchange(round.out, round.in, mode)
                               : nullptr);
    }
  }

  ~StartedCollective() override {
    if (under_way_ && !failure_) give_up();
  }

  StartedCollective(const StartedCollective&) = delete;
  StartedCollective& operator=(const StartedCollective&) = delete;

  void start() override {
    EXPECT(!under_way_);
    under_way_ = true;
    round_ = 0;
    lane_->add(*this);
    keep_failure([this] {
      part_->take_input();
      post();
    });
    rethrow_failure();
  }

  /// If it is the only collective, lets the library wait.
  void wait() override {
    while (under_way_) {
      rethrow_failure();
      if (lane_->has_several()) {
        lane_->move_on();
        continue;
      }
      keep_failure([this] {
        exchanges_[round_]->wait();
        end_round();
      });
    }
  }

  bool test() override {
    rethrow_failure();
    if (under_way_) lane_->move_on();
    rethrow_failure();
    return !under_way_;
  }

  /// Progresses as far as arrived messages allow. A failure is kept for the next call on this
  /// collective.
  void move_on() {
    keep_failure([this] {
      while (under_way_ && exchanges_[round_]->test()) end_round();
    });
  }

 private:
  /// Starts the next round that has messages; without one, the collective is done.
  void post() {
    for (; round_ < exchanges_.size(); ++round_) {
      const RankPart::Round& round = part_->rounds()[round_];
      part_->pack(round);
      if (exchanges_[round_]) return exchanges_[round_]->start();
      part_->land(round);
    }
    part_->give_output();
    under_way_ = false;
    lane_->remove(*this);
  }

  /// Ends a round whose messages have all arrived.
  void end_round() {
    part_->land(part_->rounds()[round_]);
    ++round_;
    post();
  }

  template <class Work>
  void keep_failure(const Work& work) {
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      give_up();  // so that the other ranks are notified where possible
    }
  }
  void give_up() {
    lane_->remove(*this);
    // Memory of unfinished sends must not be freed.
    if (!exchanges_[round_]->leave()) static_cast<void>(part_.release());
  }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::shared_ptr<ScheduleLane> lane_;  ///< declared first: destroyed last
  std::unique_ptr<RankPart> part_;
  std::vector<std::unique_ptr<PreparedExchange>> exchanges_;  ///< by round; null: no messages
  bool under_way_ = false;
  std::size_t round_ = 0;  ///< the current round
  std::exception_ptr failure_;
};

}  // namespace

/// Starts with the oldest one. A collective that is done removes itself from the list.
void ScheduleLane::move_on() {
  for (std::size_t i = 0; i < under_way_.size();) {
    StartedCollective* const one = under_way_[i];
    one->move_on();
    if (i < under_way_.size() && under_way_[i] == one) ++i;
  }
}

std::unique_ptr<PreparedCollective> ScheduleRunner::prepare(const collective::Schedule& schedule,
                                                            const CollectiveCall& call, Mode mode) {
  if (mode == Mode::blocking) return prepare_schedule(*ranks_, schedule, call);
  expect_made_for(*ranks_, schedule, call);
  static_cast<void>(ranks_->prepare_exchange({}, {}, mode));  // throws if this is not supported
  if (!lane_) lane_ = std::make_shared<ScheduleLane>(ranks_->duplicate());
  return std::make_unique<StartedCollective>(lane_, schedule, call, mode);
}

}  // namespace dlscale::backend
