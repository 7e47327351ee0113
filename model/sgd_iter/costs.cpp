#include "model/sgd_iter/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/step.hpp"
#include "model/sgd_iter/kernel_time.hpp"
#include "model/sgd_iter/memory.hpp"
#include "model/sgd_iter/message_time.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

/// Mean size of an ImageNet picture; Host::decode and the data sets of `dlscale data make` are for
/// it. [MODEL §9: 114,660 B a TFRecord, of which some is not picture]
constexpr Bytes picture_size(110e3);
constexpr double f32_bytes = 4;

Seconds at(const Estimate<Seconds>& estimate, Bound bound) {
  switch (bound) {
    case Bound::value:
      return estimate.value;
    case Bound::low:
      return estimate.low;
    case Bound::high:
      return estimate.high;
  }
  fail_expectation("bound is a Bound");
}

ConfigError missing(std::string_view what, std::string_view command) {
  return ConfigError(
      fmt::format("the machine holds no {}, so an iteration cannot be predicted. Measure "
                  "it and calibrate again: {}.",
                  what, command));
}

double apart(int a, int b) {
  return std::abs(std::log(static_cast<double>(a) / b));
}

/// Under which conditions a copy or an update was measured, or is wanted.
struct Conditions {
  DType dtype = DType::f32;
  int threads = 1;
  int ranks_on_node = 1;
  explicit Conditions(const AffineFit& fit)
      : dtype(fit.dtype), threads(fit.threads), ranks_on_node(fit.ranks_on_node) {}
  Conditions(DType the_dtype, int the_threads, int the_ranks_on_node)
      : dtype(the_dtype), threads(the_threads), ranks_on_node(the_ranks_on_node) {}
  bool operator==(const Conditions&) const = default;
  [[nodiscard]] std::string text() const {
    return fmt::format("in {} with {} threads beside {} ranks", dtype_name(dtype), threads,
                       ranks_on_node);
  }
};

/// Precision first, then threads, then ranks on the node.
const AffineFit& nearest(const std::vector<AffineFit>& fits, const Conditions& wanted) {
  const auto distance = [&](const AffineFit& fit) {
    return std::tuple(fit.dtype != wanted.dtype, apart(fit.threads, wanted.threads),
                      apart(fit.ranks_on_node, wanted.ranks_on_node));
  };
  return *std::min_element(fits.begin(), fits.end(), [&](const AffineFit& a, const AffineFit& b) {
    return distance(a) < distance(b);
  });
}

class Costs {
 public:
  Costs(const Network& network, const Machine& machine, const Run& run, Notes& notes)
      : network_(&network),
        machine_(&machine),
        run_(&run),
        notes_(&notes),
        place_{run.ranks, run.ranks_per_node} {}
  IterationCosts find();

 private:
  [[nodiscard]] bool on_cpu() const { return machine_->cluster.device.kind == DeviceKind::cpu; }
  [[nodiscard]] StepCost affine(const std::vector<AffineFit>& fits, const Conditions& wanted,
                                Bytes size, std::string_view what) const;
  [[nodiscard]] Estimate<Seconds> picture() const;
  [[nodiscard]] Estimate<Seconds> stated_picture(const LoaderFit& fit) const;
  [[nodiscard]] Seconds storage() const;
  [[nodiscard]] Bytes batch_size() const;
  void add_cores(IterationPlan& plan) const;
  void add_steps(IterationCosts& costs) const;
  void give_at_once(IterationCosts& costs) const;

  const Network* network_;
  const Machine* machine_;
  const Run* run_;
  Notes* notes_;
  Placement place_;
};

StepCost Costs::affine(const std::vector<AffineFit>& fits, const Conditions& wanted, Bytes size,
                       std::string_view what) const {
  const AffineFit& fit = nearest(fits, wanted);
  if (machine_->fitted && Conditions(fit) != wanted) {
    notes_->add(fmt::format("{} {} was not measured: taken from {}", what, wanted.text(),
                            Conditions(fit).text()));
  }
  if (!fit.cost.covers(size)) {
    notes_->add(
        fmt::format("{} of a size outside those measured: the nearest segment was extended", what),
        fmt::format("{:.0f} B", size.si()));
  }
  return {fit.cost.time(size), fit.give.value_or(Estimate<Seconds>{})};
}

