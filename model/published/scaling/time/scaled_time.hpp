#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/time/exchange_cost.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The iteration at the requested number of GPUs, in disjoint parts that add up to total.
struct ScaledTime {
  Seconds compute = {};        ///< t_c: one GPU at the requested batch
  Seconds transfer = {};       ///< communication that computing does not hide
  Seconds interference = {};   ///< slow-down of computing by hidden communication
  Seconds copies = {};         ///< copies of gradients to and from their buffers
  Seconds waiting = {};        ///< waiting for the slowest worker
  Seconds host = {};           ///< update and input that the given point is without
  Seconds communication = {};  ///< all, hidden too; not a part of the sum
  /// Difference between fully exposed communication and the most that the framework may hide, if
  /// the overlap is not stated, plus that between sockets and RDMA, if the transport is not. It is
  /// not a part of the sum.
  Seconds in_doubt = {};
  Seconds total = {};
  /// total if every message took twice as long, here and in the given point; 0 unless judged().
  Seconds slower = {};
  /// Share of total that the given point does not state: 1 - compute at the given batch scaled in
  /// proportion to the batch / total, within [0, 0.95].
  double overhead = 0;
  /// Distance from the given point, in [0, 1]: |lg of the ratio of GPUs| + |lg of that of batches|.
  /// It is 1 from a doubling on, and if the given time is that of computing alone.
  double differs = 1;
};

/// The r of ScalingModel: how much longer the slowest of `gpus` ≥ 1 computes than the mean, as a
/// share of that; 0 on one GPU.
double waiting_share(const TrainingFacts& facts, int gpus, const Parameters& parameters);

/// A training as the time of one GPU, plus the additional time on N of them:
///   t(N) = t_c + x(N, t_c),  x(1) = 0
///   x    = E + c M / B_memory + r t_c + j lg n + host
///
/// - t_c is the given time, or solves t_given = t_c + a x(N_given, t_c) with a = 1, but is at least
///   a fifth of it. If that limit holds, a < 1 multiplies everything that more GPUs add, so that
///   the model returns the given point. At another batch b, t_c becomes k + (t_c - k) b / b_given,
///   where k is update and launches.
/// - r = σ e_N d + h min{ e_N, 1.5 }, with e_N (expected_normal_maximum()) of the
///   deviation of workers' computing. d falls with the year of the GPU; h applies to samples of
///   unequal length. Messages wait for the slowest, so that they overlap with a backward pass of
///   t_b = 2/3 ((1 + r) t_c - update).
/// - E follows from all communication C and the share ε of hidden communication that computing
///   loses. It is exposed + ε hidden, where MessageSchedule gives the least exposed of the lists of
///   messages. It is C if nothing overlaps, and between these two if overlap is not stated.
///   Schedulers, and servers of frameworks that run graphs, let messages overlap the next forward
///   pass, too: E is then max{ C / T, C - (1 + r) t_c } + ε (the rest) for T tensors. With an
///   interpreter, servers' messages overlap backward only, tensor by tensor, and cost the GPU
///   nothing: a step of the optimiser waits for all. A scheduler above a coordinator adds a time
///   for each tensor. A coordinator that starts a fused message each cycle
///   starts at most t_b / cycle of them.
/// - host, if the given time is that of computing alone: the update, the launches of an
///   interpreter, and b sample over a node's PCIe.
///
/// [derived; constants are fitted or judgements, parameters.hpp]
///
/// Wrong where memory is short, where input cannot keep up at all, and for parallelism other than
/// by data. Also wrong for clusters whose workers hardly differ, since r is that of all machines.
/// For sequential runs of ResNet-50 on 8 to 32 GPUs, which the ring alone predicts within
/// 3 %, it predicts 5 to 9 % too little throughput. Without r where nothing overlaps they
/// are within 3 %, and other sequential runs 5 % too fast.
///
/// The constructor prepares everything that does not depend on parameters. A time then takes some
/// microseconds of arithmetic.
class ScalingModel {
 public:
  /// Requires facts as training_facts() returns them: sizes, times, batches and bandwidths > 0.
  explicit ScalingModel(TrainingFacts facts);
  [[nodiscard]] const TrainingFacts& facts() const { return facts_; }
  [[nodiscard]] ScaledTime time(const Parameters& parameters) const;
  /// The same with ScaledTime::slower, which takes as long again.
  [[nodiscard]] ScaledTime judged(const Parameters& parameters) const;

 private:
  /// GPUs that train together, with the effect of their number on waiting.
  struct Crowd {
    Layout layout = {};
    double slowest = 0;    ///< e_N
    double doublings = 0;  ///< lg n
  };
  /// The result of the given point: t_c and a.
  struct Anchor {
    Seconds compute = {};
    double share = 1;
  };
  /// The parts of E.
  struct Exchange {
    Seconds exposed = {};
    Seconds interference = {};
    Seconds all = {};
    Seconds in_doubt = {};  ///< ScaledTime::in_doubt
  };
  struct List {
    MessageSchedule schedule;
    bool one_by_one = false;  ///< a message is a tensor
  };
  static Crowd crowd_of(const Layout& layout);
  [[nodiscard]] Seconds update(Seconds compute, const Parameters& p) const;
  [[nodiscard]] Seconds left_out(Seconds compute, const Parameters& p) const;
  [[nodiscard]] Seconds backward_of(Seconds compute, const Parameters& p) const;
  [[nodiscard]] Exchange across_iterations(Seconds compute, Seconds all, const Parameters& p) const;
  [[nodiscard]] Exchange best_of_lists(Seconds backward, const ExchangeCost& cost,
                                       const Parameters& p) const;
  [[nodiscard]] Exchange exchange(Seconds compute, const ExchangeCost& cost,
                                  const Parameters& p) const;
  [[nodiscard]] ScaledTime beside_others(Seconds compute, const Crowd& crowd,
                                         const ExchangeCost& cost, const Parameters& p) const;
  [[nodiscard]] ScaledTime at(Seconds compute, const Crowd& crowd, const Parameters& p,
                              double messages) const;
  [[nodiscard]] Anchor anchor(const Parameters& p, double messages) const;
  /// The time if messages took `messages` times as long, > 0.
  [[nodiscard]] ScaledTime scaled(const Parameters& p, double messages) const;
  [[nodiscard]] double differs() const;
  [[nodiscard]] Seconds at_batch_asked(Seconds compute, const Parameters& p) const;

  TrainingFacts facts_;
  Crowd given_;
  Crowd asked_;
  std::vector<List> lists_;
};

}  // namespace dlscale::model::scaling
