#pragma once
#include <functional>
#include <optional>
#include <span>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"
#include "core/network/timed_layers.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/compute_factors.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// Iterations of a training whose layers somebody timed: the times of one worker are taken as they
/// are, and what is predicted is how its messages fit between them. Of anybody's network, on
/// anybody's device.

/// What the all-reduces of such a training take on a number of ranks.
struct TimedExchange {
  std::function<Seconds(Bytes)> time;  ///< ≥ 0
  Seconds meeting = {};                ///< of ranks before a message, as in IterationPlan
};

/// T(M) = a + b M, the line of least squares through what was timed on so many ranks (fit_cost()),
/// which is what messages are merged by, too. [arXiv:1811.11141, eq. 10] Notes how far the line is
/// from what was timed, and messages of `largest` bytes that it was extended for. Throws
/// ConfigError where nothing was timed on so many ranks, and where all was of one size.
LinearCost timed_cost(std::span<const TimedMessage> messages, int ranks, Bytes largest,
                      Notes& notes);

/// The same iteration on run.ranks ranks. Of the run count ranks, batch, schedule, settings and
/// input_copy. Gradients leave in the order of backward, the last layer first, each when its layer
/// has computed. `bucket`: where buckets of `bucketed` are closed, the first as the others, instead
/// of 1 MiB and 25 MiB; one that holds all gradients is one message after backward. Throws
/// ConfigError for schedules whose messages travel beside the next forward pass, and for a bucket
/// without `bucketed`.
IterationPlan timed_plan(const TimedLayers& layers, const Run& run, const TimedExchange& exchange,
                         std::optional<Bytes> bucket, Notes& notes);

/// Where the times of messages come from: as timed, or those of a machine or of data sheets
/// (message_time.hpp). One of the two.
struct MessageSource {
  std::span<const TimedMessage> timed = {};
  const Machine* machine = nullptr;
};

/// By simulation of that plan and, where one holds, its closed form; with an interval on several
/// ranks, from how far messages are from their line, or from their machine, and from how far such
/// predictions of a published training were off. Throws ConfigError as the
/// above do. Wrong where layers of several ranks do not take what they take alone: computing that
/// messages slow down, shared hosts and disks, and waiting for the slowest, but for what `spread`
/// states.
Prediction predict_timed(const TimedLayers& layers, const MessageSource& source, const Run& run,
                         std::optional<Bytes> bucket, const RankSpread& spread);

}  // namespace dlscale::model
