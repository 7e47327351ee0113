#include "model/sgd_iter/closed_form.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "model/sgd_iter/iteration.hpp"

namespace dlscale::model {

Seconds iteration_of_one(const IterationParts& parts) {
  return parts.io + parts.gpu();
}

Seconds iteration_naive(const IterationParts& parts) {
  return parts.io + parts.gpu() + parts.comm;
}

Seconds iteration_input_and_copy_prefetched(const IterationParts& parts) {
  return iteration_wait_free(parts, parts.comm);
}

Seconds iteration_input_prefetched(const IterationParts& parts) {
  return std::max(parts.io, parts.gpu() + parts.comm);
}

Seconds iteration_copied_ahead(const IterationParts& parts) {
  return std::max(
      {parts.io, parts.h2d, parts.forward + parts.backward + parts.comm + parts.update});
}

Seconds iteration_wait_free(const IterationParts& parts, Seconds exposed_comm) {
  return std::max(parts.io + parts.h2d,
                  parts.forward + parts.backward + exposed_comm + parts.update);
}

BackwardWithComm wait_free_recurrence(std::span<const Seconds> backward,
                                      std::span<const Seconds> comm) {
  EXPECT(backward.size() == comm.size());
  Seconds computed;      // τ_b(l) + t_b(l)
  Seconds communicated;  // τ_c(l) + t_c(l)
  for (std::size_t i = 0; i < backward.size(); ++i) {
    computed += backward[i];
    communicated = std::max(communicated, computed) + comm[i];
  }
  const Seconds finish = std::max(communicated, computed);
  return {finish, finish - computed};
}

BackwardWithComm wait_free_closed_form(std::span<const Seconds> backward,
                                       std::span<const Seconds> comm) {
  EXPECT(backward.size() == comm.size());
  const Seconds all_backward = std::accumulate(backward.begin(), backward.end(), Seconds());
  Seconds comm_left = std::accumulate(comm.begin(), comm.end(), Seconds());
  Seconds computed;
  Seconds finish = all_backward;
  for (std::size_t i = 0; i < backward.size(); ++i) {
    computed += backward[i];
    finish = std::max(finish, computed + comm_left);
    comm_left -= comm[i];
  }
  return {finish, finish - all_backward};
}

double speedup_over_naive(int workers, const IterationParts& one, Seconds iteration) {
  return workers * (iteration_of_one(one) / iteration);
}

double speedup_last_message_exposed(int workers, const IterationParts& one, Seconds shared_io,
                                    Seconds last_message) {
  return speedup_over_naive(workers, one, shared_io + one.gpu() + last_message);
}

double speedup_overlapped(int workers, const IterationParts& one, Seconds shared_io,
                          Seconds backward_with_comm) {
  const Seconds alone = iteration_wait_free(one, Seconds());
  const Seconds together =
      std::max(shared_io + one.h2d, one.forward + backward_with_comm + one.update);
  return workers * (alone / together);
}

double scaling_efficiency(double speedup, int workers) {
  return speedup / workers;
}

double throughput(int workers, int batch, Seconds iteration) {
  return workers * static_cast<double>(batch) / iteration.si();
}

Seconds ring_over_bottleneck(int workers, Bytes message, BytesPerSecond slowest_link,
                             Seconds startup) {
  const double P = workers;
  return startup + 2 * (P - 1) / P * message / slowest_link;
}

namespace {

/// All messages, and what of them shows after backward.
struct CommTimes {
  Seconds exposed;
  Seconds all;
};

CommTimes communication(const IterationPlan& plan, Seconds& backward) {
  std::vector<Seconds> compute;
  std::vector<Seconds> comm;
  for (const BackwardPart& part : plan.backward) {
    compute.push_back(part.compute.device);
    comm.push_back(part.message.value_or(Seconds()));
  }
  backward = std::accumulate(compute.begin(), compute.end(), Seconds());
  const Seconds all = std::accumulate(comm.begin(), comm.end(), Seconds());
  if (plan.schedule == Schedule::sequential) return {all, all};
  return {wait_free_closed_form(compute, comm).exposed, all};
}

bool host_takes_time(const IterationPlan& plan) {
  return plan.h2d.host > Seconds() || plan.forward.host > Seconds() ||
         plan.update.host > Seconds() ||
         std::any_of(plan.backward.begin(), plan.backward.end(),
                     [](const BackwardPart& part) { return part.compute.host > Seconds(); });
}

std::string why_none(const IterationPlan& plan) {
  if (plan.most_cores_wanted() > plan.cores) {
    return "threads share processor cores, so phases slow one another down";
  }
  if (host_takes_time(plan)) {
    return "the host takes time to give the device its work, step by step beside it";
  }
  return "";
}

/// (1.3'): what is waited for input is waited before the copy.
void add_input_on_path(const IterationParts& parts, IterationTime& time) {
  time.total = iteration_input_prefetched(parts);
  time.h2d = parts.h2d;
  time.io = time.total - parts.gpu() - parts.comm;
}

/// The next batch is taken at `taken` after the device had the one before: at once, or, where
/// reading sets the pace, so late that what follows it (the update beside the copy; sequential: the
/// messages, too) just fits. Up to then messages that overlap travel unseen.
void add_input_ahead(const IterationParts& parts, Schedule schedule, IterationTime& time) {
  time.total = iteration_copied_ahead(parts);
  const bool sequential = schedule == Schedule::sequential;
  const Seconds compute = parts.forward + parts.backward;
  const Seconds follows = sequential ? parts.comm + parts.update : parts.update;
  const bool input_bound = time.total > compute + parts.comm + parts.update;
  const Seconds taken = input_bound ? time.total - std::max(follows, parts.h2d) : Seconds();
  const Seconds staged = std::max(compute, taken);
  time.io = staged - compute;
  if (!sequential) time.exposed_comm = std::max(Seconds(), compute + parts.comm - staged);
  time.h2d = time.total - staged - time.exposed_comm - parts.update;
}

}  // namespace

std::optional<IterationTime> closed_form(const IterationPlan& plan, std::string& why) {
  why = why_none(plan);
  if (!why.empty()) return std::nullopt;
  IterationTime time;
  time.forward = plan.forward.device;
  time.update = plan.update.device;
  const CommTimes comm = communication(plan, time.backward);
  time.exposed_comm = comm.exposed;
  time.load = plan.loader_threads * plan.load;
  const IterationParts parts{std::max(plan.load, plan.storage),
                             plan.h2d.device,
                             time.forward,
                             time.backward,
                             comm.exposed,
                             time.update};
  if (plan.input_copy == InputCopy::ahead) {
    add_input_ahead(parts, plan.schedule, time);
  } else {
    add_input_on_path(parts, time);
  }
  time.hidden_comm = comm.all - time.exposed_comm;
  return time;
}

}  // namespace dlscale::model
