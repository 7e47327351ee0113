#include "backend/comm/schedule/runner.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"
#include "backend/comm/schedule/schedule.hpp"
#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/backend/comm/runnable.hpp"
#include "tests/backend/comm/trial.hpp"

/// Schedules that do not block: by every algorithm, several at once, and given up.
namespace dlscale::backend {
namespace {

using collective::Algorithm;
using collective::Settings;
using Prepared = std::unique_ptr<PreparedCollective>;

/// Groups of 2 to 9 threads.
struct ManyThreads {
  static void run(const Program& program) {
    if (launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
    for (int ranks = 2; ranks <= 9; ++ranks) run_on_threads(ranks, program);
  }
};

template <class Ranks>
class ScheduleRunnerTest : public testing::Test {};
using ManyRanks = testing::Types<ManyThreads, Processes>;
TYPED_TEST_SUITE(ScheduleRunnerTest, ManyRanks);

void finish_by_waiting(PreparedCollective& one) {
  one.wait();
}

void finish_by_asking(PreparedCollective& one) {
  while (!one.test()) {
  }
}

using Finish = std::function<void(PreparedCollective&)>;

void carry_out(PreparedCollective& one, const Finish& finish) {
  one.start();
  finish(one);
}

/// Numbers of which every float is rounded, and so almost every sum: the bits tell the order.
constexpr double rounded = 0.1;

/// The same block in each mode, twice with other numbers.
void try_modes(ScheduleRunner& runner, Communicator& ranks, const Algorithm& algorithm,
               const Settings& settings, const Trial& trial) {
  SCOPED_TRACE(std::string(algorithm.name));
  const collective::Schedule schedule = schedule_of(algorithm, settings);
  Block block(trial, ranks.rank(), ranks.size());
  const Prepared blocking = prepare_schedule(ranks, schedule, block.call());
  block.fill(rounded);
  carry_out(*blocking, finish_by_waiting);
  const std::vector<std::byte> expected = block.result();
  for (const Mode mode : modes) {
    const Prepared one = runner.prepare(schedule, block.call(), mode);
    block.fill();
    carry_out(*one, finish_by_waiting);
    block.check();
    block.fill(rounded);
    carry_out(*one, finish_by_asking);
    EXPECT_EQ(block.result(), expected) << to_string(mode);
  }
}

void try_placements(ScheduleRunner& runner, Communicator& ranks, const Algorithm& algorithm,
                    Settings settings) {
  Trial trial{algorithm.collective,
              ElementType::f32,
              Reduction::sum,
              Placement::in_place,
              Mode::blocking,
              101,
              0};
  if (can_run(algorithm, settings)) try_modes(runner, ranks, algorithm, settings, trial);
  trial.placement = Placement::out_of_place;
  trial.block = 3;
  settings.root = ranks.size() - 1;
  trial.root = settings.root;
  if (can_run(algorithm, settings)) try_modes(runner, ranks, algorithm, settings, trial);
}

TYPED_TEST(ScheduleRunnerTest, EveryAlgorithmGivesTheSameBitsInEveryMode) {
  TypeParam::run([](Communicator& ranks) {
    ScheduleRunner runner(ranks);
    for (const Algorithm* algorithm : family<Algorithm>().members) {
      Settings settings{.p = ranks.size()};
      if (algorithm->traits.segments) settings.segments = 3;
      if (algorithm->traits.servers) settings.servers = 2;
      for (const int ranks_on_node : {1, 2}) {
        if (ranks_on_node > 1 && !algorithm->traits.two_levels) continue;
        settings.ranks_on_node = ranks_on_node;
        try_placements(runner, ranks, *algorithm, settings);
      }
    }
  });
}

/// Two all-reduces of their own memory, by different algorithms.
class Two {
 public:
  Two(ScheduleRunner& runner, Communicator& ranks, Mode mode, std::size_t elements)
      : one_(trial(mode, elements), ranks.rank(), ranks.size()),
        other_(trial(mode, elements / 3), ranks.rank(), ranks.size()),
        prepared_one_(runner.prepare(by("ring", ranks), one_.call(), mode)),
        prepared_other_(runner.prepare(by("binomial", ranks), other_.call(), mode)) {}

  void start() {
    one_.fill();
    other_.fill();
    prepared_one_->start();
    prepared_other_->start();
  }

  void give_up() {
    prepared_one_.reset();
    prepared_other_.reset();
  }

  PreparedCollective& one() { return *prepared_one_; }
  PreparedCollective& other() { return *prepared_other_; }

  void check() const {
    one_.check();
    other_.check();
  }

 private:
  static Trial trial(Mode mode, std::size_t elements) {
    return {Collective::all_reduce,
            ElementType::f32,
            Reduction::sum,
            Placement::in_place,
            mode,
            elements,
            0};
  }
  static collective::Schedule by(const char* name, const Communicator& ranks) {
    return collective::find(Collective::all_reduce, name)->schedule({.p = ranks.size()});
  }

