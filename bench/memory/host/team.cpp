#include "bench/memory/host/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <system_error>

#include "backend/comm/together.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

std::vector<int> cores_for(int threads) {
  EXPECT(threads >= 1);
  expect_few_threads(option_name("threads"), threads);
  const std::vector<int> usable = backend::usable_cores();
  std::vector<int> cores;
  cores.reserve(static_cast<std::size_t>(threads));
  for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
    cores.push_back(usable[thread % usable.size()]);
    const backend::BoundThread may_be_used(cores.back());  // throws here, not in a helper
  }
  return cores;
}

constexpr int tries = 3;
constexpr int most_passes = 1 << 30;

Seconds fastest_sample(const std::function<Seconds(int)>& pass, int passes) {
  Seconds fastest = passes * pass(passes);
  for (int i = 1; i < tries; ++i) fastest = std::min(fastest, passes * pass(passes));
  return fastest;
}

}  // namespace

Team::Team(int threads)
    : ready_(threads), done_(threads), cores_(cores_for(threads)), spans_(cores_.size()) {
  bound_.emplace(cores_.front());
  try {
    start_helpers(threads);
  } catch (const std::system_error& error) {
    // Started threads wait for the caller and for the missing threads.
    static_cast<void>(ready_.arrive(threads - static_cast<int>(helpers_.size())));
    throw ConfigError(fmt::format("of {} threads the system makes {} ({}). Give fewer threads.",
                                  threads, helpers_.size() + 1, error.what()));
  }
}

void Team::start_helpers(int threads) {
  helpers_.reserve(static_cast<std::size_t>(threads) - 1);
  for (int thread = 1; thread < threads; ++thread) {
    helpers_.emplace_back([this, thread] { help(thread); });
  }
}

Team::~Team() {
  work_ = nullptr;
  ready_.arrive_and_wait();
}

void Team::help(int thread) {
  const backend::BoundThread bound(cores_[static_cast<std::size_t>(thread)]);
  while (true) {
    ready_.arrive_and_wait();
    if (work_ == nullptr) return;
    ready_.arrive_and_wait();
    work_as(thread);
    done_.arrive_and_wait();
  }
}

void Team::work_as(int thread) {
  Span& span = spans_[static_cast<std::size_t>(thread)];
  span.start = Clock::now();
  (*work_)(thread);
  span.end = Clock::now();
}

Seconds Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  ready_.arrive_and_wait();  // wakes the others
  ready_.arrive_and_wait();  // they are awake
  work_as(0);
  done_.arrive_and_wait();
  const Clock::time_point start = std::ranges::min_element(spans_, {}, &Span::start)->start;
  const Clock::time_point end = std::ranges::max_element(spans_, {}, &Span::end)->end;
  return Seconds(std::chrono::duration<double>(end - start).count());
}

Part part_of(std::size_t n, int thread, int size) {
  constexpr std::size_t line = 64 / sizeof(double);
  const std::size_t lines = (n + line - 1) / line;
  const auto bound = [&](int t) { return std::min(n, lines * t / size * line); };
  return {bound(thread), bound(thread + 1) - bound(thread)};
}

int passes_for(backend::Communicator& communicator, const std::function<Seconds(int)>& pass) {
  int passes = 1;
  together(communicator, [&] {
    while (passes < most_passes && fastest_sample(pass, passes) < least_sample) passes *= 2;
  });
  double most = passes;
  communicator.all_reduce(std::span(&most, 1), backend::Reduction::max);
  return static_cast<int>(most);
}

}  // namespace dlscale::bench
