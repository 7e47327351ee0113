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

Seconds iteration_copied_ahead(const IterationParts& parts, Seconds busy) {
  return std::max(
      {parts.io, busy + parts.h2d, parts.forward + parts.backward + parts.comm + parts.update});
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

/// All messages, exposed and hidden.
struct CommTimes {
  Seconds exposed;
  Seconds all;
  Seconds last;  ///< end of the last message, from the start of backward; 0 without
};

CommTimes communication(const IterationPlan& plan, Seconds& backward) {
  std::vector<Seconds> compute;
  std::vector<Seconds> comm;
  std::size_t sent = 0;  // parts up to the last message
  for (const BackwardPart& part : plan.backward) {
    compute.push_back(part.compute.device);
    comm.push_back(part.message.value_or(Seconds()));
    if (part.message) sent = comm.size();
  }
  backward = std::accumulate(compute.begin(), compute.end(), Seconds());
  const Seconds all = std::accumulate(comm.begin(), comm.end(), Seconds());
  if (plan.schedule == Schedule::sequential) {
    return {all, all, sent == 0 ? Seconds() : backward + all};
  }
  const auto first_parts = [&](const std::vector<Seconds>& times) {
    return std::span(times).first(sent);
  };
  return {wait_free_closed_form(compute, comm).exposed, all,
          wait_free_closed_form(first_parts(compute), first_parts(comm)).finish};
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

/// Copied ahead, the batch is waited for at the end of the iteration before, its copy after that.
void add_input(const IterationPlan& plan, const IterationParts& parts, Seconds busy,
               IterationTime& time) {
  const Seconds others = parts.forward + parts.backward + parts.comm + parts.update;
  if (plan.input_copy == InputCopy::ahead) {
    time.total = iteration_copied_ahead(parts, busy);
    time.h2d = std::min(parts.h2d, time.total - others);
  } else {
    time.total = iteration_input_prefetched(parts);
    time.h2d = parts.h2d;
  }
  time.io = time.total - others - time.h2d;
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
  time.hidden_comm = comm.all - comm.exposed;
  time.load = plan.loader_threads * plan.load;
  const IterationParts parts{std::max(plan.load, plan.storage),
                             plan.h2d.device,
                             time.forward,
                             time.backward,
                             comm.exposed,
                             time.update};
  const Seconds busy = comm.last > Seconds() ? time.forward + comm.last : Seconds();
  add_input(plan, parts, busy, time);
  return time;
}

}  // namespace dlscale::model