  Block one_;
  Block other_;
  Prepared prepared_one_;
  Prepared prepared_other_;
};

constexpr std::size_t few_elements = 1001;

/// Also more than what a library sends before the other side asks for it; between threads it is
/// all the same.
std::vector<std::size_t> sizes_between(const Communicator& ranks) {
  if (ranks.library() == "local") return {few_elements};
  return {few_elements, 300'001};
}

TYPED_TEST(ScheduleRunnerTest, RanksMayWaitForTwoInDifferentOrders) {
  TypeParam::run([](Communicator& ranks) {
    ScheduleRunner runner(ranks);
    for (const Mode mode : {Mode::nonblocking, Mode::persistent}) {
      for (const std::size_t elements : sizes_between(ranks)) {
        Two two(runner, ranks, mode, elements);
        const bool even = ranks.rank() % 2 == 0;
        for (const Finish& finish : {Finish(finish_by_waiting), Finish(finish_by_asking)}) {
          two.start();
          finish(even ? two.one() : two.other());
          finish(even ? two.other() : two.one());
          two.check();
        }
      }
    }
  });
}

TYPED_TEST(ScheduleRunnerTest, SaysThatOneIsDoneOnceAllHaveStartedItAndNotBefore) {
  TypeParam::run([](Communicator& ranks) {
    if (ranks.size() < 2) return;
    ScheduleRunner runner(ranks);
    const auto beside = ranks.duplicate();
    const Rank last = ranks.size() - 1;
    for (const Mode mode : {Mode::nonblocking, Mode::persistent}) {
      Two two(runner, ranks, mode, few_elements);
      for (int repeat = 0; repeat < 2; ++repeat) {
        if (ranks.rank() != last) {
          two.start();
          EXPECT_FALSE(two.one().test());
          EXPECT_FALSE(two.other().test());
        }
        beside->barrier();
        if (ranks.rank() == last) two.start();
        // Both move on, whichever is asked.
        while (!two.other().test()) {
        }
        two.one().wait();
        EXPECT_TRUE(two.one().test());
        two.check();
      }
    }
  });
}

TYPED_TEST(ScheduleRunnerTest, PreparedOnesMayOutliveIt) {
  TypeParam::run([](Communicator& ranks) {
    auto runner = std::make_unique<ScheduleRunner>(ranks);
    Two two(*runner, ranks, Mode::persistent, few_elements);
    runner.reset();
    two.start();
    two.one().wait();
    two.other().wait();
    two.check();
  });
}

TYPED_TEST(ScheduleRunnerTest, ThoseThatAllRanksGiveUpHinderNoOthers) {
  TypeParam::run([](Communicator& ranks) {
    std::vector<std::unique_ptr<Two>> given_up;  // whose memory may still be read
    ScheduleRunner runner(ranks);
    for (const Mode mode : {Mode::nonblocking, Mode::persistent}) {
      for (const std::size_t elements : sizes_between(ranks)) {
        Two kept(runner, ranks, mode, elements);
        given_up.push_back(std::make_unique<Two>(runner, ranks, mode, elements));
        kept.start();
        given_up.back()->start();
        given_up.back()->give_up();
        kept.one().wait();
        kept.other().wait();
        kept.check();
      }
    }
    ranks.barrier();
  });
}

TEST(ScheduleRunners, TellThreadsThatOneOfThemLeft) {
  if (launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const int size : {2, 3, 5}) {
    run_on_threads(size, [](Communicator& ranks) {
      ScheduleRunner runner(ranks);
      for (const Mode mode : {Mode::nonblocking, Mode::persistent}) {
        Two kept(runner, ranks, mode, few_elements);
        auto left = std::make_unique<Two>(runner, ranks, mode, few_elements);
        kept.start();
        left->start();
        if (ranks.rank() == 0) {
          left.reset();
        } else {
          EXPECT_THROW(left->one().wait(), LibraryError);
          EXPECT_THROW(finish_by_asking(left->one()), LibraryError);
          EXPECT_THROW(left->other().wait(), LibraryError);
        }
        kept.other().wait();
        kept.one().wait();
        kept.check();
      }
    });
  }
}

TEST(ScheduleRunners, GoOnWithoutARankThatHasGivenAllItHas) {
  if (launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  run_on_threads(2, [](Communicator& ranks) {
    ScheduleRunner runner(ranks);
    Block block({Collective::broadcast, ElementType::f32, Reduction::sum, Placement::in_place,
                 Mode::nonblocking, few_elements, 0},
                ranks.rank(), ranks.size());
    const Algorithm* linear = collective::find(Collective::broadcast, "linear");
    ASSERT_NE(linear, nullptr);
    Prepared one = runner.prepare(linear->schedule({.p = 2}), block.call(), Mode::nonblocking);
    block.fill();
    one->start();
    if (ranks.rank() == 1) one->wait();
    one.reset();
    block.check();
  });
}

TEST(ScheduleRunners, CarryOutThoseThatBlockAtOnce) {
  run_on_threads(3, [](Communicator& ranks) {
    ScheduleRunner runner(ranks);
    Two two(runner, ranks, Mode::blocking, few_elements);
    two.start();
    two.check();
    EXPECT_TRUE(two.other().test());
    two.one().wait();
    two.check();
  });
}

}  // namespace
}  // namespace dlscale::backend
