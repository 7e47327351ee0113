#include "model/goodput/training_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "model/goodput/checkpoints.hpp"
#include "model/goodput/failure_facts.hpp"
#include "model/goodput/job_failures.hpp"
#include "model/goodput/simulated_training.hpp"
#include "model/goodput/spares.hpp"

namespace dlscale::model::goodput {
namespace {

constexpr double joules_a_kwh = 3.6e6;

/// One value of everything that is uncertain.
struct Inputs {
  double iteration_s = 1;
  double mtbf_scale = 1;
  double restart_s = 0;
  double repair_h = 0;
  double write_share = 1;
  double copies = 1;
  double computing_power = 1;
  double exposed_power = 1;
  double idle_power = 1;
  double host_power = 1;
};

/// An uncertain input with its interval.
struct UncertainInput {
  double Inputs::*value;
  Uncertain range;
};

std::array<UncertainInput, 10> uncertain_inputs(const CostQuestion& question,
                                                const FailureFacts& facts) {
  return {{{&Inputs::iteration_s,
            {question.iteration.si(), question.iteration_low.si(), question.iteration_high.si()}},
           {&Inputs::mtbf_scale, facts.mtbf_scale},
           {&Inputs::restart_s, facts.restart_s},
           {&Inputs::repair_h, facts.repair_h},
           {&Inputs::write_share, facts.write_share},
           {&Inputs::copies, facts.node_disk_copies},
           {&Inputs::computing_power, facts.computing_power},
           {&Inputs::exposed_power, facts.exposed_power},
           {&Inputs::idle_power, facts.idle_power},
           {&Inputs::host_power, facts.host_power}}};
}

/// The job's failures, and how it copes with them.
struct Job {
  std::array<double, component_count> failures{};  ///< a second
  CheckpointedJob checkpoints;
  Seconds work;  ///< iterations and what is beside them
  [[nodiscard]] double node_failures() const {
    return failures[static_cast<std::size_t>(Component::device)] +
           failures[static_cast<std::size_t>(Component::host)];
  }
};

Job job_of(const CostQuestion& question, const FailureFacts& facts, const Inputs& inputs) {
  Job job;
  job.failures = failures_per_s(question, facts, inputs.mtbf_scale);
  const CheckpointTimes times = checkpoint_times(question, inputs.write_share, inputs.copies);
  job.checkpoints = {std::accumulate(job.failures.begin(), job.failures.end(), 0.0), times.stall,
                     times.write, Seconds(inputs.restart_s) + times.read};
  job.work = question.samples / question.samples_per_iteration * Seconds(inputs.iteration_s) +
             question.beside_iterations;
  return job;
}

/// The interval that is used: `asked` or the best one, but never shorter than an iteration or a
/// write in the background, nor longer than the training.
Seconds interval_of(const Job& job, Seconds iteration, std::optional<Seconds> asked) {
  const Seconds wanted = asked.value_or(best_interval(job.checkpoints));
  if (std::isinf(wanted.si())) return wanted;  // nothing fails, and no checkpoint is taken
  const Seconds least = std::max(iteration, job.checkpoints.write - job.checkpoints.stall);
  return std::max(least, std::min(wanted, job.work));
}

/// Mean power of one device and of its share of the node, in watts.
struct PhasePower {
  double iteration = 0;
  double idle = 0;
  double host = 0;
};

std::optional<PhasePower> power_of(const CostQuestion& question, const Inputs& inputs) {
  const Power& power = question.power;
  const std::optional<double> rated = power.board_w ? power.board_w : power.device_w;
  if (!rated) return {};
  const PhaseShares& shares = question.shares;
  const double mixed =
      *rated * (shares.computing * inputs.computing_power + shares.exposed * inputs.exposed_power +
                shares.idle * inputs.idle_power);
  return PhasePower{power.device_w.value_or(mixed), *rated * inputs.idle_power,
                    power.host_w.value_or(*rated * inputs.host_power)};
}

/// Everything that follows from one value of the inputs.
struct Outcome {
  double plain_s = 0;
  double time_s = 0;
  double goodput = 0;
  double failures = 0;
  double plain_kwh = 0;
  double kwh = 0;
  TimeShares shares;
};

TimeShares time_shares(const CheckpointedJob& job, Seconds every, double waiting) {
  const double running = 1 - waiting;
  const double useful = useful_share(job, every);
  const double stalled = std::isinf(every.si()) ? 0 : useful * (job.stall / every);
  const double restarts = -std::expm1(-job.failures_per_s * job.restart.si());
  const double repeated = std::max(0.0, 1 - restarts - useful - stalled);
  return {running * useful, running * stalled, running * repeated, running * restarts, waiting};
}

double waiting_of(const CostQuestion& question, const Job& job, const Inputs& inputs) {
  if (!question.spares) return 0;
  return waiting_share(job.node_failures() * inputs.repair_h * seconds_an_hour, *question.spares);
}

void add_energy(const CostQuestion& question, const PhasePower& power, Outcome& outcome) {
  const TimeShares& shares = outcome.shares;
  const double busy = shares.useful + shares.repeated;
  const double spares = static_cast<double>(question.spares.value_or(0)) *
                        question.devices_per_node * (power.idle + power.host);
  const double scale = question.power.pue / joules_a_kwh;
  const double all = busy * power.iteration + (1 - busy) * power.idle + power.host;
  outcome.plain_kwh = scale * question.devices * (power.iteration + power.host) * outcome.plain_s;
  outcome.kwh = scale * (question.devices * all + spares) * outcome.time_s;
}

Outcome outcome_of(const CostQuestion& question, const FailureFacts& facts, const Inputs& inputs,
                   std::optional<Seconds> asked) {
  const Job job = job_of(question, facts, inputs);
  const Seconds every = interval_of(job, Seconds(inputs.iteration_s), asked);
  Outcome outcome;
  outcome.shares = time_shares(job.checkpoints, every, waiting_of(question, job, inputs));
  outcome.plain_s = job.work.si();
  outcome.goodput = outcome.shares.useful;
  constexpr double endless = std::numeric_limits<double>::max();
  outcome.time_s = outcome.goodput > 0 ? job.work.si() / outcome.goodput : endless;
  outcome.failures = job.checkpoints.failures_per_s * outcome.time_s * (1 - outcome.shares.waiting);
  if (const auto power = power_of(question, inputs)) add_energy(question, *power, outcome);
  return outcome;
}

/// Squared distances of both ends of an interval, in logarithms.
struct Width {
  double down = 0;
  double up = 0;
  void add(double ratio) {
    const double distance = std::log(std::clamp(ratio, 1e-6, 1e6));  // a training may not end
    (distance < 0 ? down : up) += distance * distance;
  }
  [[nodiscard]] Uncertain about(double value) const {
    return {value, value * std::exp(-std::sqrt(down)), value * std::exp(std::sqrt(up))};
  }
};

/// The outcomes at both ends of each uncertain input, the others at their values.
struct Ends {
  Outcome middle;
  std::vector<std::array<Outcome, 2>> ends;

