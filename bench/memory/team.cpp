#include "bench/memory/team.hpp"

#include <algorithm>
#include <chrono>

#include "core/error.hpp"

namespace dlscale::bench {

Team::Team(int threads) : ready_(threads), done_(threads) {
  EXPECT(threads >= 1);
  for (int thread = 1; thread < threads; ++thread) {
    helpers_.emplace_back([this, thread] { help(thread); });
  }
}

Team::~Team() {
  work_ = nullptr;
  ready_.arrive_and_wait();
}

void Team::help(int thread) {
  while (true) {
    ready_.arrive_and_wait();
    if (work_ == nullptr) return;
    ready_.arrive_and_wait();
    (*work_)(thread);
    done_.arrive_and_wait();
  }
}

Seconds Team::run(const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  work_ = &work;
  ready_.arrive_and_wait();  // wakes the others
  ready_.arrive_and_wait();  // they are awake
  const Clock::time_point start = Clock::now();
  work(0);
  done_.arrive_and_wait();
  return Seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

Part part_of(std::size_t n, int thread, int size) {
  constexpr std::size_t line = 64 / sizeof(double);
  const std::size_t lines = (n + line - 1) / line;
  const auto bound = [&](int t) { return std::min(n, lines * t / size * line); };
  return {bound(thread), bound(thread + 1) - bound(thread)};
}

}  // namespace dlscale::bench
