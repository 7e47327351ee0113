#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/network/merge.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/batched_form.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The lines of a machine from data sheets alone, for ≥ 2 ranks. Its cluster adds gradients by a
/// ring, by rings in two levels, or by the fastest of several for each message.
/// MessageTimes then takes the least of the lines, T(M) = min over i of a_i + b_i M. Empty for
/// every other machine and rule. Throws ConfigError where the cluster gives a link no bandwidth.
std::vector<LinearCost> nominal_lines(const Machine& machine, const Placement& placement);

/// The delays of ranks by data sheets (sheet_delays()), as measured points scale them; none for a
/// machine that was measured.
RankDelays rank_delays(const Machine& machine, const Placement& placement, const Network& network);

/// Times of messages by servers, in s.
struct ServedMessages {
  std::vector<double> reduces;
  double broadcasts = 0;  ///< of all, including the barrier before them
  /// Then nothing is broadcast, and each rank updates all parameters.
  std::optional<SheetServers> by_sheets = {};
};

/// These costs without delays and interference by data sheets, which the forms add for each number
/// of ranks.
IterationCosts without_delays(IterationCosts costs);

/// Times of training's messages on the ranks of a placement, cached for repeated queries.
class PlacedMessages {
 public:
  /// `machine` must outlive this object. Throws ConfigError if a link between the ranks is not
  /// known.
  PlacedMessages(const Machine& machine, const Placement& placement);
  ~PlacedMessages();
  PlacedMessages(const PlacedMessages&) = delete;
  PlacedMessages& operator=(const PlacedMessages&) = delete;
  PlacedMessages(PlacedMessages&& other) noexcept;
  /// The time as a line in the message size (nominal_lines()), if it is one; 0 on one rank.
  [[nodiscard]] const std::optional<LinearCost>& line() const { return line_; }
  /// Factor of measured points (MeasuredLevel) on all these times; 1 without points.
  [[nodiscard]] double added() const { return added_; }
  /// Time of the ranks' barrier before a message, barrier_time(), in s; 0 on one rank.
  [[nodiscard]] double barrier() const { return barrier_; }
  /// Time of a message of > 0 bytes, in s.
  double time(Travel travel, double bytes);
  /// Time to reduce a message to the server that owns it, and to broadcast it from there, in s.
  struct Served {
    double reduce = 0;
    double broadcast = 0;
  };
  Served served(Travel travel, double bytes);
  /// All messages of a run with servers.
  ServedMessages served(const Network& network, std::span<const Bucket> messages, const Run& run,
                        Travel travel);
  /// A call to a server in both directions: a push, and a pull.
  [[nodiscard]] Served served(const ServerCalls& calls, Bytes part) const {
    const double one = added_ * calls.time(part).value.si();
    return {one, one};
  }

 private:
  struct Looked;

  Looked& looked(Travel travel);

  const Machine* machine_;
  Placement placement_;
  std::optional<LinearCost> line_;
  std::vector<LinearCost> lines_;  ///< nominal_lines(), of which the least counts
  double added_ = 1;
  double barrier_ = 0;
  std::unique_ptr<Looked> beside_;  ///< created on demand, where no line holds or for servers
  std::unique_ptr<Looked> after_;
};

}  // namespace dlscale::model
