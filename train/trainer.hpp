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

/// One S-SGD iteration of one rank. The first seven are disjoint intervals on the time line of the
/// device: io + h2d + forward + backward + exposed_comm + update + other = total. What the caller
/// does between two calls of iterate() is `other` of the second. Where the device has memory of its
/// own and computes beside the host, io and h2d are what the device waits for them: each batch is
/// fetched and copied while the iteration before computes and its gradients travel, io is what
/// comes between backward and the wait for gradients, and h2d what the next iteration starts with.
/// With Timing::iteration there are but
/// total, load and loss.
struct IterationRecord {
  Seconds io;   ///< waiting for a decoded batch
  Seconds h2d;  ///< copy of the batch into device memory
  Seconds forward;
  Seconds backward;
  Seconds exposed_comm;  ///< waiting for gradients or parameters
  Seconds update;
  Seconds other;        ///< the rest of total
  Seconds total;        ///< from the end of the last iteration to the end of this one
  Seconds hidden_comm;  ///< communication that ended since the last iteration and ran beside the
                        ///< other phases, also of the iteration before
  Seconds load;         ///< what loader threads spent on this iteration's batch (beside the phases)
  double loss = 0;
};

/// A span on the timeline of a rank, for traces and per-layer times.
struct Span {
  enum class Lane { compute, comm, loader, phase } lane;
  std::string name;  ///< layer name, the layers of a bucket, or the phase
  std::string what;  ///< pass, collective, "decode", …
  Seconds start;     ///< since the trainer was made
  Seconds duration;
  double bytes = 0;  ///< of a message
};

/// A message of an iteration on this rank.
struct SentMessage {
  backend::Collective kind = backend::Collective::all_reduce;
  std::size_t bytes = 0;          ///< counted as core/results/bandwidths.hpp does
  std::optional<Rank> root = {};  ///< of a reduce or broadcast
  std::size_t under_way = 0;      ///< messages that had begun before and were not done yet
  std::size_t layers = 0;         ///< whose gradients or parameters it carries; above 1 it is fused
  Seconds posted;                 ///< since the iteration began, when it was handed over to be sent
  Seconds wait;  ///< from there until it began: behind others, for the device, for ranks
  Seconds time;  ///< of the collective
};

/// What of an iteration is timed.
enum class Timing {
  phases,    ///< by a mark of the device at the end of each
  iteration  ///< by the mark at its end alone, beside what copies and messages need: shows what
             ///< the others cost
};

struct TrainOptions {
  Schedule schedule = Schedule::wait_free;
  Synchronisation synchronisation = Synchronisation::all_reduce;
  ScheduleSettings settings = {};
  /// Of a merged schedule: how to merge the gradients, instead of as the first iterations tell.
  Groups groups = {};
  backend::SgdStep sgd;  ///< gradient_scale is set by the trainer
  backend::Waiting waiting = backend::Waiting::sleep;
  bool record_spans = false;  ///< needs Timing::phases
  bool record_messages = false;
  Timing timing = Timing::phases;
  /// graph: forward, backward from message to message, and the update are each recorded in the
  /// second iteration and replayed from then on. Dropout draws what it does with eager.
  Launch launch = Launch::eager;
};

/// Hands out decoded batches; each stays valid until the next is asked for.
using BatchSource = std::function<const Batch&()>;

/// Iterations before a schedule is as it will stay: those that a merged one watches, and the one in
/// which the ranks agree on what they make of it. One rank, and groups that are given, need none.
int settling_iterations(Schedule schedule, int ranks);

/// Synchronous data-parallel SGD. Gradients travel on a communication thread with its own
/// duplicate of the communicator, or on the training thread (sequential).
/// A layer's gradient is sent once it is complete: after backward_filter, of batch norm after
/// backward_data. All schedules give the same gradients and parameters, bit for bit, where the
/// library adds in the same order whatever the message and the collective. One rank exchanges
/// nothing. What one rank throws once they train the others learn of by its end only.
class Trainer {
 public:
  /// Collective: all ranks start from the parameters of rank 0. Everything given must outlive the
  /// trainer. Throws on all ranks what one lacks beside a link of its own, such as memory that
  /// gradients travel through, and Interrupted (backend::together()); ConfigError
  /// if the ranks do not train the same network in the same layouts, and if Launch::graph is asked
  /// for with spans of layers (a graph has none), on a device that computes on the host, or under a
  /// schedule whose messages overlap the next forward.
  Trainer(Program& program, backend::Communicator& communicator, BatchSource next,
          const TrainOptions& options);
  Trainer(Program& program, backend::Communicator& communicator, DataPipeline& data,
          const TrainOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  /// One iteration. Throws WrongResult if the loss is not finite, and what the loader or
  /// communication thread met. A rank that fails still takes part in the exchange of the iteration,
  /// so that the others are not left waiting; telling them is up to the caller. Not so after what
  /// leaves_ranks_apart(): a LibraryError, as which everything is thrown that fails in an exchange.
  IterationRecord iterate();
  /// The next iteration begins here, not where the last one ended: what the caller did since is
  /// none of its time.
  void restart_clock();
  /// Where messages overlap the next forward, waits for those of the last iteration and updates the
  /// parameters, as the next iteration would. Before anyone looks at gradients or parameters.
  void settle();
  /// The mean over all ranks of the gradients of the last iteration, in plain order as
  /// Program::plain_gradient(). With a parameter server a rank knows only those of the layers it
  /// owns.
  [[nodiscard]] std::vector<float> mean_gradient(LayerId layer) const;
  /// What was recorded since the last call, if TrainOptions say to.
  [[nodiscard]] std::vector<Span> take_spans();
  /// Of a merged schedule on several ranks, once there is one that was not given: what the ranks
  /// agreed on.
  [[nodiscard]] const std::optional<MergePlan>& merge_plan() const;
  /// Bytes of the messages of an iteration, in order. Of horovod the gradients that it packs, of
  /// priority those that it cuts.
  [[nodiscard]] std::vector<Bytes> message_sizes() const;
  /// The messages that carried the gradients of each iteration since the last call, in the order in
  /// which they began, if TrainOptions say to record them. Where messages overlap the next forward,
  /// those of the last iteration are all there after settle() only.
  [[nodiscard]] std::vector<std::vector<SentMessage>> take_messages();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Chrome/Perfetto trace (JSON object format) of one rank. Throws ConfigError if unwritable, if the
/// file is there and is no earlier trace, and as refuse_shared_output().
void write_trace(const std::filesystem::path& path, Rank rank, const std::vector<Span>& spans);

}  // namespace dlscale::train
