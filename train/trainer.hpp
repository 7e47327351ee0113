#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/network/merge.hpp"
#include "core/run/run.hpp"
#include "train/data/data.hpp"
#include "train/engine/program.hpp"
#include "train/exchange/merge_profile.hpp"

namespace dlscale::train {

/// One S-SGD iteration of one rank. The first seven are disjoint intervals on the device's
/// timeline: io + h2d + forward + backward + exposed_comm + update + other = total. Time of the
/// caller between two calls of iterate() counts as `other` of the second.
///
/// A device with its own memory that computes asynchronously fetches and copies each batch while
/// the previous iteration computes and exchanges gradients. There io and h2d are the times that the
/// device waits: io between backward and the wait for gradients, h2d at the start of the next
/// iteration. With Timing::iteration only total, load and loss are set.
struct IterationRecord {
  Seconds io;   ///< waiting for a decoded batch
  Seconds h2d;  ///< copy of the batch to device memory
  Seconds forward;
  Seconds backward;
  Seconds exposed_comm;  ///< waiting for gradients or parameters
  Seconds update;
  Seconds other;  ///< remainder of total
  Seconds total;  ///< from the end of the previous iteration to the end of this one
  /// Communication that ended since the previous iteration and overlapped other phases, also those
  /// of the previous iteration.
  Seconds hidden_comm;
  Seconds load;  ///< loader threads' time for this batch, which overlaps the phases
  double loss = 0;
};

/// A span on the timeline of a rank, for traces and per-layer times.
struct Span {
  enum class Lane { compute, comm, loader, phase } lane;
  std::string name;  ///< layer name, the layers of a bucket, or the phase
  std::string what;  ///< pass, collective, "decode", …
  Seconds start;     ///< since the trainer was constructed
  Seconds duration;
  double bytes = 0;  ///< message size
};

/// A message of an iteration on this rank.
struct SentMessage {
  backend::Collective kind = backend::Collective::all_reduce;
  std::size_t bytes = 0;          ///< as core/results/bandwidths.hpp counts them
  std::optional<Rank> root = {};  ///< set for a reduce or broadcast
  std::size_t under_way = 0;      ///< earlier messages still in flight when it started
  std::size_t layers = 0;  ///< layers whose gradients or parameters it holds; above 1 it is fused
  Seconds posted;          ///< when it was posted, since the start of the iteration
  Seconds wait;  ///< from posting to start: queueing, and waiting for the device and other ranks
  Seconds time;  ///< duration of the collective
};

/// Granularity of an iteration's timing.
enum class Timing {
  phases,  ///< a device mark at the end of each phase
  /// Only the mark at the end, besides those that copies and messages need; shows the cost of the
  /// other marks.
  iteration
};

struct TrainOptions {
  Schedule schedule = Schedule::wait_free;
  Synchronisation synchronisation = Synchronisation::all_reduce;
  ScheduleSettings settings = {};
  /// Groups of gradients for a merged schedule, instead of those derived from the first iterations.
  Groups groups = {};
  backend::SgdStep sgd;  ///< the trainer sets gradient_scale
  backend::WaitPolicy waiting = backend::WaitPolicy::sleep;
  bool record_spans = false;  ///< needs Timing::phases
  bool record_messages = false;
  Timing timing = Timing::phases;
  /// Under Launch::graph, forward, backward between messages, and update are each recorded in the
  /// second iteration and replayed from then on. Dropout draws the same elements as with eager.
  Launch launch = Launch::eager;
};

/// Returns decoded batches; each stays valid until the next call.
using BatchSource = std::function<const Batch&()>;

/// Number of iterations before a schedule is final. A merged schedule first profiles some
/// iterations, then the ranks agree on a plan in one more. It is 0 for one rank and for given
/// groups.
int settling_iterations(Schedule schedule, int ranks);

/// Synchronous data-parallel SGD. Gradients are exchanged by a communication thread with its own
/// duplicate of the communicator, or by the training thread (sequential). A layer's gradient is
/// sent once it is complete: after backward_filter, for batch norm after backward_data.
///
/// All schedules give bitwise equal gradients and parameters if the library's order of summation is
/// independent of message and collective. A single rank exchanges nothing. Once training runs,
/// other ranks notice a rank's exception only when that rank ends.
class Trainer {
 public:
  /// Collective: all ranks start from the parameters of rank 0. All arguments must outlive the
  /// trainer. If a rank fails to set up, for example to allocate staging memory, all ranks throw;
  /// they also throw Interrupted together (backend::together()). Link failures are the exception.
  ///
  /// Throws ConfigError if the ranks train different networks or layouts. Throws ConfigError for
  /// Launch::graph with spans of layers (a graph has none), on a device that computes on the host,
  /// or under a schedule whose messages overlap the next forward.
  Trainer(Program& program, backend::Communicator& communicator, BatchSource next,
          const TrainOptions& options);
  Trainer(Program& program, backend::Communicator& communicator, DataPipeline& data,
          const TrainOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  /// Runs one iteration. Throws WrongResult if the loss is not finite, and exceptions of the loader
  /// or communication thread. A failed rank still takes part in the exchange of the iteration, so
  /// that the others do not block; the caller must inform them. It does not after a failure for
  /// which is_collective_failure() holds: a LibraryError, the type of every failure in an exchange.
  IterationRecord iterate();
  /// Starts the clock of the next iteration now, so that the caller's time since the last one is
  /// excluded.
  void restart_clock();
  /// Waits for messages of the last iteration that overlap the next forward, and updates the
  /// parameters as the next iteration would. Call it before reading gradients or parameters.
  void settle();
  /// Mean over all ranks of the last iteration's gradients, in plain order as
  /// Program::plain_gradient(). With a parameter server a rank has only those of the layers it
  /// owns.
  [[nodiscard]] std::vector<float> mean_gradient(LayerId layer) const;
  /// Takes the spans recorded since the last call, if TrainOptions enable them.
  [[nodiscard]] std::vector<Span> take_spans();
  /// The plan that the ranks agreed on. Set only for a merged schedule on several ranks without
  /// given groups, once the plan exists.
  [[nodiscard]] const std::optional<MergePlan>& merge_plan() const;
  /// Bytes of an iteration's messages, in order: for horovod the gradients before packing, for
  /// priority those before cutting.
  [[nodiscard]] std::vector<Bytes> message_sizes() const;
  /// Takes the gradient messages of each iteration since the last call, in the order in which they
  /// began, if TrainOptions enable them. Where messages overlap the next forward, those of the last
  /// iteration are complete only after settle().
  [[nodiscard]] std::vector<std::vector<SentMessage>> take_messages();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes a Chrome/Perfetto trace (JSON object format) of one rank. Throws ConfigError if the file
/// is not writable or exists but is not an earlier trace, and as refuse_shared_output().
void write_trace(const std::filesystem::path& path, Rank rank, const std::vector<Span>& spans);

}  // namespace dlscale::train
