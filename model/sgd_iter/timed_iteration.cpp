#include "model/sgd_iter/timed_iteration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/run/run.hpp"
#include "core/text/quantity_text.hpp"
#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/straggler_cost.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

/// Size of a vote on the gradients that are ready. [train/exchange/cycle_exchange.cpp]
constexpr Bytes vote_size = 8_B;

/// Gradients, each with the index, from the last layer on, of the layer after which it is ready.
struct Gradients {
  std::vector<ReadyGradient> ready;
  std::vector<std::size_t> done_after;
};

Gradients gradients_of(const TimedLayers& timed) {
  Gradients gradients;
  Seconds computed;
  for (std::size_t i = 0; i < timed.layers.size(); ++i) {
    const TimedLayer& layer = timed.layers[timed.layers.size() - 1 - i];
    computed += layer.backward;
    if (layer.gradient <= Bytes()) continue;
    gradients.ready.push_back({computed, layer.gradient});
    gradients.done_after.push_back(i);
  }
  return gradients;
}

/// Closes buckets as gradient_buckets() of core/network/step.hpp does.
Groups filled(std::span<const ReadyGradient> gradients, std::optional<Bytes> bucket) {
  Groups groups;
  Bytes held;
  bool open = false;
  for (const ReadyGradient& gradient : gradients) {
    if (!open) {
      groups.push_back(0);
      held = {};
    }
    ++groups.back();
    held += gradient.bytes;
    const Bytes limit = bucket ? *bucket : groups.size() == 1 ? first_bucket_limit : bucket_limit;
    open = held < limit;
  }
  return groups;
}

/// Fits as the engine does, from measured messages of one gradient each.
LinearCost single_cost(std::span<const ReadyGradient> gradients, const TimedExchange& exchange) {
  std::vector<Bytes> sizes;
  std::vector<Seconds> times;
  for (const ReadyGradient& gradient : gradients) {
    sizes.push_back(gradient.bytes);
    times.push_back(exchange.time(gradient.bytes));
  }
  return fit_cost(sizes, times);
}

Groups groups_for(const Run& run, std::span<const ReadyGradient> gradients,
                  const TimedExchange& exchange, std::optional<Bytes> bucket) {
  switch (run.schedule) {
    case Schedule::sequential:
    case Schedule::wait_free:
    case Schedule::horovod:
      return Groups(gradients.size(), 1);
    case Schedule::bucketed:
      return filled(gradients, bucket);
    case Schedule::merged_greedy:
    case Schedule::merged:
      return merge_for(run.schedule, gradients, single_cost(gradients, exchange));
    case Schedule::reduce_scatter_overlap:
    case Schedule::priority:
      break;
  }
  throw ConfigError(fmt::format(
      "{} lets messages travel beside the next forward pass, by reduce-scatters or in parts, of "
      "which times of layers and of all-reduces do not tell what they take. Ask for sequential, "
      "wait_free, bucketed, merged_greedy, merged or horovod.",
      schedule_name(run.schedule)));
}

Packing packing_of(const Run& run, const TimedExchange& exchange, std::size_t messages) {
  Packing packing;
  packing.cycle = run.settings.cycle;
  packing.threshold = run.settings.fusion_threshold;
  packing.vote = exchange.time(vote_size);
  packing.time = exchange.time;
  packing.messages = messages;
  packing.barrier = exchange.barrier;
  return packing;
}

void check_bucket(const Run& run, std::optional<Bytes> bucket) {
  if (!bucket || run.schedule == Schedule::bucketed) return;
  throw ConfigError(
      fmt::format("a bucket of {} changes nothing under {}: only bucketed has buckets. Leave it "
                  "out, or ask for bucketed.",
                  to_text(*bucket), schedule_name(run.schedule)));
}

/// Times of messages, with the ends of their 90 % interval.
struct ExchangeEnds {
  TimedExchange value;
  TimedExchange low;
  TimedExchange high;
  std::optional<TimeSource> source = {};
};

/// The line, and the deviation from it of 90 % of the timed messages.
ExchangeEnds timed_ends(const TimedLayers& layers, std::span<const TimedMessage> messages,
                        int ranks, Notes& notes) {
  const Bytes all =
      std::accumulate(layers.layers.begin(), layers.layers.end(), Bytes(),
                      [](Bytes sum, const TimedLayer& layer) { return sum + layer.gradient; });
  const LinearCost cost = timed_cost(messages, ranks, all, notes);
  std::vector<double> off;
  for (const TimedMessage& message : messages) {
    if (message.ranks != ranks) continue;
    off.push_back(std::abs((cost(message.size) - message.time) / message.time));
  }
  const double factor = 1 + quantile(off, prediction_interval);
  notes.add(NoteKind::timed_message_interval,
            {100 * prediction_interval, 100 * prediction_interval}, {factor, ranks});
  const auto times = [cost](double by) {
    return TimedExchange{[cost, by](Bytes message) { return by * cost(message); }, {}};
  };
  return {{cost, {}}, times(1 / factor), times(factor), TimeSource::fitted};
}

