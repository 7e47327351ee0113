#include "model/what_if/advice.hpp"

#include <limits>
#include <string>
#include <utility>

#include "core/text/quantity_text.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

/// Collects changes of one setting each.
class Changes {
 public:
  Changes(const Machine& machine, const Run& run) : machine_(&machine), run_(&run) {}
  std::vector<Change> find();

 private:
  template <class Edit>
  void add(std::string_view setting, std::string value, const Edit& edit) {
    Change change{setting, std::move(value), *run_, machine_->all_reduce_override,
                  machine_->cluster.all_reduce};
    edit(change);
    changes_.push_back(std::move(change));
  }
  [[nodiscard]] bool on_gpu() const { return machine_->cluster.device.kind == DeviceKind::gpu; }
  void add_schedules();
  void add_shardings();
  void add_settings();
  void add_all_reduces();
  void add_input();
  void add_compute();
  void add_batches();

  const Machine* machine_;
  const Run* run_;
  std::vector<Change> changes_;
};

void Changes::add_schedules() {
  const bool by_server = run_->synchronisation == Synchronisation::parameter_server;
  for (const Schedule schedule : all_schedules) {
    if (schedule == run_->schedule) continue;
    if (by_server &&
        !(goes_with_server(schedule) && goes_with_sharding(schedule, run_->settings.sharding))) {
      continue;
    }
    add("schedule", std::string(schedule_name(schedule)),
        [&](Change& change) { change.run.schedule = schedule; });
  }
  if (by_server) {
    add("synchronisation", "all_reduce", [](Change& change) {
      change.run.synchronisation = Synchronisation::all_reduce;
      change.run.settings.servers = 0;
      change.run.settings.sharding = Sharding::largest_first;
    });
    add_shardings();
  }
}

/// The other rules by which servers may own parameters.
void Changes::add_shardings() {
  for (const Sharding sharding : all_shardings) {
    const bool now = sharding == run_->settings.sharding;
    if (now || !goes_with_sharding(run_->schedule, sharding)) continue;
    add("sharding", std::string(sharding_name(sharding)),
        [&](Change& change) { change.run.settings.sharding = sharding; });
  }
}

/// Adds half and twice the values of the schedule's parameters.
void Changes::add_settings() {
  const ScheduleSettings& now = run_->settings;
  for (const double factor : {0.5, 2.0}) {
    if (run_->schedule == Schedule::horovod) {
      const Bytes threshold = factor * now.fusion_threshold;
      add("fusion threshold", to_text(threshold),
          [&](Change& change) { change.run.settings.fusion_threshold = threshold; });
      const Seconds cycle = factor * now.cycle;
      add("cycle", to_text(cycle), [&](Change& change) { change.run.settings.cycle = cycle; });
    }
    if (run_->schedule != Schedule::priority) continue;
    const Bytes partition = factor * now.partition;
    if (partition < 4_B) continue;
    add("partition", to_text(partition),
        [&](Change& change) { change.run.settings.partition = partition; });
  }
}

/// Adds other all-reduces: for data sheets as the cluster's rule, for a measured library by their
/// names.
void Changes::add_all_reduces() {
  if (run_->synchronisation != Synchronisation::all_reduce) return;
  const Cluster& cluster = machine_->cluster;
  const Placement place{run_->ranks, run_->ranks_per_node};
  if (machine_->all_reduce_override.empty() && !machine_->fitted) {
    for (const AllReduceRule rule : {AllReduceRule::ring, AllReduceRule::hierarchical,
                                     AllReduceRule::nccl, AllReduceRule::quickest}) {
      const bool known = rule != AllReduceRule::nccl || cluster.nccl.has_value();
      if (rule == cluster.all_reduce || !known || (place.nodes() == 1 && !cluster.nccl)) continue;
      const bool is_part = rule == AllReduceRule::ring || rule == AllReduceRule::hierarchical;
      if (is_part && cluster.all_reduce == AllReduceRule::quickest) continue;  // never faster
      add("all-reduce", std::string(all_reduce_rule_name(rule)),
          [&](Change& change) { change.all_reduce = rule; });
    }
  }
  if (machine_->all_reduce_override.empty() && machine_->fitted) {
    add("all-reduce", "best", [](Change& change) { change.all_reduce_override = "best"; });
  }
  if (machine_->all_reduce_override != "sharp" && place.nodes() > 1) {
    add("all-reduce", "sharp", [](Change& change) { change.all_reduce_override = "sharp"; });
  }
}

void Changes::add_input() {
  if (run_->loader_threads <= std::numeric_limits<int>::max() / 2) {
    const int threads = 2 * run_->loader_threads;
    add("loader threads", std::to_string(threads),
        [&](Change& change) { change.run.loader_threads = threads; });
  }
  if (!on_gpu()) return;
  if (run_->input_copy != InputCopy::ahead) {
    add("input copy", "ahead", [](Change& change) { change.run.input_copy = InputCopy::ahead; });
  }
  if (run_->normalisation != Normalisation::device) {
    add("normalize", "device",
        [](Change& change) { change.run.normalisation = Normalisation::device; });
  }
}

void Changes::add_compute() {
  if (!run_->fuse_relu) {
    add("fuse", "relu", [](Change& change) { change.run.fuse_relu = true; });
  }
  if (on_gpu() && run_->launch != Launch::graph && !overlaps_next_forward(run_->schedule)) {
    add("launch", "graph", [](Change& change) { change.run.launch = Launch::graph; });
  }
  for (const DType dtype : all_dtypes) {
    if (dtype == run_->dtype || !machine_->cluster.device.peak.contains(dtype)) continue;
    add("data type", std::string(dtype_name(dtype)),
        [&](Change& change) { change.run.dtype = dtype; });
  }
}

void Changes::add_batches() {
  if (run_->batch % 2 == 0) {
    add("batch", std::to_string(run_->batch / 2),
        [&](Change& change) { change.run.batch = run_->batch / 2; });
  }
  if (run_->batch > std::numeric_limits<int>::max() / 2) return;
  add("batch", std::to_string(2 * run_->batch),
      [&](Change& change) { change.run.batch = 2 * run_->batch; });
}

std::vector<Change> Changes::find() {
  if (run_->ranks > 1) {
    add_schedules();
    add_settings();
    add_all_reduces();
  }
  add_input();
  add_compute();
  add_batches();
  return std::move(changes_);
}

}  // namespace

std::vector<Change> changes_of(const Machine& machine, const Run& run) {
  return Changes(machine, run).find();
}

}  // namespace dlscale::model
