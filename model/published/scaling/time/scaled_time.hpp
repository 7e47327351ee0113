#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/time/exchange_cost.hpp"
#include "model/published/scaling/time/exposed.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The iteration at the number of GPUs asked, as disjoint parts that add up to total.
struct ScaledTime {
  Seconds compute = {};        ///< of one GPU at the batch asked: t_c
  Seconds transfer = {};       ///< communication that computing does not hide
  Seconds interference = {};   ///< what hidden communication costs computing
  Seconds copies = {};         ///< of gradients to and from their buffers
  Seconds waiting = {};        ///< for the slowest of the workers
  Seconds host = {};           ///< update and input that the given point is without
  Seconds communication = {};  ///< all of it, hidden too; no part of the sum
  /// Between all of it exposed and as much hidden as the framework may, where the overlap is not
  /// told; no part of the sum.
  Seconds in_doubt = {};
  Seconds total = {};
  /// Share of total that is not what the given point says: 1 - compute at the given batch scaled
  /// in proportion to the batch / total, within [0, 0.95].
  double overhead = 0;
  /// How far from the given point, in [0, 1]: |lg of the ratio of GPUs| + |lg of that of batches|,
  /// 1 from a doubling on and where the given time is of computing alone.
  double differs = 1;
};

/// A training, as the time of one GPU and what a number N of them adds to it:
///   t(N) = t_c + x(N, t_c),  x(1) = 0
///   x    = E + c M / B_memory + r t_c + j lg n + host
/// * t_c is the given time, or solves t_given = t_c + a x(N_given, t_c) with a = 1, but is at least
///   a fifth of it; then a < 1 makes up for it, and all that more GPUs add is times a, so that the
///   model returns the given point at that. Of another batch b it is k + (t_c - k) b / b_given,
///   where k is update and launches.
/// * r = σ e_N d + h min{ e_N, 1.5 }: e_N (MODEL 10.1) of the deviation of what workers compute; d
///   falls with the year of the GPU; h where samples are of unequal length. Messages wait for the
///   slowest, so that they overlap with a backward pass of t_b = 2/3 ((1 + r) t_c - update).
/// * E, with C all communication and ε the share of hidden communication that computing loses:
///   exposed + ε (what is hidden), exposed by MessageSchedule for the least of the lists of
///   messages; C where nothing overlaps; where schedulers and servers let messages run on beside
///   the next forward pass, max{ C / T, C - (1 + r) t_c } + ε (the rest) for T tensors (MODEL 2.4),
///   and a time for each tensor where a scheduler works above a coordinator; between the first two
///   where overlap is not told. A coordinator that starts a fused message each cycle (MODEL 2.2)
///   starts at most t_b / cycle of them.
/// * host, where the given time is of computing alone: the update, what an interpreter takes to
///   launch, and b sample over a node's PCIe.
/// [derived; constants are fitted or judgements, parameters.hpp] Wrong where memory is short, where
/// input cannot keep up at all, for parallelism other than by data, and for clusters whose workers
/// hardly differ: of sequential runs of ResNet-50 on 8 to 32 GPUs, which the ring alone predicts
/// within 3 % (MODEL 1.14), it says 5 to 9 % too little throughput, for r is that of all machines.
/// Without r where nothing overlaps they are within 3 %, and other sequential runs 5 % too fast.
///
/// Prepares what does not depend on parameters. A time is by arithmetic only, some microseconds.
class ScalingModel {
 public:
  /// Requires facts as training_facts() gives them: sizes, times, batches and bandwidths > 0.
  explicit ScalingModel(TrainingFacts facts);
  [[nodiscard]] const TrainingFacts& facts() const { return facts_; }
  [[nodiscard]] ScaledTime time(const Parameters& parameters) const;

 private:
  /// GPUs that train together, with what their number says of waiting.
  struct Crowd {
    Layout layout = {};
    double slowest = 0;    ///< e_N
    double doublings = 0;  ///< lg n
  };
  /// What the given point says: t_c and a.
  struct Anchor {
    Seconds compute = {};
    double share = 1;
  };
  /// Parts of E.
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
  [[nodiscard]] double spread(const Crowd& crowd, const Parameters& p) const;
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
  [[nodiscard]] ScaledTime at(Seconds compute, const Crowd& crowd, const Parameters& p) const;
  [[nodiscard]] Anchor anchor(const Parameters& p) const;
  [[nodiscard]] double differs() const;
  [[nodiscard]] Seconds at_batch_asked(Seconds compute, const Parameters& p) const;

  TrainingFacts facts_;
  Crowd given_;
  Crowd asked_;
  std::vector<List> lists_;
};

}  // namespace dlscale::model::scaling
