#include "model/sgd_iter/iteration_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration_graph.hpp"

namespace dlscale::model {
namespace {

/// The part of a task's time that belongs to one name.
struct Piece {
  std::string name;
  std::string what;
  double weight = 1;
};

/// Names for a task of the device or of the communication thread.
struct Label {
  std::vector<Piece> pieces;
  Bytes bytes = {};
  TraceRow row = TraceRow::device;
};

/// "conv1, conv2 and 5 more".
std::string names_of(const Network& network, std::span<const LayerId> layers) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const LayerId layer : layers.first(std::min(most, layers.size()))) {
    names.push_back(network.layer(layer).name);
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (layers.size() > most) text += fmt::format(" and {} more", layers.size() - most);
  return text;
}

/// The tasks of each iteration in the order in which IterationGraph adds them to a resource.
class Labels {
 public:
  Labels(const Network& network, const IterationCosts& costs, const IterationPlan& plan)
      : network_(&network), costs_(&costs), plan_(&plan) {}
  [[nodiscard]] std::vector<Label> of_device() const;
  [[nodiscard]] std::vector<Label> of_communication() const;

 private:
  [[nodiscard]] Label stretch(std::span<const Step> steps, std::span<const StepCost> costs) const;
  [[nodiscard]] static Label alone(const std::string& name) { return {{{name, name, 1}}}; }
  [[nodiscard]] Label message(std::size_t part, std::string what) const;
  void add_forward(std::vector<Label>& labels) const;
  void add_backward(std::vector<Label>& labels) const;
  void add_messages(std::vector<Label>& labels) const;

  const Network* network_;
  const IterationCosts* costs_;
  const IterationPlan* plan_;
};

Label Labels::stretch(std::span<const Step> steps, std::span<const StepCost> costs) const {
  EXPECT(steps.size() == costs.size());
  Label label;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    label.pieces.push_back({network_->layer(steps[i].layer).name,
                            std::string(pass_name(steps[i].pass)), costs[i].compute.value.si()});
  }
  return label;
}

Label Labels::message(std::size_t part, std::string what) const {
  const MessageCost& cost = costs_->message[part].value();
  return {
      {{names_of(*network_, cost.layers), std::move(what), 1}}, cost.size, TraceRow::communication};
}

void Labels::add_forward(std::vector<Label>& labels) const {
  const std::vector<Step> all = forward_steps(*network_);
  const std::span<const Step> by_step(all);
  const std::span<const StepCost> by_cost(costs_->forward);
  const auto part = [&](std::size_t first, std::size_t end) {
    return stretch(by_step.subspan(first, end - first), by_cost.subspan(first, end - first));
  };
  const std::vector<LateCost>& late = costs_->late;
  labels.push_back(part(0, late.empty() ? all.size() : late.front().step));
  for (std::size_t i = 0; i < late.size(); ++i) {
    labels.push_back(alone("update"));
    labels.push_back(part(late[i].step, i + 1 < late.size() ? late[i + 1].step : all.size()));
  }
}

void Labels::add_backward(std::vector<Label>& labels) const {
  const std::vector<Step> all = backward_steps(*network_);
  std::span<const Step> rest(all);
  for (const std::vector<StepCost>& part : costs_->backward) {
    labels.push_back(stretch(rest.first(part.size()), part));
    rest = rest.subspan(part.size());
  }
}

void Labels::add_messages(std::vector<Label>& labels) const {
  for (std::size_t part = 0; part < plan_->backward.size(); ++part) {
    if (!plan_->backward[part].message) continue;
    if (plan_->backward[part].pieces.empty()) {
      labels.push_back(message(part, "message"));
      continue;
    }
    const auto elements =
        static_cast<std::size_t>(costs_->message[part]->size.si() / element_bytes(DType::f32));
    const auto sizes = part_sizes(elements, costs_->settings.partition);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Label& label =
          labels.emplace_back(message(part, fmt::format("part {} of {}", i + 1, sizes.size())));
      label.bytes = Bytes(static_cast<double>(sizes[i] * element_bytes(DType::f32)));
    }
  }
}

