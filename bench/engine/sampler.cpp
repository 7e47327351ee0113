#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/sampler_warnings.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Samples = std::vector<std::vector<double>>;

// Longest round. Signals are only checked between rounds, so a user would wait for its end.
constexpr Seconds longest_round{0.1};

/// Rounds of samples on all ranks. Each rank takes as many as rank 0 decided, all exchange them,
/// and rank 0 decides again. No rank acts on its own clock, so none blocks alone in a collective.
class Rounds {
 public:
  /// `each` is the approximate time of a sample, if known.
  Rounds(backend::Communicator& communicator, const SampleParts& parts, const ExtraWork& extra,
         std::optional<Seconds> each)
      : communicator_(&communicator),
        parts_(&parts),
        extra_(extra),
        samples_(communicator.size()),
        each_(each) {}

  /// Takes `first` samples in short rounds, then as many as `next` (called on rank 0) returns,
  /// until it returns 0 or some rank received a signal. Throws on all ranks if one failed. Failures
  /// that leave ranks apart are thrown at once, only on the rank that failed.
  template <class Next>
  void run(int first, Next next) {
    const auto wanted = [&] {
      if (communicator_->rank() != 0) return 0;
      return count() < first ? std::min(first - count(), fitting()) : next(*this);
    };
    for (int round = agree(wanted()); round > 0 && signal_ == 0; round = agree(wanted())) {
      exchange(take(round));  // equally many samples, even from a failed rank
    }
  }

  [[nodiscard]] int count() const { return static_cast<int>(samples_.front().size()); }
  [[nodiscard]] Seconds elapsed() const {
    return Seconds(std::chrono::duration<double>(Clock::now() - start_).count());
  }
  /// A quarter more samples, limited to a short round.
  [[nodiscard]] int more() const { return std::clamp(fitting(), 1, std::max(1, count() / 4)); }
  /// Time of a sample; empty before the first.
  [[nodiscard]] std::optional<Seconds> each() const {
    if (count() == 0) return each_;
    return Seconds(elapsed().si() / count());
  }
  [[nodiscard]] const Samples& samples() const { return samples_; }
  [[nodiscard]] int signal() const { return signal_; }

 private:
  /// The most samples in a round; one while the time of a sample is unknown.
  [[nodiscard]] int fitting() const {
    constexpr double most = 1e6;
    const std::optional<Seconds> time = each();
    if (!time) return 1;
    return static_cast<int>(std::clamp(longest_round.si() / std::max(time->si(), 1e-9), 1.0, most));
  }

  std::vector<double> take(int round) {
    std::vector<double> mine(round);
    for (double& sample : mine) {
      for (int run = 0; run < extra_.runs; ++run) {
        attempt(parts_->set_up);
        if (parts_->barrier) communicator_->barrier(*parts_->barrier);
        attempt([&] { sample += timed_once(); });
      }
      sample /= extra_.counted;
    }
    return mine;
  }

  /// Runs `work`, unless this rank has failed: then it only joins the exchanges until the others
  /// know. A failure that leaves ranks apart is rethrown, as the others cannot be informed.
  void attempt(const std::function<void()>& work) {
    if (failure_ || !work) return;
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      if (is_collective_failure(failure_)) throw;
    }
  }

  [[nodiscard]] double timed_once() const {
    const Seconds time = parts_->once();
    EXPECT(std::isfinite(time.si()) && time >= Seconds(0));
    return time.si();
  }

  void exchange(std::vector<double> mine) {
    mine.push_back(pending_signal());
    mine.push_back(backend::exit_code_of(failure_));
    std::vector<double> all(mine.size() * samples_.size());
    communicator_->all_gather(std::as_bytes(std::span(mine)),
                              std::as_writable_bytes(std::span(all)));
    double exit_code = 0;
    for (std::size_t rank = 0; rank < samples_.size(); ++rank) {
      const auto theirs = std::span(all).subspan(rank * mine.size(), mine.size());
      samples_[rank].insert(samples_[rank].end(), theirs.begin(), theirs.end() - 2);
      signal_ = std::max(signal_, static_cast<int>(theirs[theirs.size() - 2]));
      exit_code = std::max(exit_code, theirs.back());
    }
    if (exit_code > 0) throw_if_ended(backend::agree(*communicator_, failure_), failure_);
    if (signal_ != 0) follow_signal(signal_);
  }

  int agree(int round) {
    communicator_->broadcast(std::as_writable_bytes(std::span(&round, 1)), 0);
    return round;
  }

  backend::Communicator* communicator_;
  const SampleParts* parts_;
  ExtraWork extra_;
  Samples samples_;
  std::optional<Seconds> each_;
  int signal_ = 0;
  std::exception_ptr failure_;
  Clock::time_point start_ = Clock::now();
};

void warm_up(Rounds& rounds, const StoppingCriterion& criterion) {
  const bool timed = criterion.min_warmup > Seconds(0);
  rounds.run(std::max(criterion.min_warmups, timed ? 1 : 0), [&](const Rounds& so_far) {
    return so_far.elapsed() >= criterion.min_warmup ? 0 : so_far.more();
  });
}

bool narrow(const Samples& samples, double wanted) {
  return relative_half_width(summarize(slowest_rank(samples))) <= wanted;
}

int next_round(const Rounds& rounds, const StoppingCriterion& criterion) {
  const bool time_is_up = rounds.elapsed() >= criterion.max_time;
  const int left = criterion.max_samples - rounds.count();
  if (time_is_up || left <= 0) return 0;
  if (narrow(rounds.samples(), criterion.relative_half_width)) return 0;
  return std::min(rounds.more(), left);
}

void judge(Measurement& measurement, const Samples& samples, double wanted) {
  const std::vector<double> times = slowest_rank(samples);
  measurement.warnings = sampling_warnings(times, wanted);
  mark_if_unstable(measurement, summarize(times), wanted);
}

Measurement interrupted(int signal) {
  Measurement measurement;
  measurement.status = Status::interrupted;
  measurement.reason = fmt::format("stopped by signal {}", signal);
  return measurement;
}

}  // namespace

Sampler::Sampler(backend::Communicator& communicator, const StoppingCriterion& criterion,
                 const ExtraWork& extra)
    : communicator_(&communicator), criterion_(criterion), extra_(extra) {
  EXPECT(extra.counted >= 1 && extra.runs >= extra.counted);
  EXPECT(criterion.min_samples >= 1 && criterion.max_samples >= criterion.min_samples);
  EXPECT(criterion.min_warmups >= 0 && criterion.relative_half_width > 0);
}

Measurement Sampler::sample(const SampleParts& parts) const {
  Rounds warm_ups(*communicator_, parts, extra_, std::nullopt);
  warm_up(warm_ups, criterion_);
  if (warm_ups.signal() != 0) return interrupted(warm_ups.signal());
  Rounds rounds(*communicator_, parts, extra_, warm_ups.each());
  rounds.run(criterion_.min_samples,
             [this](const Rounds& so_far) { return next_round(so_far, criterion_); });
  Measurement measurement = rounds.signal() == 0 ? Measurement{} : interrupted(rounds.signal());
  measurement.series["time"] = make_series("s", rounds.samples());
  if (measurement.status == Status::ok) {
    judge(measurement, rounds.samples(), criterion_.relative_half_width);
  }
  return measurement;
}

}  // namespace dlscale::bench
