#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/engine/cache.hpp"
#include "bench/engine/sampler_warnings.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/statistics.hpp"
#include "tests/backend/comm/unheard_communicator.hpp"

namespace dlscale::bench {
namespace {

/// No warm-up, no limit of time: what happens depends on the samples alone.
StoppingCriterion by_count(int least, int most, double half_width = 0.02) {
  return {.relative_half_width = half_width,
          .min_samples = least,
          .max_samples = most,
          .max_time = Seconds(1e9),
          .min_warmup = Seconds(0),
          .min_warmups = 0};
}

Measurement sample_alone(const StoppingCriterion& criterion, const std::function<Seconds()>& once) {
  const auto group = backend::local_group(1);
  return Sampler(*group.front(), criterion).sample(once);
}

std::size_t count(const Measurement& measurement) {
  return measurement.at("time").samples.front().size();
}

TEST(Sampler, StopsAtTheLeastNumberOfSamplesOfASteadyTime) {
  int calls = 0;
  const Measurement result = sample_alone(by_count(10, 1000), [&] {
    ++calls;
    return 1.0_ms;
  });
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(count(result), 10U);
  EXPECT_DOUBLE_EQ(result.at("time").summary.median, 1e-3);
  EXPECT_EQ(result.at("time").unit, "s");
  EXPECT_TRUE(result.warnings.empty());
}

TEST(Sampler, GoesOnUntilTheIntervalIsNarrow) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  const Measurement result =
      sample_alone(by_count(10, 100000), [&] { return Seconds(noise(random)); });
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_GT(count(result), 10U);
  EXPECT_LT(count(result), 100000U);
  EXPECT_LE(relative_half_width(result.at("time").summary), 0.02);
}

TEST(Sampler, CallsTooNoisyTimesUnstable) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> noise(0.0, 1.0);
  const Measurement result = sample_alone(by_count(10, 50), [&] { return Seconds(noise(random)); });
  EXPECT_EQ(result.status, Status::unstable);
  EXPECT_EQ(count(result), 50U);
  EXPECT_NE(result.reason.find("after 50 samples"), std::string::npos) << result.reason;
  ASSERT_FALSE(result.warnings.empty());
}

TEST(Sampler, WarnsOfADrift) {
  int calls = 0;
  const Measurement result =
      sample_alone(by_count(40, 40), [&] { return Seconds(1.0 + 0.01 * calls++); });
  const auto drifts = [](const std::string& warning) { return warning.starts_with("times drift"); };
  EXPECT_TRUE(std::ranges::any_of(result.warnings, drifts));
}

TEST(Sampler, StopsWhenTimeIsUpButTakesTheLeastNumberOfSamples) {
  StoppingCriterion criterion = by_count(7, 1000, 1e-9);
  criterion.max_time = Seconds(0);
  int calls = 0;
  const Measurement result =
      sample_alone(criterion, [&] { return Seconds(1.0 + 0.1 * (++calls % 3)); });
  EXPECT_EQ(count(result), 7U);
  EXPECT_EQ(result.status, Status::unstable);
}

TEST(Sampler, KeepsTheWarmUpOutOfTheResult) {
  StoppingCriterion criterion = by_count(10, 1000);
  criterion.min_warmups = 3;
  int calls = 0;
  const Measurement result =
      sample_alone(criterion, [&] { return ++calls <= 3 ? Seconds(100) : Seconds(1); });
  EXPECT_EQ(calls, 13);
  EXPECT_EQ(result.at("time").summary.max, 1.0);
}

TEST(Sampler, WarmsUpForTheTimeAskedFor) {
  StoppingCriterion criterion = by_count(1, 1, 10);
  criterion.min_warmup = 2.0_ms;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last;
  static_cast<void>(sample_alone(criterion, [&] {
    last = std::chrono::steady_clock::now();
    return 1.0_ms;
  }));
  EXPECT_GE(last - start, std::chrono::milliseconds(2));
}

TEST(Sampler, PassesAnExceptionOn) {
  EXPECT_THROW(static_cast<void>(sample_alone(
                   by_count(1, 1), []() -> Seconds { throw std::runtime_error("no memory"); })),
               std::runtime_error);
}

TEST(Sampler, RefusesACriterionThatCannotBeMet) {
  const auto group = backend::local_group(1);
  EXPECT_THROW(Sampler(*group.front(), by_count(0, 10)), std::logic_error);
  EXPECT_THROW(Sampler(*group.front(), by_count(10, 9)), std::logic_error);
}

