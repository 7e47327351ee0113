#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "model/plan/cut.hpp"
#include "model/plan/profile.hpp"

namespace dlscale::model {

/// Configurations that differ only in the times of messages and storage. Element k of each list
/// belongs to configuration k; all lists have the same length. A message of M bytes takes startup +
/// per_byte M. This is the closed form of all-reduces by rings, recursive doubling, trees and rings
/// in two levels, each with its own numbers (all_reduce_line()).
struct MessageLines {
  std::span<const double> startup;   ///< s, ≥ 0
  std::span<const double> per_byte;  ///< s/B, ≥ 0
  /// s, ≥ 0: the ranks' barrier before each message; after backward, only before the first one.
  std::span<const double> barrier;
  std::span<const double> storage;  ///< s, ≥ 0: time until it has delivered a batch to each rank
  [[nodiscard]] std::size_t size() const { return startup.size(); }
};

/// The closed form of an iteration, for many configurations at once. With the sums over the
/// messages of a cut that (1.9) needs, T_bc is the largest of several straight lines in (a, b),
///   T_bc = max{ Σ t_b,  max over c of B_c + n_c a + S_c b },
/// where message c is ready at B_c, and n_c messages of S_c bytes remain from c on. After backward,
/// T_bc = Σ t_b + n_1 a + S_1 b. The iteration follows by (1.3') or, where batches are copied
/// ahead, by (1.3) with (1.4). It equals closed_form() where `profile.absent(travel)` is empty,
/// which is required; wrong elsewhere. [D: (1.9) with T(M) = a + b M put in, so that the terms of
/// the network are summed up once]
class BatchedForm {
 public:
  /// `cut` groups the gradients of `profile`. No reference to either is kept.
  BatchedForm(const Profile& profile, const Cut& cut, Travel travel);
  /// Writes t_iter of each configuration, in s. `result` is as long as the lists.
  void iterations(const MessageLines& lines, std::span<double> result) const;
  /// T_bc of a configuration whose messages take `a` + `b` M, with barriers of `barrier` s.
  [[nodiscard]] double backward_with_comm(double a, double b, double barrier) const;

 private:
  /// Totals over message c and those after it.
  struct Tail {
    double ready = 0;  ///< B_c
    double count = 0;  ///< n_c
    double bytes = 0;  ///< S_c
  };
  double path_;  ///< forward and update, and h2d if it is on the path
  double load_;
  double least_;  ///< h2d, if batches are copied ahead
  double backward_;
  Travel travel_;
  std::vector<Tail> tails_;
};

/// t_iter by the same form, where backward with communication takes T_bc = `with_comm`:
///   max{ t_io, t_h2d + t_f + T_bc + t_u },  or copied ahead  max{ t_io, t_h2d, t_f + T_bc + t_u }
double iteration_time(const Profile& profile, double storage, double with_comm);

/// T_bc by the recurrence (1.6), for messages whose time is not a line in their size. `times` has
/// one value for each message of `cut`.
double backward_with_comm(const Profile& profile, const Cut& cut, Travel travel,
                          std::span<const double> times, double barrier);

}  // namespace dlscale::model