  /// The interval of a part: the distances of all inputs, which are independent, and that of
  /// chance.
  [[nodiscard]] Uncertain of(double Outcome::*part, double chance = 0) const {
    const double value = middle.*part;
    if (value <= 0) return Uncertain::exactly(value);
    Width width;
    for (const auto& pair : ends) {
      const double low = std::min({pair[0].*part, pair[1].*part, value});
      const double high = std::max({pair[0].*part, pair[1].*part, value});
      width.add(low / value);
      width.add(high / value);
    }
    width.down += chance * chance;
    width.up += chance * chance;
    return width.about(value);
  }
};

/// All inputs at their values.
Inputs middle_of(std::span<const UncertainInput> inputs) {
  Inputs middle;
  for (const UncertainInput& one : inputs) middle.*one.value = one.range.value;
  return middle;
}

Ends ends_of(const CostQuestion& question, const FailureFacts& facts, Seconds every) {
  const auto inputs = uncertain_inputs(question, facts);
  const Inputs middle = middle_of(inputs);
  Ends all{outcome_of(question, facts, middle, every), {}};
  for (const UncertainInput& one : inputs) {
    Inputs low = middle;
    Inputs high = middle;
    low.*one.value = one.range.low;
    high.*one.value = one.range.high;
    all.ends.push_back(
        {outcome_of(question, facts, low, every), outcome_of(question, facts, high, every)});
  }
  return all;
}

/// Half the 90 % interval that chance alone gives the time, relative to it: from simulated
/// trainings, as many as have 20,000 failures together, up to 64. 0 where that would be fewer than
/// eight, since chance is then far below what is not known of the rates.
double chance_of(const CostQuestion& question, const Job& job, Seconds every, double repair_h,
                 double failures) {
  const auto runs = static_cast<int>(std::min(64.0, 2e4 / std::max(1.0, failures)));
  if (runs < 8 || failures == 0) return 0;
  const TrainingRun run{
      job.checkpoints, every, job.work, job.node_failures(), Seconds(repair_h * seconds_an_hour),
      question.spares};
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < runs; ++i) {
    const double time = simulate_training(run, static_cast<std::uint64_t>(i) + 1).total().si();
    sum += time;
    squares += time * time;
  }
  const double mean = sum / runs;
  const double variance = std::max(0.0, squares / runs - mean * mean) * runs / (runs - 1);
  return quantile_of_95 * std::sqrt(variance) / mean;
}

Uncertain scaled(const Uncertain& one, double by) {
  return {one.value * by, one.low * by, one.high * by};
}

bool is_between(double value, double least, double most) {
  return value >= least && value <= most;
}

void expect_question(const CostQuestion& question) {
  constexpr double most = 1e300;
  EXPECT(is_between(question.iteration_low.si(), 1e-12, question.iteration.si()));
  EXPECT(is_between(question.iteration_high.si(), question.iteration.si(), most));
  EXPECT(is_between(question.samples_per_iteration, 1e-12, most));
  EXPECT(is_between(question.samples, 1e-12, most));
  EXPECT(is_between(question.beside_iterations.si(), 0, most));
  EXPECT(question.devices >= 1 && question.devices_per_node >= 1);
  EXPECT(is_between(question.state.si(), 0, most));
  EXPECT(question.storage.read.si() >= 0 && question.host_link.si() >= 0);
  const PhaseShares& shares = question.shares;
  EXPECT(shares.computing >= 0 && shares.exposed >= 0 && shares.idle >= 0);
  EXPECT(std::abs(shares.computing + shares.exposed + shares.idle - 1) < 1e-6);
  EXPECT(is_between(question.power.pue, 1, 1e6));
  EXPECT(question.spares.value_or(0) >= 0);
  EXPECT(!question.checkpoint.every || question.checkpoint.every->si() > 0);
}

void refuse_endless(const Job& job, const Outcome& outcome) {
  constexpr double least_goodput = 0.01;
  if (outcome.goodput >= least_goodput) return;
  throw ConfigError(fmt::format(
      "the training would not end in a hundred times its length: a failure comes every {}, and "
      "each restart takes {}. Ask for fewer devices, or state a longer time between failures.",
      to_text(Seconds(1 / job.checkpoints.failures_per_s)), to_text(job.checkpoints.restart)));
}

void refuse_short_interval(const CostQuestion& question, const Job& job) {
  const std::optional<Seconds> every = question.checkpoint.every;
  if (!every || *every + job.checkpoints.stall >= job.checkpoints.write) return;
  throw ConfigError(
      fmt::format("a checkpoint every {} is asked for, and writing one takes {} in the background. "
                  "Ask for a longer time between checkpoints.",
                  to_text(*every), to_text(job.checkpoints.write)));
}

}  // namespace

