#include "model/goodput/simulated_training.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model::goodput {
namespace {

/// Random times. The engine's numbers are the same everywhere; those of std::distributions are not.
class RandomTimes {
 public:
  explicit RandomTimes(std::uint64_t seed) : engine_(seed) {}
  /// Above 0, up to and with 1.
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 1) * 0x1p-53; }
  /// Exponential; infinite for a rate of 0.
  double until_next(double rate) {
    return rate > 0 ? -std::log(uniform()) / rate : std::numeric_limits<double>::infinity();
  }

 private:
  std::mt19937_64 engine_;
};

/// Nodes under repair, by the time at which each returns.
class RepairShop {
 public:
  /// A node fails at `now`. Returns the time that the job waits for a node.
  double wait_after_failure(double now, double repair, int spares) {
    while (!returns_.empty() && returns_.top() <= now) returns_.pop();
    returns_.push(now + repair);
    if (returns_.size() <= static_cast<std::size_t>(spares)) return 0;
    const double first = returns_.top();
    returns_.pop();
    return first - now;
  }

 private:
  std::priority_queue<double, std::vector<double>, std::greater<>> returns_;
};

/// Work that counts and its checkpoints, until something stops the job.
struct Progress {
  double work = 0;
  double checkpoints = 0;
};

/// Work and checkpoints that are kept if the job fails `time` after a start.
Progress kept_after(const TrainingRun& run, double time) {
  const double cycle = (run.every + run.job.stall).si();
  const double cycles = std::floor(std::max(0.0, time - run.job.write.si()) / cycle);
  return {cycles * run.every.si(), cycles * run.job.stall.si()};
}

/// Time of the rest of the work and of a checkpoint after each part of it.
Progress rest_of(const TrainingRun& run, double work) {
  return {work, std::ceil(work / run.every.si()) * run.job.stall.si()};
}

}  // namespace

SimulatedTraining simulate_training(const TrainingRun& run, std::uint64_t seed,
                                    std::int64_t most_failures) {
  EXPECT(run.every.si() > 0 && run.work.si() > 0);
  EXPECT(run.node_failures_per_s <= run.job.failures_per_s * (1 + 1e-12));
  RandomTimes random(seed);
  RepairShop shop;
  SimulatedTraining past;
  const double rate = run.job.failures_per_s;
  double left = run.work.si();
  double restart = 0;  // the first start is part of what the user states
  while (true) {
    const double until_failure = random.until_next(rate);
    const Progress rest = rest_of(run, left);
    const double running = until_failure - restart;
    if (running >= rest.work + rest.checkpoints) {
      past.restarts += Seconds(restart);
      past.useful += Seconds(rest.work);
      past.checkpoints += Seconds(rest.checkpoints);
      return past;
    }
    past.restarts += Seconds(std::min(restart, until_failure));
    if (running > 0) {
      const Progress kept = kept_after(run, running);
      left -= kept.work;
      past.useful += Seconds(kept.work);
      past.checkpoints += Seconds(kept.checkpoints);
      past.repeated += Seconds(running - kept.work - kept.checkpoints);
    }
    if (++past.failures >= most_failures) return past;
    const bool takes_node = random.uniform() * rate <= run.node_failures_per_s;
    if (takes_node && run.spares) {
      const double repair = run.repair.si() > 0 ? random.until_next(1 / run.repair.si()) : 0;
      past.waiting += Seconds(shop.wait_after_failure(past.total().si(), repair, *run.spares));
    }
    restart = run.job.restart.si();
  }
}

}  // namespace dlscale::model::goodput