std::vector<Label> Labels::of_device() const {
  std::vector<Label> labels;
  labels.push_back(alone("host-to-device copy"));
  add_forward(labels);
  add_backward(labels);
  if (plan_->schedule == Schedule::sequential) add_messages(labels);
  if (plan_->meeting > Seconds()) labels.push_back(alone("copies of gradients"));
  labels.push_back(alone("update"));
  if (!plan_->late.empty()) return labels;
  for (std::size_t part = 0; part < plan_->backward.size(); ++part) {
    if (plan_->backward[part].gather) labels.push_back(message(part, "gather"));
  }
  return labels;
}

std::vector<Label> Labels::of_communication() const {
  std::vector<Label> labels;
  if (plan_->schedule != Schedule::sequential) add_messages(labels);
  if (plan_->running) {
    for (const char* part : {"messages of most layers", "messages of the last layer"}) {
      labels.push_back({{{part, "message", 1}}, {}, TraceRow::communication});
    }
  }
  if (plan_->late.empty()) return labels;
  for (std::size_t part = plan_->backward.size(); part-- > 0;) {
    if (plan_->backward[part].gather) labels.push_back(message(part, "gather"));
  }
  return labels;
}

/// Reads the spans of some iterations from a simulated graph.
class Tracer {
 public:
  Tracer(const IterationGraph& graph, const Labels& labels, std::size_t first, std::size_t end);
  std::vector<TraceSpan> spans();
  std::vector<Seconds> iterations();

 private:
  [[nodiscard]] Seconds end_of(std::size_t iteration) const {
    return timeline_.finished(graph_->iterations()[iteration].end);
  }
  void add(TraceSpan span);
  void add(const Label& label, Seconds start, Seconds finish);
  void add_iteration(std::size_t iteration);
  void add_task(std::size_t task, std::size_t iteration);
  [[nodiscard]] bool is_giving(std::size_t task) const;

  const IterationGraph* graph_;
  Timeline timeline_;
  std::vector<Label> device_;
  std::vector<Label> communication_;
  std::size_t first_;
  std::size_t end_;
  Seconds origin_;
  Seconds last_;
  std::size_t on_device_ = 0;         ///< tasks of the iteration so far
  std::size_t on_communication_ = 0;  ///< likewise
  std::vector<TraceSpan> spans_;
};

Tracer::Tracer(const IterationGraph& graph, const Labels& labels, std::size_t first,
               std::size_t end)
    : graph_(&graph),
      timeline_(simulate(graph.graph())),
      device_(labels.of_device()),
      communication_(labels.of_communication()),
      first_(first),
      end_(end),
      origin_(end_of(first - 1)),
      last_(end_of(end - 1)) {}

/// Clips spans to the iterations shown. A pack is one span of all its messages.
void Tracer::add(TraceSpan span) {
  const Seconds start = std::max(span.start, origin_);
  const Seconds finish = std::min(span.start + span.duration, last_);
  if (finish <= start) return;
  span.start = start - origin_;
  span.duration = finish - start;
  if (span.row == TraceRow::communication && !spans_.empty()) {
    TraceSpan& before = spans_.back();
    if (before.row == span.row && before.start == span.start && before.duration == span.duration) {
      before.name += ", " + span.name;
      before.bytes += span.bytes;
      return;
    }
  }
  spans_.push_back(std::move(span));
}

void Tracer::add(const Label& label, Seconds start, Seconds finish) {
  double sum = 0;
  for (const Piece& piece : label.pieces) sum += piece.weight;
  if (sum <= 0) return;
  double done = 0;
  for (const Piece& piece : label.pieces) {
    const Seconds from = start + done / sum * (finish - start);
    done += piece.weight;
    const Seconds to = start + done / sum * (finish - start);
    add(TraceSpan{label.row, piece.name, piece.what, from, to - from, label.bytes});
  }
}