/// Runs `on_rank` on every rank of a group and returns what each got.
std::vector<Measurement> sample_on(int ranks, const StoppingCriterion& criterion,
                                   const std::function<Seconds(Rank)>& once) {
  auto group = backend::local_group(ranks);
  std::vector<Measurement> results(group.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < group.size(); ++i) {
    threads.emplace_back([&, i] {
      const Rank rank = group[i]->rank();
      results[i] = Sampler(*group[i], criterion).sample([&, rank] { return once(rank); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(Sampler, GivesAllRanksTheSameSamplesAndSummarisesTheSlowestRank) {
  StoppingCriterion criterion = by_count(10, 200);
  criterion.min_warmup = 1.0_ms;  // ranks with different clocks warm up equally often
  const auto results =
      sample_on(3, criterion, [](Rank rank) { return Seconds(1e-3 * (rank + 1)); });
  for (const Measurement& result : results) {
    const Series& time = result.at("time");
    ASSERT_EQ(time.samples.size(), 3U);
    EXPECT_EQ(time.samples, results.front().at("time").samples);
    EXPECT_EQ(time.samples[0].front(), 1e-3);
    EXPECT_EQ(time.samples[2].front(), 3e-3);
    EXPECT_DOUBLE_EQ(time.summary.median, 3e-3);
  }
}

TEST(Sampler, KeepsRanksTogetherWhenOnlyOneIsNoisy) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> noise(0.5, 1.5);
  const auto results = sample_on(3, by_count(10, 300, 0.01), [&](Rank rank) {
    return rank == 1 ? Seconds(noise(random)) : Seconds(0.1);
  });
  for (const Measurement& result : results) {
    EXPECT_EQ(count(result), count(results.front()));
    EXPECT_EQ(result.status, results.front().status);
    EXPECT_GT(count(result), 10U);
  }
}

/// Where a rank fails, and in which of its samples (the first two are of the warm-up).
struct Failure {
  enum class Part { set_up, once } part;
  int sample;
  std::optional<backend::WaitPolicy> barrier;
};

/// What each of three ranks throws if rank 1 fails, as exit code and message.
std::vector<std::pair<ExitCode, std::string>> thrown_by_ranks(const Failure& failure) {
  auto group = backend::local_group(3);
  std::vector<std::pair<ExitCode, std::string>> thrown(group.size());
  const auto fail = [&](Failure::Part part, Rank rank, int sample) {
    if (rank != 1 || part != failure.part || sample != failure.sample) return;
    throw ConfigError("x.jpg is truncated");
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < group.size(); ++i) {
    threads.emplace_back([&, i, rank = group[i]->rank()] {
      StoppingCriterion criterion = by_count(4, 1000, 1e-9);
      criterion.min_warmups = 2;
      int sample = 0;
      try {
        static_cast<void>(
            Sampler(*group[i], criterion)
                .sample({.set_up = [&] { fail(Failure::Part::set_up, rank, ++sample); },
                         .barrier = failure.barrier,
                         .once =
                             [&] {
                               fail(Failure::Part::once, rank, sample);
                               return Seconds(1.0 + 0.1 * (sample % 3));
                             }}));
      } catch (const Error& error) {
        thrown[i] = {error.code(), error.what()};
      }
    });
  }
  threads.clear();
  return thrown;
}

TEST(Sampler, StopsAllRanksAtTheFailureOfOneAndTellsItsCause) {
  for (const auto part : {Failure::Part::set_up, Failure::Part::once}) {
    for (const int sample : {1, 2, 3, 5, 20}) {
      for (const auto barrier :
           {std::optional<backend::WaitPolicy>(), std::optional(backend::WaitPolicy::spin),
            std::optional(backend::WaitPolicy::sleep)}) {
        const auto thrown = thrown_by_ranks({part, sample, barrier});
        EXPECT_EQ(thrown[1], std::pair(ExitCode::bad_input, std::string("x.jpg is truncated")));
        for (const std::size_t other : {0, 2}) {
          EXPECT_EQ(thrown[other],
                    std::pair(ExitCode::bad_input, std::string("on rank 1: x.jpg is truncated")));
        }
      }
    }
  }
}

TEST(Sampler, MakesNoCallWithTheOthersAfterAFailureOfALibrary) {
  for (const auto part : {Failure::Part::set_up, Failure::Part::once}) {
    int calls = 0;
    int calls_before = 0;
    backend::UnheardCommunicator ranks(2, [&calls] { ++calls; });
    const auto fail = [&](Failure::Part here) {
      if (here != part) return;
      calls_before = calls;
      throw LibraryError("cudaStreamQuery failed for rank 0's messages.");
    };
    const SampleParts parts{.set_up = [&] { fail(Failure::Part::set_up); },
                            .barrier = backend::WaitPolicy::spin,
                            .once =
                                [&] {
                                  fail(Failure::Part::once);
                                  return Seconds(1);
                                }};
    EXPECT_THROW(static_cast<void>(Sampler(ranks, by_count(4, 4)).sample(parts)), LibraryError);
    EXPECT_EQ(calls, calls_before);
  }
}

/// A signal stays pending for the life of a process, so these run in processes of their own.
void interrupt_at_call(int call) {
  install_signal_handlers();
  int calls = 0;
  const Measurement result = sample_alone(by_count(4, 1000000, 1e-12), [&] {
    if (++calls == call) static_cast<void>(std::raise(SIGINT));
    return Seconds(1.0 + 0.1 * (calls % 7));
  });
  const bool kept = result.series.contains("time") && count(result) >= 4 && count(result) < 100;
  std::exit(result.status == Status::interrupted && kept ? 0 : 1);
}

void interrupt_during_warmup() {
  install_signal_handlers();
  StoppingCriterion criterion = by_count(4, 10);
  criterion.min_warmups = 1;
  const Measurement result = sample_alone(criterion, [] {
    if (pending_signal() == 0) static_cast<void>(std::raise(SIGTERM));
    return Seconds(1);
  });
  const bool told = result.reason.find("15") != std::string::npos;
  std::exit(result.status == Status::interrupted && result.series.empty() && told ? 0 : 1);
}

/// Where all of many samples are wanted that take a while each.
void interrupt_long_before_the_last() {
  install_signal_handlers();
  int calls = 0;
  const Measurement result = sample_alone(by_count(5000, 5000), [&] {
    if (++calls == 10) static_cast<void>(std::raise(SIGTERM));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Seconds(0.02);
  });
  std::exit(result.status == Status::interrupted && calls < 30 ? 0 : 1);
}

void interrupt_one_of_three() {
  install_signal_handlers();
  std::array<int, 3> calls{};
  const auto results = sample_on(3, by_count(4, 1000000, 1e-12), [&](Rank rank) {
    const int call = ++calls[static_cast<std::size_t>(rank)];
    if (rank == 2 && call == 9) static_cast<void>(std::raise(SIGINT));
    return Seconds(1.0 + 0.1 * (call % 7));
  });
  const bool all = std::ranges::all_of(
      results, [](const Measurement& m) { return m.status == Status::interrupted; });
  std::exit(all ? 0 : 1);
}

TEST(SamplerDeathTest, KeepsTheSamplesTakenBeforeASignal) {
  EXPECT_EXIT(interrupt_at_call(20), testing::ExitedWithCode(0), "");
}

TEST(SamplerDeathTest, HasNoSeriesIfTheSignalCameDuringTheWarmUp) {
  EXPECT_EXIT(interrupt_during_warmup(), testing::ExitedWithCode(0), "");
}

TEST(SamplerDeathTest, HeedsASignalLongBeforeTheLastSampleThatIsWanted) {
  EXPECT_EXIT(interrupt_long_before_the_last(), testing::ExitedWithCode(0), "");
}

TEST(SamplerDeathTest, StopsAllRanksForTheSignalOfOne) {
  EXPECT_EXIT(interrupt_one_of_three(), testing::ExitedWithCode(0), "");
}

std::vector<double> noisy(std::size_t n, double centre, double spread) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(centre, spread);
  std::vector<double> samples(n);
  for (double& sample : samples) sample = noise(random);
  return samples;
}

TEST(SamplingWarnings, AreSilentAboutSteadySamples) {
  EXPECT_TRUE(sampling_warnings(noisy(200, 1.0, 0.01), 0.02).empty());
}

TEST(SamplingWarnings, SayHowWideTheIntervalIs) {
  const auto warnings = sampling_warnings(noisy(20, 1.0, 0.3), 0.02);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("after 20 samples (±2.0 %"), std::string::npos)
      << warnings.front();
}

TEST(SamplingWarnings, SayWhichWayTimesDrift) {
  std::vector<double> samples = noisy(50, 1.0, 0.005);
  const std::vector<double> later = noisy(50, 0.9, 0.005);
  samples.insert(samples.end(), later.begin(), later.end());
  const auto warnings = sampling_warnings(samples, 0.2);
  EXPECT_TRUE(warnings.empty()) << "a drift below what was asked for does not matter";
  const auto strict = sampling_warnings(samples, 0.02);
  ASSERT_FALSE(strict.empty());
  EXPECT_NE(strict.back().find("drift: the second half of the samples is -10."), std::string::npos)
      << strict.back();
}

TEST(SamplingWarnings, SayThatNeighboursResembleEachOther) {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(1 + 0.02 * std::sin(0.1 * std::numbers::pi * i));
  constexpr double wanted = 0.008;
  ASSERT_LE(relative_half_width(summarize(samples)), wanted) << "else the width is warned of";
  const auto warnings = sampling_warnings(samples, wanted);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("neighbouring times resemble each other (correlation 0.8"),
            std::string::npos)
      << warnings.front();
  EXPECT_TRUE(sampling_warnings(samples, 0.03).empty()) << "all are within what was asked for";
  std::shuffle(samples.begin(), samples.end(), std::mt19937(7));
  EXPECT_TRUE(sampling_warnings(samples, wanted).empty()) << "the same in another order";
}

TEST(SamplingWarnings, SayThatFiveSamplesHaveNoInterval) {
  const std::vector<double> five(5, 1.0);
  const std::vector<double> six(6, 1.0);
  EXPECT_EQ(sampling_warnings(five, 0.02).size(), 1U);
  EXPECT_TRUE(sampling_warnings(six, 0.02).empty());
}

TEST(Slowest, IsTheMaximumOverRanksSampleBySample) {
  EXPECT_EQ(slowest_rank({{1, 5, 3}, {2, 4, 3}}), (std::vector<double>{2, 5, 3}));
}

TEST(Slowest, NeedsAsManySamplesOfEachRank) {
  EXPECT_THROW(slowest_rank({{1, 2}, {1}}), std::logic_error);
}

TEST(CacheFlusher, ReadsTwiceTheLastLevelCache) {
  const CacheFlusher flusher(40_MiB);
  EXPECT_EQ(flusher.flush(), std::size_t{80} << 20U);
  EXPECT_EQ(flusher.bytes(), std::size_t{80} << 20U);
}

TEST(CacheFlusher, ReadsNoLessThan64MiB) {
  EXPECT_EQ(CacheFlusher(1_MiB).flush(), std::size_t{64} << 20U);
  EXPECT_EQ(CacheFlusher(Bytes(0)).flush(), std::size_t{64} << 20U);
}

TEST(CacheFlusher, WarnsWhereItHasToGuess) {
  EXPECT_EQ(unknown_size_warnings(Bytes(0)).size(), 1U);
  EXPECT_TRUE(unknown_size_warnings(1_MiB).empty());
}

TEST(CacheState, HasANameThatParsesBack) {
  for (const CacheState state : {CacheState::cold, CacheState::producer, CacheState::hot}) {
    EXPECT_EQ(parse_cache_state(cache_state_name(state)), state);
  }
  EXPECT_THROW(parse_cache_state("warm"), ConfigError);
  EXPECT_THROW(parse_cache_state("rotating"), ConfigError) << "needs several sets of operands";
  constexpr std::array rotating{CacheState::rotating};
  EXPECT_EQ(parse_cache_state("rotating", rotating), CacheState::rotating);
  EXPECT_THROW(parse_cache_state("hot", rotating), ConfigError);
}

TEST(CacheState, RotatesAmongEnoughSetsThatTheOthersFillTheCaches) {
  // 80 MiB have to pass: 8 other sets of 10 MiB, or 9 of a little less.
  EXPECT_EQ(rotation_sets(40_MiB, 10_MiB), 9);
  EXPECT_EQ(rotation_sets(40_MiB, 10_MiB - Bytes(1)), 10);
  EXPECT_EQ(rotation_sets(40_MiB, 1000_MiB), 2);
  EXPECT_EQ(rotation_sets(Bytes(0), 32_MiB), 3);
}

using Pair = std::tuple<int, std::string>;

TEST(Combinations, ComeInTheOrderOfTheFirstListThenOfTheNext) {
  const std::vector<int> numbers{2, 1};
  const std::vector<std::string> words{"a", "b"};
  EXPECT_EQ(combinations(numbers, words),
            (std::vector<Pair>{{2, "a"}, {2, "b"}, {1, "a"}, {1, "b"}}));
}

TEST(Combinations, AreNoneWhereAListIsEmpty) {
  EXPECT_TRUE(combinations(std::vector<int>{1, 2}, std::vector<int>()).empty());
  EXPECT_TRUE(combinations(std::vector<int>(), std::vector<int>{1, 2}).empty());
}

TEST(Combinations, OfOneListAreItsValues) {
  EXPECT_EQ(combinations(std::vector<int>{3, 4}), (std::vector<std::tuple<int>>{{3}, {4}}));
  EXPECT_EQ(combinations().size(), 1U);
}

}  // namespace
}  // namespace dlscale::bench
