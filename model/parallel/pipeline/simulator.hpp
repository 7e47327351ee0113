#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/parallel/schedule/schedule.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {

/// The place of a message among those of a schedule's pieces, by the part that reads it.
inline std::size_t message_place(std::size_t parts, const parallel::Operation& operation,
                                 std::size_t reader, bool is_gradient) {
  const auto micro_batch = static_cast<std::size_t>(operation.micro_batch);
  return 2 * (micro_batch * parts + reader) + (is_gradient ? 1 : 0);
}

/// Works through the lists of a schedule as simulate() says. It can stop on the way, so that others
/// may look at times in between, and leave out what repeats itself.
class PipelineSimulator {
 public:
  /// `schedule` outlives it, and so does `record`, which may be nullptr.
  PipelineSimulator(const parallel::Schedule& schedule, const PipelineCosts& costs,
                    std::vector<std::vector<TimedOperation>>* record = nullptr);

  /// Each rank goes on until it has done `ends[rank]` operations, or waits for a message of one
  /// that has stopped. Returns whether all came so far.
  bool run_to(std::span<const std::size_t> ends);
  /// All ranks go to the ends of their lists (EXPECT).
  PipelineTime run();
  /// Each rank goes on with its operation number `next[rank]`, whose micro-batch is later than that
  /// of the one at hand by `micro_batches`, or earlier if negative. The messages under way, by
  /// message_place(), are then of other micro-batches, too.
  void go_on_at(std::span<const std::size_t> next, std::span<const std::size_t> under_way,
                int micro_batches);

  /// By rank: operations done, and the end of the last one.
  [[nodiscard]] std::vector<std::size_t> done() const;
  [[nodiscard]] double now(std::size_t rank) const { return ranks_[rank].now; }
  /// When the message of a message_place() arrives that has been sent.
  [[nodiscard]] double arrival(std::size_t place) const { return arrivals_[place]; }

 private:
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);
  static constexpr double not_sent = -1;
  struct RankState {
    std::size_t next = 0;  ///< operation
    std::size_t end = 0;   ///< the operation at which it stops
    double now = 0;
    double busy = 0;
    double sums_end = 0;  ///< end of the last sum of gradients that it takes part in
    int live = 0;
    int most_live = 0;
    std::size_t awaits = nothing;      ///< place in arrivals_
    std::size_t awaits_sum = nothing;  ///< part
  };
  /// The sum of a part's gradients.
  struct Sum {
    std::vector<std::size_t> holders = {};  ///< ranks
    std::size_t begun = 0;
    double last = 0;  ///< latest begin
    double end = not_sent;
  };

  [[nodiscard]] std::size_t place(const parallel::Operation& operation, std::size_t reader,
                                  bool is_gradient) const {
    return message_place(parts_, operation, reader, is_gradient);
  }
  void advance(std::size_t rank);
  bool step(std::size_t rank, const parallel::Operation& operation);
  static void compute(RankState& state, double time);
  void send(const RankState& state, const parallel::Operation& operation, std::size_t at,
            double time);
  bool receive(RankState& state, std::size_t at);
  void begin_sum(const RankState& state, std::size_t part);
  bool update(RankState& state, std::size_t part);

  const parallel::Schedule& schedule_;
  std::size_t parts_;
  std::vector<double> forward_;
  std::vector<double> backward_;
  std::vector<double> weights_;
  std::vector<double> boundary_;
  std::vector<double> reduce_;
  std::vector<double> update_;
  std::vector<std::vector<TimedOperation>>* record_;
  std::vector<double> arrivals_;  ///< of activations and gradients, in turn
  std::vector<RankState> ranks_;
  std::vector<Sum> sums_;
  std::vector<std::size_t> ready_;
};

}  // namespace dlscale::model