/// Whether a task is the host's launch of the task before: IterationGraph adds it right after, and
/// then both together.
bool Tracer::is_giving(std::size_t task) const {
  const std::vector<Task>& tasks = graph_->graph().tasks();
  return !tasks[task].resource && tasks[task].work > Seconds() && task > 0 &&
         tasks[task - 1].resource.has_value();
}

void Tracer::add_task(std::size_t task, std::size_t iteration) {
  const Task& what = graph_->graph().tasks()[task];
  const Seconds start = timeline_.start[task];
  const Seconds finish = timeline_.finish[task];
  const bool ahead = graph_->plan().input_copy == InputCopy::ahead;
  const auto plain = [&](TraceRow row, const char* name, std::size_t number) {
    add(TraceSpan{row, fmt::format("{} {}", name, number), name, start, finish - start, {}});
  };
  const auto batch = [&](TraceRow row) { plain(row, "batch", iteration + (ahead ? 1 : 0)); };
  if (!what.resource) {
    if (is_giving(task)) plain(TraceRow::host, "give", iteration);
    return;
  }
  const std::string& resource = graph_->graph().resources()[what.resource->index()].name;
  if (resource == "device") {
    add(device_.at(on_device_++), start, finish);
  } else if (resource == "communication thread") {
    add(communication_.at(on_communication_++), start, finish);
  } else if (resource == "storage") {
    batch(TraceRow::storage);
  } else if (resource == "loader threads") {
    batch(TraceRow::loaders);
  } else {
    EXPECT(resource == "copy engine");
    batch(TraceRow::copy_engine);
  }
}

void Tracer::add_iteration(std::size_t iteration) {
  on_device_ = 0;
  on_communication_ = 0;
  const std::vector<std::size_t>& ends = graph_->ends();
  for (std::size_t task = iteration == 0 ? 0 : ends[iteration - 1]; task < ends[iteration];
       ++task) {
    add_task(task, iteration);
  }
}

std::vector<TraceSpan> Tracer::spans() {
  for (std::size_t i = 0; i < graph_->iterations().size(); ++i) add_iteration(i);
  for (std::size_t i = first_; i < end_; ++i) {
    add(TraceSpan{TraceRow::iterations,
                  fmt::format("iteration {}", i),
                  "iteration",
                  end_of(i - 1),
                  end_of(i) - end_of(i - 1),
                  {}});
  }
  std::ranges::stable_sort(spans_, {},
                           [](const TraceSpan& span) { return std::pair(span.row, span.start); });
  return std::move(spans_);
}

std::vector<Seconds> Tracer::iterations() {
  std::vector<Seconds> result;
  for (std::size_t i = first_; i < end_; ++i) result.push_back(end_of(i) - end_of(i - 1));
  return result;
}

}  // namespace

std::string_view trace_row_name(TraceRow row) {
  switch (row) {
    case TraceRow::iterations:
      return "iterations";
    case TraceRow::storage:
      return "storage";
    case TraceRow::loaders:
      return "loader threads";
    case TraceRow::copy_engine:
      return "copy engine";
    case TraceRow::host:
      return "host, giving work";
    case TraceRow::device:
      return "device";
    case TraceRow::communication:
      return "communication";
  }
  fail_expectation("row is a TraceRow");
}

IterationTrace trace_iterations(const Network& network, const Machine& machine, const Run& run,
                                int iterations) {
  EXPECT(iterations >= 1);
  check(run);
  Notes notes;
  const Network running = as_run(network, run);
  const IterationCosts costs = iteration_costs(running, machine, run, notes);
  const IterationPlan plan = costs.plan({}, Bound::value);
  const std::size_t first = plan.packing ? 32 : 8;
  const std::size_t end = first + static_cast<std::size_t>(iterations);
  IterationGraph graph(plan);
  // The loader threads read batches of further iterations during those shown.
  for (std::size_t i = 0; i <= end + queue_length(plan); ++i) graph.add_iteration();
  Tracer tracer(graph, Labels(running, costs, plan), first, end);
  IterationTrace trace;
  trace.run = run;
  trace.iterations = tracer.iterations();
  trace.spans = tracer.spans();
  return trace;
}

}  // namespace dlscale::model