/// Thread time of a picture as the cluster's description states it.
Estimate<Seconds> Costs::stated_picture(const LoaderFit& fit) const {
  const std::string& cluster = machine_->cluster.name;
  const Estimate<Seconds> time = fit.picture();
  if (time.value > Seconds()) {
    notes_->add(
        fmt::format("decoding takes {} a picture and core by host.decode of cluster {}: "
                    "measured by others, maybe on another processor (see its source), so "
                    "an estimate and no bound",
                    to_text(time.value), cluster));
  } else {
    notes_->add(
        fmt::format("cluster {} gives no host.decode: decoding is taken to cost nothing", cluster));
  }
  return time;
}

/// Thread time of a picture of the network's input size. Reading and decoding do not depend on the
/// crop; augmenting goes with its pixels.
Estimate<Seconds> Costs::picture() const {
  const ImageShape input = network_->input();
  const double pixels = static_cast<double>(input.height) * input.width;
  const auto distance = [&](const LoaderFit& fit) {
    const double ratio = fit.height * static_cast<double>(fit.width) / pixels;
    return std::pair(apart(fit.ranks_on_node, place_.ranks_on_node()), std::abs(std::log(ratio)));
  };
  const LoaderFit& fit = *std::min_element(
      machine_->loaders.begin(), machine_->loaders.end(),
      [&](const LoaderFit& a, const LoaderFit& b) { return distance(a) < distance(b); });
  if (!machine_->fitted) return stated_picture(fit);
  if (fit.ranks_on_node != place_.ranks_on_node()) {
    notes_->add(fmt::format("loading beside {} ranks was not measured: taken from {} ranks",
                            place_.ranks_on_node(), fit.ranks_on_node));
  }
  Estimate<Seconds> sum = fit.read;
  sum += fit.decode;
  if (fit.height == input.height && fit.width == input.width) {
    sum += fit.augment;
    return sum;
  }
  notes_->add(
      fmt::format("pictures of {} × {} were not loaded: augmenting scaled by pixels from {} × {}",
                  input.height, input.width, fit.height, fit.width));
  sum += pixels / (fit.height * static_cast<double>(fit.width)) * fit.augment;
  return sum;
}

/// (9.2), (9.6): a batch for every rank that shares the storage. What was measured on one node
/// includes its storage; a server that several nodes share is not in it.
Seconds Costs::storage() const {
  const Storage& storage = machine_->cluster.storage;
  const bool served = storage.shared_by_nodes && place_.nodes() > 1;
  if (storage.read_bandwidth.si() <= 0 || (machine_->fitted && !served)) return {};
  const int sharers = storage.shared_by_nodes ? place_.ranks : place_.ranks_on_node();
  return static_cast<double>(sharers) * run_->batch * picture_size / storage.read_bandwidth;
}

/// What of a batch travels to the device: f32, or bytes that the device makes f32 of.
Bytes Costs::batch_size() const {
  const auto elements = static_cast<double>(run_->batch * network_->input().elements());
  if (run_->normalisation == Normalisation::host) return Bytes(f32_bytes * elements);
  if (machine_->fitted) {
    notes_->add(
        "pictures normalised on the device: their copy is taken from batches of f32 of the same "
        "size, augmenting from pictures normalised on the host, and the device's part as nothing");
  }
  return Bytes(elements);
}

void Costs::add_cores(IterationPlan& plan) const {
  const int on_node = place_.ranks_on_node();
  const double share = static_cast<double>(machine_->cluster.host.cores) / on_node;
  plan.loader_cores = 1;
  plan.cores = share;
  if (!on_cpu()) return;
  plan.cores = std::min<double>(run_->cores_per_rank, share);
  plan.comm_cores = 1;
  // More threads than cores were measured on as few.
  plan.compute_cores = plan.copy_cores = std::min<double>(run_->compute_threads, plan.cores);
  if (share < run_->cores_per_rank) {
    notes_->add(fmt::format("{} ranks on a node want {} cores each of {}: each gets {:g}", on_node,
                            run_->cores_per_rank, machine_->cluster.host.cores, share));
  }
}

/// One part of backward for each message, and what comes after the last.
void Costs::add_steps(IterationCosts& costs) const {
  const KernelTimes kernels(*network_, *machine_, *run_, place_.ranks_on_node(), *notes_);
  const auto cost = [&](Step step) { return StepCost{kernels.time(step), kernels.give(step)}; };
  for (const Step step : forward_steps(*network_)) costs.forward.push_back(cost(step));
  const auto steps = backward_steps(*network_);
  const MessageTimes messages(*machine_, place_, run_->schedule, *notes_);
  std::size_t done = 0;
  const auto advance_to = [&](std::size_t end) {
    std::vector<StepCost>& part = costs.backward.emplace_back();
    for (; done < end; ++done) part.push_back(cost(steps[done]));
    costs.message.emplace_back();
  };
  if (run_->ranks > 1) {
    for (const Bucket& bucket : gradient_buckets(*network_, run_->schedule)) {
      advance_to(std::max(done, ready_after(*network_, steps, bucket) + 1));
      costs.message.back() = messages.time(message_size(bucket));
    }
  }
  advance_to(steps.size());
}