Estimate<Seconds> with_range(Seconds time, const SheetRange& range) {
  return {time, range.low * time, range.high * time};
}

/// The 90 % end of an interval, which is of 95 % for a fitted machine.
Seconds end_of(const Estimate<Seconds>& time, Seconds end, bool fitted) {
  const double scale = fitted ? deviations_of_90 / deviations_of_95 : 1;
  return time.value + scale * (end - time.value);
}

ExchangeEnds machine_ends(const TimedLayers& layers, const Machine& machine, const Run& run,
                          Notes& notes) {
  const Placement place{run.ranks, run.ranks_per_node};
  const auto times = std::make_shared<const MessageTimes>(machine, place, run.schedule, notes);
  const Estimate<Seconds> barrier = barrier_time(machine, place, notes);
  const bool by_sheets = !machine.fitted && machine.collectives.empty();
  const auto at = [&](Seconds Estimate<Seconds>::*end) {
    return TimedExchange{[times, end, by_sheets, fitted = machine.fitted](Bytes message) {
                           Estimate<Seconds> time = times->time(message);
                           if (by_sheets) time = with_range(time.value, message_range);
                           return end_of(time, time.*end, fitted);
                         },
                         end_of(barrier, barrier.*end, machine.fitted)};
  };
  ExchangeEnds ends{at(&Estimate<Seconds>::value), at(&Estimate<Seconds>::low),
                    at(&Estimate<Seconds>::high)};
  for (const TimedLayer& layer : layers.layers) {
    if (layer.gradient > Bytes()) {
      ends.source = less_sure(ends.source, times->source(layer.gradient));
    }
  }
  return ends;
}

ExchangeEnds ends_of(const TimedLayers& layers, const MessageSource& source, const Run& run,
                     Notes& notes) {
  if (run.ranks == 1) return {};
  return source.machine == nullptr ? timed_ends(layers, source.timed, run.ranks, notes)
                                   : machine_ends(layers, *source.machine, run, notes);
}

/// The same messages with other times.
IterationPlan with_times(IterationPlan plan, const TimedExchange& exchange) {
  for (BackwardPart& part : plan.backward) {
    if (part.message) part.message = exchange.time(part.size);
  }
  plan.barrier = exchange.barrier;
  if (plan.packing) {
    plan.packing->vote = exchange.time(vote_size);
    plan.packing->time = exchange.time;
    plan.packing->barrier = exchange.barrier;
  }
  return plan;
}

/// The largest of nine relative errors of such predictions of measured iterations: GoogLeNet on 2,
/// 4 and 8 nodes. [results/published/README.md, "From a trace of layers to a training"]
constexpr double largest_error_of_trace = 0.088;

/// Adds the interval: errors of messages and of the rest are independent.
void add_interval(const IterationPlan& plan, const ExchangeEnds& ends, Prediction& prediction,
                  Notes& notes) {
  if (prediction.run.ranks == 1) {
    notes.add(NoteKind::timed_no_interval);
    return;
  }
  const Seconds total = prediction.time.total;
  const Seconds rest = largest_error_of_trace * total;
  const Seconds quick = simulate_iteration(with_times(plan, ends.low)).total;
  const Seconds slow = simulate_iteration(with_times(plan, ends.high)).total;
  const auto together = [&](Seconds messages) {
    return Seconds(std::hypot(std::max(0.0, messages.si()), rest.si()));
  };
  prediction.low = total - together(total - quick);
  prediction.high = total + together(slow - total);
  notes.add(NoteKind::timed_rest_interval, {100 * largest_error_of_trace});
}

PhaseSources sources_of(const TimedLayers& layers, const ExchangeEnds& ends) {
  const auto told = [&](std::string_view column) {
    return std::ranges::find(layers.untold, column) == layers.untold.end()
               ? std::optional(TimeSource::measured)
               : std::nullopt;
  };
  return {told("io_s"),         told("h2d_s"), TimeSource::measured,
          TimeSource::measured, ends.source,   told("update_s")};
}

void note_layers(const TimedLayers& layers, Notes& notes) {
  if (layers.untold.empty()) return;
  notes.add(NoteKind::timed_unknown, {fmt::format("{}", fmt::join(layers.untold, ", "))});
}

}  // namespace

