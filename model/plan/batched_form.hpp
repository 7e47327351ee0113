#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "model/plan/cut.hpp"
#include "model/plan/profile.hpp"

namespace dlscale::model {

/// Configurations that differ in what messages and storage take: element k of each list is of
/// configuration k. All lists are as long. A message of M bytes takes startup + per_byte M, as
/// all-reduces do by the closed forms of rings, recursive doubling, trees and rings in two levels
/// (all_reduce_line()), each with other numbers.
struct MessageLines {
  std::span<const double> startup;   ///< s, ≥ 0
  std::span<const double> per_byte;  ///< s/B, ≥ 0
  std::span<const double> meeting;   ///< s, ≥ 0: of ranks before a message; travelling after
                                     ///< backward, only before the first
  std::span<const double> storage;   ///< s, ≥ 0, until it has delivered a batch to each rank
  [[nodiscard]] std::size_t size() const { return startup.size(); }
};

/// The closed form of an iteration, many at once: with the sums over the messages of a cut that
/// (1.9) needs, T_bc is the largest of as many straight lines in (a, b),
///   T_bc = max{ Σ t_b,  max over c of B_c + n_c a + S_c b },
/// B_c when message c is ready, n_c the messages from c on and S_c their bytes; after backward,
/// T_bc = Σ t_b + n_1 a + S_1 b. The iteration follows by (1.3') or, where batches are copied
/// ahead, (1.3) with (1.4). The same as closed_form() where `profile.absent(travel)` is empty,
/// which is required; wrong elsewhere. [D: (1.9) with T(M) = a + b M put in, so that what depends
/// on the network is summed up once]
class BatchedForm {
 public:
  /// `cut` is of the gradients of `profile`; both are read here only.
  BatchedForm(const Profile& profile, const Cut& cut, Travel travel);
  /// t_iter of each configuration, s. `result` is as long as the lists.
  void iterations(const MessageLines& lines, std::span<double> result) const;
  /// T_bc of one whose messages take `a` + `b` M, with meetings of `meeting`.
  [[nodiscard]] double backward_with_comm(double a, double b, double meeting) const;

 private:
  /// Message c and those after it.
  struct Tail {
    double ready = 0;  ///< B_c
    double count = 0;  ///< n_c
    double bytes = 0;  ///< S_c
  };
  double path_;  ///< h2d, if on the path, and forward and update
  double load_;
  double least_;  ///< h2d, if copied ahead
  double backward_;
  Travel travel_;
  std::vector<Tail> tails_;
};

/// t_iter by the same, of an iteration whose backward takes T_bc, `with_comm`:
///   max{ t_io, t_h2d + t_f + T_bc + t_u },  or copied ahead  max{ t_io, t_h2d, t_f + T_bc + t_u }
double iteration_time(const Profile& profile, double storage, double with_comm);

/// T_bc of messages that take `times`, by message of `cut`; the recurrence (1.6), for messages
/// whose time is no line in their size.
double backward_with_comm(const Profile& profile, const Cut& cut, Travel travel,
                          std::span<const double> times, double meeting);

}  // namespace dlscale::model
