#include "model/sgd_iter/graph/iteration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/error.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration_graph.hpp"

namespace dlscale::model {
namespace {

/// Times of computing beside messages, and the exposed part of those.
struct CommTimes {
  Seconds forward;
  Seconds backward;
  Seconds update;
  Seconds exposed;  ///< after backward, before the update
  Seconds gathers;  ///< after the update
  Seconds all;
};

/// The parts of backward as lists, messages and gathers with the meetings before them.
struct BackwardLists {
  std::vector<Seconds> compute;
  std::vector<Seconds> comm;
  std::vector<Bytes> sizes;
  Seconds backward;
  Seconds gathers;
  explicit BackwardLists(const IterationPlan& plan) {
    std::size_t sent = 0;
    std::size_t gathered = 0;
    for (const BackwardPart& part : plan.backward) {
      compute.push_back(part.compute.device);
      comm.push_back(part.message ? plan.barrier_before(sent++) + *part.message : Seconds());
      sizes.push_back(part.message ? part.size : Bytes());
      backward += part.compute.device;
      if (part.gather) gathers += plan.barrier_before_gather(gathered++) + *part.gather;
    }
  }
};

/// Moves what the slowest rank computes longer than the mean to exposed communication.
IterationTime with_waiting(IterationTime time, const IterationPlan& plan) {
  if (plan.slowest == 1) return time;
  const double share = 1 - 1 / plan.slowest;
  const auto move = [&](Seconds work, Seconds& phase) {
    phase -= share * work;
    time.exposed_comm += share * work;
  };
  move(plan.forward.device, time.forward);
  move(plan.update.device, time.update);
  for (const ForwardPart& part : plan.late) {
    move(part.compute.device, time.forward);
    move(part.update.device, time.update);
  }
  for (const BackwardPart& part : plan.backward) move(part.compute.device, time.backward);
  return time;
}

bool contends(const IterationPlan& plan) {
  return !plan.contention.empty() && plan.overlaps();
}

std::vector<ContendedPart> contended_parts(const IterationPlan& plan) {
  std::vector<ContendedPart> parts;
  std::size_t sent = 0;
  for (const BackwardPart& part : plan.backward) {
    parts.push_back({part.compute.device, part.message.value_or(Seconds()), part.kind, {}});
    if (part.message) parts.back().barrier = plan.barrier_before(sent++);
    for (const ContentionByWork& by_work : plan.contention) {
      parts.back().contention.push_back(mean_contention(part.compute, by_work));
    }
  }
  return parts;
}

/// Messages of a running exchange that have yet to arrive, beside work.
class RunningMessages {
 public:
  RunningMessages(const IterationPlan& plan, const RunningExchange& exchange)
      : plan_(&plan), kind_(exchange.kind), left_(exchange.others) {}
  /// The time of `work` beside them. Both lose by each other until one of them ends.
  Seconds beside(const LaunchedWork& work) {
    const auto [s_c, s_m] = plan_->contention.empty()
                                ? Contention{}
                                : mean_contention(work, plan_->contention.at(kind_));
    const Seconds together = std::min(s_c * work.device, s_m * left_);
    left_ = std::max(left_ - together / s_m, Seconds());
    hidden_ += together;
    return together + (work.device - together / s_c);
  }
  [[nodiscard]] Seconds left() const { return left_; }
  [[nodiscard]] Seconds hidden() const { return hidden_; }

