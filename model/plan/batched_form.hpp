#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"

namespace dlscale::model {

/// When messages travel: after the whole backward pass, or beside it as soon as their gradients are
/// ready.
enum class Travel { after_backward, beside_backward };

/// The parts of an iteration of one rank without its messages, in s, and the gradients of its
/// backward pass. It is the same for all numbers of ranks with as many ranks on a node.
struct Profile {
  double load = 0;  ///< time in which the loader threads read a batch
  double h2d = 0;
  double forward = 0;
  double backward = 0;
  double update = 0;
  InputCopy input_copy = InputCopy::on_path;
  std::vector<double> ready;      ///< by gradient: time since the start of backward; never falls
  std::vector<double> gradients;  ///< their bytes, > 0
  /// The reasons why no batched form holds for messages beside backward, and for messages after it;
  /// empty where one holds.
  std::string beside_absent;
  std::string after_absent;
  [[nodiscard]] const std::string& absent(Travel travel) const {
    return travel == Travel::beside_backward ? beside_absent : after_absent;
  }
};

/// The profile of a plan with one message for each gradient (the schedules wait_free and
/// sequential), or with none (one rank). The batched form holds where closed_form() does and
/// computing and messages do not slow each other down.
Profile profile_of(const IterationPlan& plan);

/// Gradients grouped into messages. Gradients are in the order in which backward finishes them.
/// Message i ends with gradient `last[i]` and is ready once that is.
struct Cut {
  /// Index of the last gradient of each message, ascending; empty where nothing is sent.
  std::vector<std::size_t> last;
  std::vector<double> bytes;  ///< by message, > 0
  [[nodiscard]] std::size_t messages() const { return last.size(); }
  bool operator==(const Cut&) const = default;
};

/// Returns one message for each gradient.
Cut cut_singly(std::span<const double> gradients);

/// Closes a message once it holds `limit` bytes, and the first one once it holds `first` bytes.
/// gradient_buckets() of core/network/step.hpp does the same with 25 MiB and 1 MiB. Both are > 0.
Cut cut_in_buckets(std::span<const double> gradients, Bytes first, Bytes limit);

/// Message i holds the next groups[i] gradients. The groups cover all gradients.
Cut cut_by_groups(std::span<const double> gradients, std::span<const std::size_t> groups);

/// merge_optimally() of core/network/merge.hpp in O(L), for callers that plan many messages. With
/// the prefixes ending at r_1 ≤ r_2 ≤ … and S_n the bytes of the first n gradients, it is
///   f(n) = a + b S_n + min over k < n of max{ f(k), r_n } - b S_k.
/// f never falls. Of all k with f(k) ≤ r_n, the last is therefore best, and it only grows with n.
/// Among the later k the one with the least f(k) - b S_k is best; a queue of minima keeps it. [D]
/// Where several groupings end at the same time, rounding may choose another one than core's.
class MergedCuts {
 public:
  /// Groups of the gradients of `profile` for messages that take `cost`. Requires ≥ 1 gradient. The
  /// result is valid until the next call.
  std::span<const std::size_t> optimal(const Profile& profile, const LinearCost& cost);

 private:
  std::vector<double> bytes_;         ///< S, by length of the prefix
  std::vector<double> arrival_;       ///< f, by length of the prefix
  std::vector<std::size_t> before_;   ///< the best k, by length of the prefix
  std::vector<std::size_t> waiting_;  ///< the queue of minima
  std::vector<std::size_t> groups_;
};

/// Delays of several ranks beside their messages, by data sheets (IterationPlan).
struct RankDelays {
  double slowest = 1;       ///< ≥ 1: factor on all computing
  double meeting = 0;       ///< s, after all messages
  double interference = 0;  ///< s of computing lost for each s of messages beside it
};

/// T_bc of such groups by the recurrence over messages. Each message of M bytes takes `line` after
/// a barrier of `barrier` s.
double backward_with_groups(const Profile& profile, std::span<const std::size_t> groups,
                            const LinearCost& line, double barrier, const RankDelays& delays = {});

/// The gradients in the form of core/network/merge.hpp.
std::vector<ReadyGradient> ready_gradients(const Profile& profile);

/// Configurations that differ only in the times of messages and storage. Element k of each list
/// belongs to configuration k; all lists have the same length. A message of M bytes takes startup +
/// per_byte M. This is the closed form of all-reduces by rings, recursive doubling, trees and rings
/// in two levels, each with its own numbers.
struct MessageLines {
  std::span<const double> startup;   ///< s, ≥ 0
  std::span<const double> per_byte;  ///< s/B, ≥ 0
  /// s, ≥ 0: the ranks' barrier before each message; after backward, only before the first one.
  std::span<const double> barrier;
  std::span<const double> storage;  ///< s, ≥ 0: time until it has delivered a batch to each rank
  std::span<const RankDelays> delays = {};  ///< empty: none
  [[nodiscard]] std::size_t size() const { return startup.size(); }
};

/// The closed form of an iteration, for many configurations at once. With the sums over the
/// messages of a cut that wait_free_closed_form() needs, T_bc is the largest of several straight
/// lines in (a, b),
///   T_bc = max{ Σ t_b,  max over c of B_c + n_c a + S_c b },
/// where message c is ready at B_c, and n_c messages of S_c bytes remain from c on. After backward,
/// T_bc = Σ t_b + n_1 a + S_1 b. The iteration follows by iteration_input_prefetched() or
/// iteration_copied_ahead(). It equals closed_form() where `profile.absent(travel)` is empty,
/// which is required; wrong elsewhere. [D: with T(M) = a + b M put in, so that the terms of
/// the network are summed up once]
/// Delays make computing take `slowest` times as long, messages that overlap it add
/// `interference` of their time, and `meeting` follows.
class BatchedForm {
 public:
  /// `cut` groups the gradients of `profile`. No reference to either is kept.
  BatchedForm(const Profile& profile, const Cut& cut, Travel travel);
  /// Writes t_iter of each configuration, in s. `result` is as long as the lists.
  void iterations(const MessageLines& lines, std::span<double> result) const;

 private:
  /// Totals over message c and those after it.
  struct Tail {
    double ready = 0;  ///< B_c
    double count = 0;  ///< n_c
    double bytes = 0;  ///< S_c
  };
  void add_delays(const MessageLines& lines, std::size_t first, std::span<double> t) const;

  double computing_;  ///< forward and update
  double copy_;       ///< h2d, if it is on the path
  double load_;
  double least_;  ///< h2d, if batches are copied ahead
  double backward_;
  Travel travel_;
  std::vector<Tail> tails_;
};

/// t_iter by the same form, where backward with communication takes T_bc = `with_comm`:
///   max{ t_io, t_h2d + t_f + T_bc + t_u },  or copied ahead  max{ t_io, t_h2d, t_f + T_bc + t_u }
double iteration_time(const Profile& profile, double storage, double with_comm,
                      const RankDelays& delays = {});

/// t_iter where messages to servers run beside all of it (RunningExchange).
double iteration_beside(const Profile& profile, double storage, const SheetServers& servers,
                        const RankDelays& delays);

/// T_bc by the recurrence over messages, for messages whose time is not a line in their size.
/// `times` has one value for each message of `cut`.
double backward_with_comm(const Profile& profile, const Cut& cut, Travel travel,
                          std::span<const double> times, double barrier,
                          const RankDelays& delays = {});

}  // namespace dlscale::model