std::optional<PhaseWatts> phase_watts(const CostQuestion& question) {
  const Inputs middle = middle_of(uncertain_inputs(question, failure_facts()));
  const auto watts = [&](PhaseShares shares) -> std::optional<double> {
    CostQuestion all = question;
    all.shares = shares;
    const std::optional<PhasePower> power = power_of(all, middle);
    if (!power) return {};
    return question.power.pue * (power->iteration + power->host);
  };
  const std::optional<double> computing = watts({1, 0, 0});
  if (!computing) return {};
  return PhaseWatts{*computing, *watts({0, 1, 0}), *watts({0, 0, 1})};
}

Seconds expected_time(const CostQuestion& question, Seconds iteration) {
  const FailureFacts& facts = failure_facts();
  Inputs middle = middle_of(uncertain_inputs(question, facts));
  middle.iteration_s = iteration.si();
  return Seconds(outcome_of(question, facts, middle, question.checkpoint.every).time_s);
}

TrainingCost training_cost(const CostQuestion& question) {
  expect_question(question);
  const FailureFacts& facts = failure_facts();
  const Inputs middle = middle_of(uncertain_inputs(question, facts));
  const Job job = job_of(question, facts, middle);
  refuse_short_interval(question, job);
  const Seconds every = interval_of(job, question.iteration, question.checkpoint.every);
  const Ends ends = ends_of(question, facts, every);
  refuse_endless(job, ends.middle);
  const double chance = chance_of(question, job, every, middle.repair_h, ends.middle.failures);

  TrainingCost cost;
  cost.question = question;
  cost.iterations = question.samples / question.samples_per_iteration;
  cost.plain_s = ends.of(&Outcome::plain_s);
  cost.time_s = ends.of(&Outcome::time_s, chance);
  const double paid = question.devices +
                      static_cast<double>(question.spares.value_or(0)) * question.devices_per_node;
  cost.plain_device_hours = scaled(cost.plain_s, question.devices / seconds_an_hour);
  cost.device_hours = scaled(cost.time_s, paid / seconds_an_hour);
  if (question.price_per_device_hour) {
    cost.plain_price = scaled(cost.plain_device_hours, *question.price_per_device_hour);
    cost.price = scaled(cost.device_hours, *question.price_per_device_hour);
  }
  if (power_of(question, middle)) {
    cost.plain_kwh = ends.of(&Outcome::plain_kwh);
    cost.kwh = ends.of(&Outcome::kwh, chance);
  }
  cost.goodput = ends.of(&Outcome::goodput, chance);
  cost.goodput.high = std::min(1.0, cost.goodput.high);
  cost.shares = ends.middle.shares;
  cost.failures = ends.of(&Outcome::failures);
  const double rate = job.checkpoints.failures_per_s;
  for (std::size_t i = 0; i < component_count; ++i) {
    cost.failures_of[i] = rate > 0 ? cost.failures.value * job.failures[i] / rate : 0;
  }
  cost.mtbf = Seconds(rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity());
  cost.checkpoint_every = every;
  cost.checkpoint_is_best = !question.checkpoint.every;
  cost.checkpoint_stall = job.checkpoints.stall;
  cost.checkpoint_write = job.checkpoints.write;
  cost.restart = job.checkpoints.restart;
  cost.spares_for_95 = spares_for(job.node_failures() * middle.repair_h * seconds_an_hour, 0.95);
  return cost;
}

}  // namespace dlscale::model::goodput