LinearCost timed_cost(std::span<const TimedMessage> messages, int ranks, Bytes largest,
                      Notes& notes) {
  std::vector<Bytes> sizes;
  std::vector<Seconds> times;
  std::set<int> timed;
  for (const TimedMessage& message : messages) {
    timed.insert(message.ranks);
    if (message.ranks != ranks) continue;
    sizes.push_back(message.size);
    times.push_back(message.time);
  }
  if (sizes.empty()) {
    throw ConfigError(
        fmt::format("no all-reduce was timed on {} ranks, and nothing tells how it gets there from "
                    "the numbers that were ({}). Ask for one of these, time it, or name a cluster "
                    "or a machine instead.",
                    ranks, fmt::join(timed, ", ")));
  }
  const auto [least, most] = std::ranges::minmax(sizes);
  if (least == most) {
    throw ConfigError(
        fmt::format("all all-reduces on {} ranks were timed with {}, which does not tell start-ups "
                    "from transfers. Time two sizes or more.",
                    ranks, to_text(least)));
  }
  const LinearCost cost = fit_cost(sizes, times);
  std::vector<double> residuals;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    residuals.push_back(std::abs((cost(sizes[i]) - times[i]) / times[i]));
  }
  notes.add(NoteKind::timed_line, {},
            {cost.a, cost.b.si() * 1e9, ranks, 100 * median(residuals), residuals.size()});
  const std::size_t worst =
      static_cast<std::size_t>(std::ranges::max_element(residuals) - residuals.begin());
  if (residuals[worst] > 1) {
    notes.add(NoteKind::timed_line_missed, {},
              {sizes[worst], ranks, times[worst], cost(sizes[worst])});
  }
  if (largest > most) {
    notes.add(NoteKind::timed_line_extended, {}, {largest, most, ranks});
  }
  return cost;
}

IterationPlan timed_plan(const TimedLayers& timed, const Run& run, const TimedExchange& exchange,
                         std::optional<Bytes> bucket, Notes& notes) {
  check_bucket(run, bucket);
  IterationPlan plan;
  plan.load = timed.io;
  plan.prefetch = run.prefetch;
  plan.h2d = LaunchedWork(timed.h2d);
  plan.forward = LaunchedWork(timed.forward());
  plan.update = LaunchedWork(timed.update);
  plan.schedule = run.schedule;
  plan.input_copy = run.input_copy;
  std::size_t done = 0;
  const auto advance_to = [&](std::size_t end) {
    Seconds compute;
    for (; done < end; ++done) {
      compute += timed.layers[timed.layers.size() - 1 - done].backward;
    }
    plan.backward.push_back({LaunchedWork(compute), {}});
  };
  if (run.ranks > 1) {
    const Gradients gradients = gradients_of(timed);
    const Groups groups = groups_for(run, gradients.ready, exchange, bucket);
    std::size_t first = 0;
    for (const std::size_t count : groups) {
      Bytes size;
      for (std::size_t i = first; i < first + count; ++i) size += gradients.ready[i].bytes;
      first += count;
      advance_to(gradients.done_after[first - 1] + 1);
      plan.backward.back().message = exchange.time(size);
      plan.backward.back().size = size;
    }
    plan.barrier = exchange.barrier;
    if (run.schedule == Schedule::horovod) {
      plan.packing = packing_of(run, exchange, groups.size());
    } else if (groups.size() < gradients.ready.size()) {
      notes.add(NoteKind::timed_groups, {schedule_name(run.schedule), gradients.ready.size()},
                {groups.size(), run.ranks});
    }
  }
  advance_to(timed.layers.size());
  return plan;
}

namespace {

/// The interval of a speed-up over the timed layers, relative to it: the time of one rank is that
/// of the layers, whose scatter is not known.
std::optional<QuantityInterval> relative_to_timed(const Prediction& prediction) {
  if (!prediction.low || *prediction.low <= Seconds()) return {};
  const Seconds total = prediction.time.total;
  return QuantityInterval{total / *prediction.high, total / *prediction.low};
}

}  // namespace

Prediction predict_timed(const TimedLayers& layers, const MessageSource& source, const Run& run,
                         std::optional<Bytes> bucket, const RankSpread& spread) {
  EXPECT(source.timed.empty() == (source.machine != nullptr));
  const auto of = [&](int ranks, Prediction& prediction) {
    Notes notes;
    prediction.run = run;
    prediction.run.ranks = ranks;
    note_layers(layers, notes);
    const ExchangeEnds ends = ends_of(layers, source, prediction.run, notes);
    const IterationPlan plan = timed_plan(layers, prediction.run, ends.value, bucket, notes);
    prediction.time = simulate_iteration(plan);
    prediction.sources = sources_of(layers, ends);
    add_interval(plan, ends, prediction, notes);
    prediction.closed_form = closed_form(plan, prediction.closed_form_absent);
    add_stragglers(plan, spread, prediction, notes);
    prediction.images_per_s = throughput(ranks, run.batch, prediction.time.total);
    prediction.bound = bound_by(prediction.time, false);
    prediction.notes = notes.all();
  };
  Prediction alone;
  of(1, alone);
  Prediction prediction;
  of(run.ranks, prediction);
  set_speedup(prediction.images_per_s / alone.images_per_s, relative_to_timed(prediction),
              prediction);
  return prediction;
}

}  // namespace dlscale::model
