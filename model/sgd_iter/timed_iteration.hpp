#pragma once
#include <functional>
#include <optional>
#include <span>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"
#include "core/network/timed_layers.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// Iterations of a training with published layer times. The times of one worker are taken as given;
/// the prediction is how its messages fit between them. It works for any network on any device.

/// All-reduce times of such a training on a number of ranks.
struct TimedExchange {
  std::function<Seconds(Bytes)> time;  ///< ≥ 0
  Seconds barrier = {};                ///< of ranks, before a message, as in IterationPlan
};

/// T(M) = a + b M, the least-squares line through the times on `ranks` ranks (fit_cost()), which
/// also decides the merging of messages. [arXiv:1811.11141, eq. 10] Notes its distance from the
/// times, and extrapolation to messages of `largest` bytes. Throws ConfigError where nothing was
/// timed on that many ranks, and where all messages have one size.
LinearCost timed_cost(std::span<const TimedMessage> messages, int ranks, Bytes largest,
                      Notes& notes);

/// The same iteration on run.ranks ranks. It uses the run's ranks, batch, schedule, settings and
/// input_copy. Gradients are sent in the order of backward, the last layer first, each when its
/// layer has computed. `bucket`: size at which `bucketed` closes every bucket, instead of 1 MiB and
/// 25 MiB; a bucket of all gradients is one message after backward. Throws ConfigError for
/// schedules whose messages overlap the next forward pass, and for a bucket without `bucketed`.
IterationPlan timed_plan(const TimedLayers& layers, const Run& run, const TimedExchange& exchange,
                         std::optional<Bytes> bucket, Notes& notes);

/// Source of message times: as timed, or a machine or data sheets (message_time.hpp). Exactly one
/// of the two.
struct MessageSource {
  std::span<const TimedMessage> timed = {};
  const Machine* machine = nullptr;
};

/// Simulates that plan and adds its closed form, where one holds. On several ranks it has an
/// interval. Its sources are the distance of messages to their line, or their machine, and past
/// errors of such predictions of published trainings. Throws ConfigError as the above do. Wrong
/// where layers on several ranks take longer than alone: slow-down by messages, shared hosts and
/// disks, and waiting for the slowest beyond `spread`.
Prediction predict_timed(const TimedLayers& layers, const MessageSource& source, const Run& run,
                         std::optional<Bytes> bucket, const RankSpread& spread);

}  // namespace dlscale::model