 private:
  const IterationPlan* plan_;
  std::size_t kind_;
  Seconds left_;
  Seconds hidden_;
};

CommTimes beside_running(const IterationPlan& plan, const RunningExchange& exchange) {
  RunningMessages messages(plan, exchange);
  CommTimes times;
  times.update = messages.beside(plan.update);
  if (plan.input_copy == InputCopy::on_path) messages.beside(plan.h2d);
  times.forward = messages.beside(plan.forward);
  for (const BackwardPart& part : plan.backward) times.backward += messages.beside(part.compute);
  const Seconds exposed = messages.left() + exchange.last;
  times.exposed = exposed + plan.meeting;
  times.all = messages.hidden() + exposed;
  return times;
}

CommTimes communication(const IterationPlan& plan, const BackwardLists& lists) {
  if (plan.running) return beside_running(plan, *plan.running);
  const Seconds forward = plan.forward.device;
  const Seconds update = plan.update.device;
  if (contends(plan)) {
    const auto [backward, hidden, exposed] = contended_backward(contended_parts(plan));
    return {forward,       backward,
            update,        exposed + plan.meeting,
            lists.gathers, hidden + exposed + lists.gathers};
  }
  const Seconds messages = std::accumulate(lists.comm.begin(), lists.comm.end(), Seconds());
  const bool sequential = plan.schedule == Schedule::sequential;
  const Seconds exposed =
      sequential ? messages : wait_free_closed_form(lists.compute, lists.comm).exposed;
  return {forward,       lists.backward,          update, exposed + plan.meeting,
          lists.gathers, messages + lists.gathers};
}

bool host_takes_time(const IterationPlan& plan) {
  const auto takes = [](const LaunchedWork& work) { return work.host > Seconds(); };
  return takes(plan.h2d) || takes(plan.forward) || takes(plan.update) ||
         std::any_of(
             plan.late.begin(), plan.late.end(),
             [&](const ForwardPart& part) { return takes(part.update) || takes(part.compute); }) ||
         std::any_of(plan.backward.begin(), plan.backward.end(),
                     [&](const BackwardPart& part) { return takes(part.compute); });
}

std::string why_none(const IterationPlan& plan) {
  if (plan.most_cores_wanted() > plan.cores) {
    return "threads share processor cores, so phases slow one another down";
  }
  if (host_takes_time(plan)) {
    return "the host takes time to give the device its work, step by step beside it";
  }
  if (contends(plan) && (plan.packing || !plan.late.empty())) {
    return "computing and messages slow one another down, which shifts when messages leave or are "
           "waited for";
  }
  if (!plan.late.empty() && !plan.gathers()) {
    return "which piece of a gradient travels next depends on what is ready, so only a bound is "
           "known";
  }
  return "";
}

/// iteration_input_prefetched(): waits for input come before the copy.
void add_input_on_path(const IterationParts& parts, IterationTime& time) {
  time.total = iteration_input_prefetched(parts);
  time.h2d = parts.h2d;
  time.io = time.total - parts.gpu() - parts.comm;
}

/// The next batch is taken at `taken` after the device had the one before. That is at once, or,
/// where reading is the bottleneck, so late that the rest just fits: the update during the copy,
/// gathers, and for sequential the messages. Until then overlapped messages are hidden.
void add_input_ahead(const IterationParts& parts, const CommTimes& comm, Schedule schedule,
                     IterationTime& time) {
  time.total = iteration_copied_ahead(parts);
  const bool sequential = schedule == Schedule::sequential;
  const Seconds compute = parts.forward + parts.backward;
  const Seconds follows = sequential ? parts.comm + parts.update : comm.gathers + parts.update;
  const bool input_bound = time.total > compute + parts.comm + parts.update;
  const Seconds taken = input_bound ? time.total - std::max(follows, parts.h2d) : Seconds();
  const Seconds staged = std::max(compute, taken);
  time.io = staged - compute;
  if (!sequential) {
    time.exposed_comm = std::max(Seconds(), compute + comm.exposed - staged) + comm.gathers;
  }
  time.h2d = time.total - staged - time.exposed_comm - parts.update;
}

Seconds input(const IterationPlan& plan) {
  return std::max(plan.load, plan.storage);
}

IterationTime usual_form(const IterationPlan& plan) {
  const BackwardLists lists(plan);
  const CommTimes comm = communication(plan, lists);
  IterationTime time;
  time.forward = comm.forward;
  time.backward = comm.backward;
  time.update = comm.update;
  time.exposed_comm = comm.exposed + comm.gathers;
  time.load = plan.loader_threads * plan.load;
  const IterationParts parts{input(plan),   plan.h2d.device,   time.forward,
                             time.backward, time.exposed_comm, time.update};
  if (plan.input_copy == InputCopy::ahead) {
    add_input_ahead(parts, comm, plan.schedule, time);
  } else {
    add_input_on_path(parts, time);
  }
  time.hidden_comm = comm.all - (time.exposed_comm - plan.meeting);
  return time;
}

/// The mean as in simulate_iteration(): over the last 32 of 64 iterations, from the first batch on.
std::optional<IterationTime> packed_form(const IterationPlan& plan, std::string& why) {
  constexpr int iterations = 64;
  constexpr int counted = 32;
  const BackwardLists lists(plan);
  const bool ahead = plan.input_copy == InputCopy::ahead;
  const Seconds copy = ahead ? Seconds() : plan.h2d.device;
  const Seconds least = ahead ? std::max(input(plan), plan.h2d.device) : input(plan);
  IterationTime time;
  Seconds now = input(plan) + plan.h2d.device - copy;
  Seconds last_look;
  for (int k = 0; k < iterations; ++k) {
    const Seconds start = now + copy + plan.forward.device;
    const PackedBackward part =
        packed_recurrence(lists.compute, lists.sizes, *plan.packing, last_look - start);
    last_look = start + part.last_look;
    const Seconds end = start + part.finish + plan.meeting + plan.update.device;
    if (end - now < least) {
      why = "iterations wait for input, which shifts them against the looks for messages";
      return std::nullopt;
    }
    if (k >= iterations - counted) {
      time.total += (end - now) / counted;
      time.exposed_comm += (part.exposed + plan.meeting) / counted;
      time.hidden_comm += part.hidden / counted;
    }
    now = end;
  }
  time.h2d = copy;
  time.forward = plan.forward.device;
  time.backward = lists.backward;
  time.update = plan.update.device;
  time.load = plan.loader_threads * plan.load;
  return time;
}

/// End of all messages of an iteration, from the end of its backward pass, which is the end of the
/// iteration; negative if before.
Seconds messages_through(const BackwardLists& lists) {
  Seconds computed;
  Seconds sent;
  for (std::size_t i = 0; i < lists.compute.size(); ++i) {
    computed += lists.compute[i];
    if (lists.comm[i] > Seconds()) sent = std::max(sent, computed) + lists.comm[i];
  }
  return sent - computed;
}

/// Whether a batch that is copied ahead is late: it is taken once the host has seen the last
/// gather.
bool waits_for_copy(const IterationPlan& plan, const BackwardLists& lists, Seconds iteration) {
  if (plan.input_copy != InputCopy::ahead) return false;
  const Seconds gathered = messages_through(lists) + lists.gathers;
  const Seconds taken = std::max(Seconds(), gathered);
  return iteration < input(plan) || iteration < taken + plan.h2d.device;
}

/// In an iteration that waits for input to be read, nothing waits for messages.
std::optional<IterationTime> gathered_form(const IterationPlan& plan, std::string& why) {
  const BackwardLists lists(plan);
  std::vector<GatheredPart> parts;
  Seconds updates;
  Seconds forward = plan.forward.device;
  for (const ForwardPart& part : plan.late) {
    const auto& gather = plan.backward.at(part.awaits).gather;
    const Seconds arrives = gather ? plan.barrier_before_gather(parts.size()) + *gather : Seconds();
    parts.push_back({arrives, part.update.device + part.compute.device});
    updates += part.update.device;
    forward += part.compute.device;
  }
  const Seconds copy = plan.input_copy == InputCopy::ahead ? Seconds() : plan.h2d.device;
  const Seconds through =
      gathered_forward(parts, messages_through(lists), copy + plan.forward.device);
  const Seconds unbound = through + lists.backward + plan.meeting;
  if (waits_for_copy(plan, lists, unbound)) {
    why = "iterations wait for input, which travels beside the messages that they wait for";
    return std::nullopt;
  }
  IterationTime time;
  time.total = std::max(unbound, input(plan));
  time.h2d = copy;
  time.forward = forward;
  time.backward = lists.backward;
  time.update = updates;
  const Seconds busy = copy + forward + updates + lists.backward;
  time.exposed_comm = time.total > unbound ? Seconds() : unbound - busy;
  time.io = time.total > unbound ? time.total - busy : Seconds();
  time.load = plan.loader_threads * plan.load;
  time.hidden_comm = std::accumulate(lists.comm.begin(), lists.comm.end(), lists.gathers) -
                     std::max(Seconds(), time.exposed_comm - plan.meeting);
  return time;
}

}  // namespace

bool IterationPlan::overlaps() const {
  if (running) return true;
  return schedule != Schedule::sequential &&
         std::ranges::any_of(backward,
                             [](const BackwardPart& part) { return part.message.has_value(); });
}

bool IterationPlan::gathers() const {
  return std::ranges::any_of(backward,
                             [](const BackwardPart& part) { return part.gather.has_value(); });
}

Seconds IterationPlan::barrier_before(std::size_t sent) const {
  if (packing) return {};
  return schedule != Schedule::sequential || sent == 0 ? barrier : Seconds();
}

Seconds IterationPlan::barrier_before_gather(std::size_t sent) const {
  return !late.empty() || sent == 0 ? barrier : Seconds();
}

double IterationPlan::most_cores_wanted() const {
  const bool sequential = schedule == Schedule::sequential;
  const bool sends = sequential || (gathers() && late.empty());
  const double training = std::max({copy_cores, compute_cores, sends ? comm_cores : 0});
  const double beside = overlaps() ? comm_cores : 0;
  return training + beside + loader_threads * loader_cores;
}

namespace {

/// An iteration, and the time from when its batch was ready to its start.
struct Observed {
  IterationTime time;
  Seconds lead;
};

bool alike(const Observed& a, const Observed& b) {
  const auto close = [&](Seconds x, Seconds y) {
    return std::abs((x - y).si()) <= 1e-10 * b.time.total.si();
  };
  return close(a.lead, b.lead) &&
         std::all_of(std::begin(all_phases), std::end(all_phases),
                     [&](auto phase) { return close(a.time.*phase, b.time.*phase); });
}

IterationTime mean(const std::vector<Observed>& iterations) {
  IterationTime result;
  for (const auto phase : all_phases) {
    for (const Observed& iteration : iterations) result.*phase += iteration.time.*phase;
    result.*phase = (result.*phase) / static_cast<double>(iterations.size());
  }
  return result;
}

/// The lead of a batch, which matters only where reading slows compute down.
Seconds lead(const IterationPlan& plan, const Timeline& timeline, const IterationMarks& marks,
             Seconds start) {
  if (plan.most_cores_wanted() <= plan.cores) return {};
  return start - timeline.finished(marks.load);
}

/// The last `count` of `iterations`. Simulates more, because loader threads read their batches
/// during those observed.
std::vector<Observed> last_iterations(const IterationPlan& plan, int iterations, int count) {
  IterationGraph graph(plan);
  for (int k = 0; k <= iterations + static_cast<int>(queue_length(plan)); ++k)
    graph.add_iteration();
  const Timeline timeline = simulate(graph.graph());
  std::vector<Observed> observed;
  for (int k = iterations - count; k < iterations; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const IterationMarks& marks = graph.iterations()[i];
    const Seconds start = timeline.finished(graph.iterations()[i - 1].end);
    observed.push_back({phases(plan, timeline, marks, start, graph.iterations()[i + 1]),
                        lead(plan, timeline, marks, start)});
  }
  return observed;
}

}  // namespace

/// The first iterations differ, while the queue of batches fills or drains. Uses the mean of the
/// last 32 of 64 where loader threads compete with compute: the steady state can be a cycle of
/// several iterations or be reached slowly. Also where messages are packed, because looks come at
/// another phase of each iteration.
IterationTime simulate_iteration(const IterationPlan& plan) {
  EXPECT(plan.loader_threads >= 1 && plan.prefetch >= 1);
  for (int iterations = plan.packing ? 64 : 8; iterations < 64; iterations *= 2) {
    const auto last = last_iterations(plan, iterations, 3);
    if (alike(last[0], last[2]) && alike(last[1], last[2])) {
      return with_waiting(last.back().time, plan);
    }
  }
  return with_waiting(mean(last_iterations(plan, 64, 32)), plan);
}

std::optional<IterationTime> closed_form(const IterationPlan& plan, std::string& why) {
  why = why_none(plan);
  if (!why.empty()) return std::nullopt;
  const auto form = [&]() -> std::optional<IterationTime> {
    if (plan.packing) return packed_form(plan, why);
    if (!plan.late.empty()) return gathered_form(plan, why);
    return usual_form(plan);
  };
  const std::optional<IterationTime> time = form();
  if (!time) return std::nullopt;
  return with_waiting(*time, plan);
}

Seconds iteration_total(const IterationPlan& plan) {
  std::string why;
  const std::optional<IterationTime> form = closed_form(plan, why);
  return form ? form->total : simulate_iteration(plan).total;
}

}  // namespace dlscale::model
