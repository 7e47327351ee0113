#include "bench/memory/host/team.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <numeric>
#include <vector>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "tests/train/data/message.hpp"

namespace dlscale::bench {
namespace {

using train::config_error;
using train::contains;

TEST(Team, CallsEveryThreadOnceEachTime) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    std::vector<int> calls(threads);
    for (int i = 0; i < 20; ++i) {
      EXPECT_GT(team.run([&](int thread) { ++calls[thread]; }), Seconds(0));
    }
    EXPECT_EQ(calls, std::vector<int>(threads, 20));
  }
}

TEST(Team, ReturnsWhenAllAreDone) {
  Team team(4);
  std::atomic<int> done{0};
  for (int i = 1; i <= 50; ++i) {
    team.run([&](int) { ++done; });
    EXPECT_EQ(done, 4 * i);
  }
}

/// The cores on which the calling thread may run.
std::vector<int> allowed() {
  return backend::usable_cores();
}

TEST(Team, KeepsEachThreadOnACoreOfItsOwn) {
  const std::vector<int> before = allowed();
  {
    Team team(static_cast<int>(before.size()) + 1);
    std::vector<std::vector<int>> where(before.size() + 1);
    team.run([&](int thread) { where[static_cast<std::size_t>(thread)] = allowed(); });
    for (std::size_t thread = 0; thread < where.size(); ++thread) {
      EXPECT_EQ(where[thread], std::vector<int>{before[thread % before.size()]});
    }
  }
  EXPECT_EQ(allowed(), before);
}

TEST(Team, EndsWithoutHavingWorked) {
  const Team team(3);
  EXPECT_EQ(team.size(), 3);
}

TEST(Team, RefusesSoManyThreadsThatTheyOnlyTakeTurns) {
  const int most = most_threads_of_a_core * static_cast<int>(allowed().size());
  EXPECT_EQ(Team(most).size(), most);
  const std::string refusal = config_error([&] { Team team(most + 1); });
  EXPECT_TRUE(contains(refusal, "at most " + std::to_string(most))) << refusal;
}

/// Bytes of this process's addresses that are in use.
std::size_t addresses_in_use() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// While this lives, new threads have stacks of 1 GiB, for one of which there is room.
class RoomForOneThread {
 public:
  RoomForOneThread() {
    constexpr std::size_t stack = std::size_t{1} << 30;
    EXPECT_EQ(pthread_getattr_default_np(&stacks_before_), 0);
    pthread_attr_t large = stacks_before_;
    EXPECT_EQ(pthread_attr_setstacksize(&large, stack), 0);
    EXPECT_EQ(pthread_setattr_default_np(&large), 0);
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &limit_before_), 0);
    const rlimit limit{addresses_in_use() + stack + stack / 2, limit_before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~RoomForOneThread() {
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit_before_), 0);
    EXPECT_EQ(pthread_setattr_default_np(&stacks_before_), 0);
  }
  RoomForOneThread(const RoomForOneThread&) = delete;
  RoomForOneThread& operator=(const RoomForOneThread&) = delete;

 private:
  pthread_attr_t stacks_before_{};
  rlimit limit_before_{};
};

TEST(Team, EndsThoseItHasWhereTheSystemMakesNoMore) {
  const std::string refusal = config_error([] {
    const RoomForOneThread room;
    const Team team(3);
  });
  EXPECT_TRUE(contains(refusal, "of 3 threads the system makes 2 ")) << refusal;
}

TEST(Team, NeedsAThread) {
  EXPECT_THROW(Team(0), std::logic_error);
}

TEST(Part, CoversTheArrayOnceInWholeCacheLines) {
  for (const std::size_t n : {1U, 7U, 8U, 9U, 64U, 1000U}) {
    for (const int size : {1, 2, 3, 7}) {
      std::size_t next = 0;
      for (int thread = 0; thread < size; ++thread) {
        const Part part = part_of(n, thread, size);
        EXPECT_EQ(part.first, next);
        EXPECT_TRUE(part.first % 8 == 0 || part.count == 0);
        next = part.first + part.count;
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(Part, IsNearlyTheSameForAll) {
  for (int thread = 0; thread < 3; ++thread) {
    EXPECT_NEAR(static_cast<double>(part_of(8000, thread, 3).count), 8000 / 3.0, 8);
  }
}

/// Processor time of the calling thread, in seconds.
double own_time() {
  timespec now{};
  EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Two threads that compute for a while each on one core take at least both whiles, whoever begins.
TEST(Team, TakesTheTimeOfTheThreadThatBeginsFirstToo) {
  constexpr double while_each = 1e-3;
  const backend::BoundThread one_core(backend::usable_cores().front());
  Team team(2);
  for (int round = 0; round < 50; ++round) {
    const Seconds time = team.run([](int) {
      const double end = own_time() + while_each;
      while (own_time() < end) continue;
    });
    EXPECT_GE(time.si(), 2 * while_each);
  }
}

}  // namespace
}  // namespace dlscale::bench
