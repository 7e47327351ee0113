#include "model/published/scaling/time/scaled_time.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/order_statistics.hpp"
#include "model/fits/increasing_root.hpp"

namespace dlscale::model::scaling {
namespace {

constexpr double backward_share = 2.0 / 3;  // two of the three passes of forward and backward
/// Number of Horovod's fused messages, one for each eighth of backward, as in message_lists().
constexpr double fused_messages = 8;

bool by_servers(const TrainingFacts& facts) {
  return facts.synchronisation != cases::Synchronisation::all_reduce;
}

double tensors(const TrainingFacts& facts) {
  return static_cast<double>(facts.profile.tensors.size());
}

Seconds between(Seconds a, Seconds b) {
  return std::max(a, b) - std::min(a, b);
}

bool tells_overlap(const TrainingFacts& facts) {
  return facts.overlap != cases::Overlap::unknown && facts.overlap != cases::Overlap::other;
}

/// The cost of an exchange whose messages take `messages` times as long.
ExchangeCost cost_of(const TrainingFacts& facts, const Layout& layout, const Parameters& p,
                     double messages) {
  ExchangeCost cost = exchange_cost(facts, layout, p);
  for (Seconds* part : {&cost.messages.transfer, &cost.messages.startup, &cost.messages.agreement,
                        &cost.in_doubt}) {
    *part = messages * *part;
  }
  return cost;
}

void expect_facts(const TrainingFacts& facts) {
  EXPECT(facts.gradient > Bytes() && facts.parameters > 0 && !facts.profile.tensors.empty());
  EXPECT(facts.given_iteration > Seconds() && facts.given_batch > 0 && facts.batch > 0);
  EXPECT(facts.node_bandwidth > BytesPerSecond() && facts.memory_bandwidth > BytesPerSecond());
  const bool one_node = facts.given.nodes == 1 && facts.asked.nodes == 1;
  EXPECT(one_node || facts.cluster_bandwidth > BytesPerSecond());
}

/// One message for each tensor, a grouping that a merging scheduler may choose.
std::vector<ScalingMessage> unmerged(const TrainingFacts& facts) {
  double elements = 0;
  for (const GradientTensor& tensor : facts.profile.tensors) elements += tensor.elements;
  std::vector<ScalingMessage> messages;
  for (const GradientTensor& tensor : facts.profile.tensors) {
    messages.push_back({tensor.elements / elements * facts.gradient, tensor.ready});
  }
  return messages;
}

}  // namespace

ScalingModel::Crowd ScalingModel::crowd_of(const Layout& layout) {
  EXPECT(layout.gpus >= 1 && layout.nodes >= 1 && layout.gpus_on_node >= 1);
  return {layout, expected_normal_maximum(layout.gpus), std::log2(layout.nodes)};
}

ScalingModel::ScalingModel(TrainingFacts facts)
    : facts_(std::move(facts)), given_(crowd_of(facts_.given)), asked_(crowd_of(facts_.asked)) {
  expect_facts(facts_);
  for (const auto& list : message_lists(facts_)) {
    lists_.push_back({MessageSchedule(list), list.size() == facts_.profile.tensors.size()});
  }
  if (facts_.overlap == cases::Overlap::merged) {
    lists_.push_back({MessageSchedule(unmerged(facts_)), true});
  }
  EXPECT(!lists_.empty());
}

namespace {

/// The factor r for e_N = `slowest`.
double waiting_of(const TrainingFacts& facts, double slowest, const Parameters& p) {
  const double age = std::max(facts.launched - 2017, 0);
  const double left = std::clamp(1 - p[Parameter::jitter_decline] * age, 0.15, 1.0);
  const double even = p[Parameter::jitter] * slowest * left;
  if (!facts.uneven_samples) return even;
  return even + p[Parameter::uneven_jitter] * std::min(slowest, 1.5);
}

}  // namespace

double waiting_share(const TrainingFacts& facts, int gpus, const Parameters& parameters) {
  EXPECT(gpus >= 1);
  return waiting_of(facts, expected_normal_maximum(gpus), parameters);
}

ScalingModel::Exchange ScalingModel::across_iterations(Seconds compute, Seconds all,
                                                       const Parameters& p) const {
  Exchange exchange;
  exchange.exposed = std::max(all / tensors(facts_), all - compute);
  exchange.interference = p[Parameter::interference] * (all - exchange.exposed);
  exchange.all = all;
  return exchange;
}

ScalingModel::Exchange ScalingModel::best_of_lists(Seconds backward, const ExchangeCost& cost,
                                                   const Parameters& p) const {
  MessageCost each = cost.messages;
  const auto& cycle = facts_.framework.fusion_cycle;
  if (cycle && facts_.framework.coordinator && facts_.overlap == cases::Overlap::bucketed) {
    // At most one message starts in a cycle, so a short backward pass has fewer.
    const double messages = std::clamp(backward / *cycle, 1.0, fused_messages);
    each.startup = each.startup * (messages / fused_messages);
    each.agreement = each.agreement * (messages / fused_messages);
  }
  // Merged tensors are gathered only after the previous message is sent.
  MessageCost in_turn = each;
  in_turn.startup += in_turn.agreement;
  in_turn.agreement = Seconds();
  const double competing = cost.on_gpu ? p[Parameter::interference] : 0;
  Exchange best;
  for (const List& list : lists_) {
    const ExposedMessages messages =
        list.schedule.beside(backward, list.one_by_one ? each : in_turn);
    const auto count = static_cast<double>(list.schedule.size());
    const Seconds on_link = each.transfer + count * each.startup;
    const Seconds hidden = std::clamp(messages.all - messages.exposed, Seconds(), on_link);
    const Exchange one = {messages.exposed, competing * hidden, messages.all, Seconds()};
    const bool first = &list == &lists_.front();
    if (first || one.exposed + one.interference < best.exposed + best.interference) best = one;
  }
  return best;
}

Seconds ScalingModel::update(Seconds compute, const Parameters& p) const {
  const Bytes once(4 * facts_.parameters);
  return std::min(p[Parameter::update_passes] * once / facts_.memory_bandwidth, 0.5 * compute);
}

/// The parts that a time of computing alone lacks. They are the update and the launches of an
/// interpreter, as in at_batch_asked(), and the copy of a batch from the host.
Seconds ScalingModel::left_out(Seconds compute, const Parameters& p) const {
  const Seconds launching(facts_.framework.eager ? p[Parameter::eager_launch] : 0);
  const Seconds input = facts_.batch * facts_.sample / to_host(facts_, p);
  return update(compute, p) + launching + input;
}

/// The time t_b.
Seconds ScalingModel::backward_of(Seconds compute, const Parameters& p) const {
  if (facts_.backward_share) return *facts_.backward_share * compute;
  const Seconds updating = facts_.given_computes_only ? Seconds() : update(compute, p);
  return backward_share * (compute - updating);
}

/// The exchange E, where `compute` is that of the slowest worker.
ScalingModel::Exchange ScalingModel::exchange(Seconds compute, const ExchangeCost& cost,
                                              const Parameters& p) const {
  const MessageCost& messages = cost.messages;
  if (by_servers(facts_) && facts_.overlap == cases::Overlap::none) {
    return {messages.transfer, Seconds(), messages.transfer, Seconds()};
  }
  if (by_servers(facts_) && facts_.framework.eager && tells_overlap(facts_)) {
    return best_of_lists(backward_of(compute, p), cost, p);
  }
  if (by_servers(facts_)) {
    Exchange exchange = across_iterations(compute, messages.transfer, p);
    if (!tells_overlap(facts_)) {
      exchange.in_doubt = between(messages.transfer, exchange.exposed + exchange.interference);
    }
    return exchange;
  }
  const Seconds sequential = messages.transfer + messages.startup + messages.agreement;
  const Seconds backward = backward_of(compute, p);
  switch (facts_.overlap) {
    case cases::Overlap::none:
      return {sequential, Seconds(), sequential, Seconds()};
    case cases::Overlap::scheduled: {
      Exchange exchange = across_iterations(compute, messages.transfer, p);
      if (!facts_.framework.coordinator) return exchange;
      const Seconds scheduling = Seconds(tensors(facts_) * p[Parameter::scheduling]);
      exchange.exposed += scheduling;
      exchange.all += scheduling;
      return exchange;
    }
    case cases::Overlap::unknown:
    case cases::Overlap::other: {
      const Exchange best = best_of_lists(backward, cost, p);
      const double none =
          facts_.framework.packs_all ? 1 : std::min(p[Parameter::no_overlap_share], 1.0);
      const double some = 1 - none;
      return {some * best.exposed + none * sequential, some * best.interference,
              some * best.all + none * sequential,
              between(sequential, best.exposed + best.interference)};
    }
    case cases::Overlap::wfbp:
    case cases::Overlap::bucketed:
    case cases::Overlap::merged:
    case cases::Overlap::bucketed_async_tp:
      return best_of_lists(backward, cost, p);
  }
  fail_expectation("an overlap of the enumeration");
}

ScaledTime ScalingModel::beside_others(Seconds compute, const Crowd& crowd,
                                       const ExchangeCost& cost, const Parameters& p) const {
  const double r = waiting_of(facts_, crowd.slowest, p);
  const Exchange communication = exchange((1 + r) * compute, cost, p);
  ScaledTime time;
  time.compute = compute;
  time.transfer = communication.exposed;
  time.interference = communication.interference;
  time.communication = communication.all;
  time.in_doubt = communication.in_doubt + cost.in_doubt;
  time.copies = p[Parameter::copy_passes] * facts_.gradient / facts_.memory_bandwidth;
  time.waiting = r * compute + Seconds(p[Parameter::jitter_of_nodes] * crowd.doublings);
  if (facts_.given_computes_only) {
    time.host = left_out(compute, p);
  }
  time.total =
      time.compute + time.transfer + time.interference + time.copies + time.waiting + time.host;
  return time;
}

ScaledTime ScalingModel::at(Seconds compute, const Crowd& crowd, const Parameters& p,
                            double messages) const {
  if (crowd.layout.gpus == 1) {
    ScaledTime time;
    time.compute = compute;
    if (facts_.given_computes_only) time.host = left_out(compute, p);
    time.total = time.compute + time.host;
    return time;
  }
  return beside_others(compute, crowd, cost_of(facts_, crowd.layout, p, messages), p);
}

/// t_c at the given batch, and a.
ScalingModel::Anchor ScalingModel::anchor(const Parameters& p, double messages) const {
  const Seconds given = facts_.given_iteration;
  if (given_.layout.gpus == 1 || facts_.given_computes_only) return {given, 1};
  const ExchangeCost cost = cost_of(facts_, given_.layout, p, messages);
  const auto beside = [&](Seconds compute) {
    return beside_others(compute, given_, cost, p).total;
  };
  const auto excess = [&](double compute) { return (beside(Seconds(compute)) - given).si(); };
  const Seconds compute(increasing_root(excess, 0.2 * given.si(), given.si(), 1e-13 * given.si()));
  const Seconds more = beside(compute) - compute;
  return {compute, more > Seconds() ? std::min((given - compute) / more, 1.0) : 1.0};
}

Seconds ScalingModel::at_batch_asked(Seconds compute, const Parameters& p) const {
  const FrameworkTraits& framework = facts_.framework;
  const double launch =
      p[Parameter::launch] * (framework.graphs ? p[Parameter::launch_of_graphs] : 1) +
      (framework.eager ? p[Parameter::eager_launch] : 0);
  const Seconds launching = std::min(Seconds(launch), 0.5 * compute);
  const Seconds fixed = std::min(update(compute, p) + launching, 0.6 * compute);
  return fixed + (compute - fixed) * (facts_.batch / facts_.given_batch);
}

double ScalingModel::differs() const {
  if (facts_.given_computes_only) return 1;
  const double gpus = static_cast<double>(facts_.asked.gpus) / facts_.given.gpus;
  const double batch = facts_.batch / facts_.given_batch;
  return std::min(std::abs(std::log2(gpus)) + std::abs(std::log2(batch)), 1.0);
}

ScaledTime ScalingModel::time(const Parameters& parameters) const {
  return scaled(parameters, 1);
}

ScaledTime ScalingModel::judged(const Parameters& parameters) const {
  ScaledTime time = scaled(parameters, 1);
  time.slower = scaled(parameters, 2).total;
  return time;
}

ScaledTime ScalingModel::scaled(const Parameters& parameters, double messages) const {
  const Anchor given = anchor(parameters, messages);
  ScaledTime time = at(at_batch_asked(given.compute, parameters), asked_, parameters, messages);
  for (Seconds* part : {&time.transfer, &time.interference, &time.copies, &time.waiting, &time.host,
                        &time.communication, &time.in_doubt}) {
    *part = given.share * *part;
  }
  time.total =
      time.compute + time.transfer + time.interference + time.copies + time.waiting + time.host;
  const Seconds in_proportion = given.compute * (facts_.batch / facts_.given_batch);
  time.overhead = std::clamp(1 - in_proportion / time.total, 0.0, 0.95);
  time.differs = differs();
  return time;
}

}  // namespace dlscale::model::scaling