/// The host gives each stretch of the iteration as one graph.
void Costs::give_at_once(IterationCosts& costs) const {
  bool measured = costs.update.give.value > Seconds();
  const auto drop = [&](std::vector<StepCost>& steps) {
    for (StepCost& step : steps) {
      measured |= step.give.value > Seconds();
      step.give = {};
    }
  };
  drop(costs.forward);
  for (auto& part : costs.backward) drop(part);
  costs.update.give = {};
  if (measured) {
    notes_->add("the host's time to replay a graph is taken as nothing");
  } else {
    notes_->add(
        "graphs take the host's time to give kernels away, of which nothing is known here, so they "
        "are predicted as eager launches are; bench conv and bench update with a GPU measure it");
  }
}

IterationCosts Costs::find() {
  check_device(machine_->cluster, *run_);
  check_memory(*network_, machine_->cluster, *run_, *notes_);
  if (machine_->h2d.empty()) throw missing("host-to-device copy", "dlscale bench memory");
  if (machine_->update.empty()) throw missing("parameter update", "dlscale bench update");
  if (machine_->loaders.empty()) throw missing("input pipeline", "dlscale bench io");
  IterationCosts costs;
  costs.shape.loader_threads = run_->loader_threads;
  costs.shape.prefetch = run_->prefetch;
  costs.shape.schedule = run_->schedule;
  costs.shape.input_copy = run_->input_copy;
  costs.shape.storage = storage();
  add_cores(costs.shape);
  costs.load = static_cast<double>(run_->batch) / run_->loader_threads * picture();
  const Conditions here(run_->dtype, run_->compute_threads, place_.ranks_on_node());
  costs.h2d = affine(machine_->h2d, here, batch_size(), "the host-to-device copy");
  const double parameters = f32_bytes * static_cast<double>(network_->parameter_count());
  costs.update = affine(machine_->update, here, Bytes(parameters), "the update");
  add_steps(costs);
  if (run_->launch == Launch::graph) give_at_once(costs);
  return costs;
}

}  // namespace

IterationPlan IterationCosts::plan(std::optional<Term> moved, Bound bound) const {
  const auto bound_of = [&](Term term) { return moved == term ? bound : Bound::value; };
  IterationPlan result = shape;
  result.load = at(load, bound_of(Term::input));
  const auto given = [&](const StepCost& step, Term term) {
    return Given::step(at(step.give, bound_of(Term::launches)), at(step.compute, bound_of(term)));
  };
  const auto all_given = [&](const std::vector<StepCost>& steps) {
    Given all;
    for (const StepCost& step : steps) all = all.then(given(step, Term::compute));
    return all;
  };
  result.h2d = given(h2d, Term::copy);
  result.forward = all_given(forward);
  result.update = given(update, Term::update);
  for (std::size_t i = 0; i < backward.size(); ++i) {
    BackwardPart part{all_given(backward[i]), {}};
    if (message[i]) part.message = at(*message[i], bound_of(Term::communication));
    result.backward.push_back(part);
  }
  return result;
}

void check_device(const Cluster& cluster, const Run& run) {
  if (cluster.device.kind == DeviceKind::gpu) return;
  const auto refuse = [&](std::string_view what, std::string_view why, std::string_view instead) {
    throw ConfigError(fmt::format(
        "{} cannot be predicted on cluster {}, whose device is a processor ({}). Ask for {}, or "
        "calibrate with --cluster and the cluster of the GPUs that were measured.",
        what, cluster.name, why, instead));
  };
  if (run.input_copy != InputCopy::on_path) {
    refuse("batches copied ahead", "it has no copy engine", "--input-copy on_path");
  }
  if (run.normalisation != Normalisation::host) {
    refuse("pictures normalised on the device", "it reads what the host wrote", "--normalise host");
  }
  if (run.launch != Launch::eager) {
    refuse("graphs of kernels", "it launches none", "--launch eager");
  }
}

IterationCosts iteration_costs(const Network& network, const Machine& machine, const Run& run,
                               Notes& notes) {
  return Costs(network, machine, run, notes).find();
}

Bytes message_size(const Bucket& bucket) {
  return Bytes(f32_bytes * static_cast<double>(bucket.elements));
}

}  // namespace dlscale::model
