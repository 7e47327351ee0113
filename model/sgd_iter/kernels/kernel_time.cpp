#include "model/sgd_iter/kernels/kernel_time.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/base/statistics.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "model/sgd_iter/kernels/sheet_times.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

Network unfuse(const Network& fused) {
  std::vector<std::string> outputs;  // by layer: name of the layer that now has its output
  std::vector<Network::Node> nodes;
  outputs.reserve(fused.layers().size());
  for (const Layer& layer : fused.layers()) {
    outputs.push_back(layer.relu ? layer.name + " (its ReLU)" : layer.name);
    if (std::holds_alternative<Input>(layer.kind)) continue;
    Network::Node node{layer.name, layer.kind, {}};
    for (const LayerId input : layer.inputs) node.inputs.push_back(outputs[input.index()]);
    nodes.push_back(std::move(node));
    if (layer.relu) nodes.push_back({outputs.back(), Relu{}, {layer.name}});
  }
  return {fused.name(), fused.input(), nodes};
}

/// The pass in which the gradient of a layer's output passes its ReLU.
Pass first_backward_pass(const Layer& layer) {
  const bool filters = std::holds_alternative<Convolution>(layer.kind);
  return filters ? Pass::backward_filter : Pass::backward_data;
}

double apart(int a, int b) {
  return std::abs(std::log(static_cast<double>(a) / b));
}

/// The reason why a device without a stated peak in a precision cannot run it, and what to ask for.
std::string_view lacking(DType dtype) {
  if (dtype == DType::tf32) {
    return "Only devices that state it have units for it, and others compute f32 as f32: ask for "
           "f32";
  }
  return "Choose another precision";
}

/// Precision of arithmetic. f16 values are f32 values, and sums are always f32. So a device without
/// an f16 rate multiplies them as f32, which its libraries offer. bf16 does not fall back, because
/// libraries offer it only with hardware units; nor does tf32, which is not a storage format.
DType computed_in(const Device& device, DType dtype) {
  const bool stated = device.peak.contains(dtype);
  return !stated && dtype == DType::f16 ? DType::f32 : dtype;
}

/// Time between two measured batches.
Estimate<Seconds> interpolate(const KernelTime& a, const KernelTime& b, int batch) {
  const double share = static_cast<double>(batch - a.batch) / (b.batch - a.batch);
  Estimate<Seconds> time = (1 - share) * a.time;
  time += share * b.time;
  return time;
}

std::string_view kind_of(const KernelTime& kernel) {
  return std::string_view(kernel.kernel).substr(0, kernel.kernel.find(' '));
}

constexpr std::array<Seconds Estimate<Seconds>::*, 3> ends{
    &Estimate<Seconds>::low, &Estimate<Seconds>::value, &Estimate<Seconds>::high};

/// e of a kernel of time `together` with others that run it, and `alone`; 0 if it takes no time.
double pressure(Seconds together, Seconds alone) {
  return alone > Seconds() ? std::sqrt(std::max(0.0, together / alone - 1)) : 0;
}

bool measured_alone(const std::vector<const KernelTime*>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelTime* kernel) { return kernel->ranks_on_node == 1; });
}

}  // namespace

Roofline data_sheet(const Cluster& cluster, DType dtype, Notes& notes) {
  const DType units = computed_in(cluster.device, dtype);
  const auto peak = cluster.device.peak.find(units);
  if (peak == cluster.device.peak.end() || cluster.device.memory_bandwidth.si() <= 0) {
    throw RemediableError(
        fmt::format("the data sheet of {} gives no peak in {} (cluster {}). {}, or measure it.",
                    cluster.device.name, dtype_name(dtype), cluster.name, lacking(dtype)),
        {.subject = "conv"});
  }
  if (units != dtype) {
    notes.add(NoteKind::no_peak,
              {cluster.device.name, dtype_name(dtype), dtype_name(dtype), dtype_name(units)});
  }
  return {peak->second, cluster.device.memory_bandwidth};
}

UnfusedNetwork::UnfusedNetwork(const Network& fused) : network_(unfuse(fused)) {
  std::size_t next = 0;
  for (const Layer& layer : fused.layers()) {
    layers_.emplace_back(next);
    next += layer.relu ? 2 : 1;
  }
}

std::vector<Step> UnfusedNetwork::steps(Step fused) const {
  const LayerId layer = layers_[fused.layer.index()];
  const LayerId relu(layer.index() + 1);
  EXPECT(std::holds_alternative<Relu>(network_.layer(relu).kind));
  if (fused.pass == Pass::accumulate) return {{relu, Pass::accumulate}};
  const Layer& alone = network_.layer(layer);
  if (fused.pass != first_backward_pass(alone)) return {{layer, fused.pass}};
  const Step lets_through{relu, Pass::backward_data};
  if (std::holds_alternative<Sum>(alone.kind)) return {lets_through};
  return {lets_through, {layer, fused.pass}};
}

Conditions::Conditions(const Run& run)
    : dtype(run.dtype),
      threads(run.compute_threads),
      ranks_on_node(Placement{run.ranks, run.ranks_per_node}.ranks_on_node()) {}

std::string Conditions::text() const {
  return fmt::format("in {} with {} threads beside {} ranks", dtype_name(dtype), threads,
                     ranks_on_node);
}

const AffineFit& nearest(const std::vector<AffineFit>& fits, const Conditions& wanted) {
  EXPECT(!fits.empty());
  const auto distance = [&](const AffineFit& fit) {
    return std::tuple(fit.dtype != wanted.dtype, apart(fit.threads, wanted.threads),
                      apart(fit.ranks_on_node, wanted.ranks_on_node));
  };
  return *std::min_element(fits.begin(), fits.end(), [&](const AffineFit& a, const AffineFit& b) {
    return distance(a) < distance(b);
  });
}

const AffineFit& noted_nearest(const Machine& machine, const std::vector<AffineFit>& fits,
                               const Conditions& wanted, std::string_view what, Notes& notes) {
  const AffineFit& fit = nearest(fits, wanted);
  if (machine.fitted && Conditions(fit) != wanted) {
    notes.add(NoteKind::affine_not_measured, {what, wanted.text(), Conditions(fit).text()});
  }
  return fit;
}

TimeSource affine_source(const Machine& machine, const std::vector<AffineFit>& fits,
                         const Conditions& wanted, Bytes size) {
  if (!machine.fitted) return TimeSource::data_sheet;
  const AffineFit& fit = nearest(fits, wanted);
  const bool as_measured = Conditions(fit) == wanted && fit.cost.covers(size);
  return as_measured ? TimeSource::fitted : TimeSource::extrapolated;
}

/// The parts of fused layers, and their times.
struct KernelTimes::Unfused {
  Unfused(const Network& fused, const Machine& machine, const Run& run, int ranks_on_node,
          Notes& notes)
      : parts(fused), times(parts.network(), machine, run, ranks_on_node, notes) {}
  UnfusedNetwork parts;
  KernelTimes times;
};

KernelTimes::KernelTimes(const Network& network, const Machine& machine, const Run& run,
                         int ranks_on_node, Notes& notes)
    : network_(&network),
      machine_(&machine),
      run_(&run),
      ranks_on_node_(ranks_on_node),
      threads_(machine.cluster.device.kind == DeviceKind::cpu ? run.compute_threads : 1),
      notes_(&notes) {
  if (!machine.fitted) {
    data_sheet(machine.cluster, run.dtype, notes);  // refuses a precision without a peak
    const Device& device = machine.cluster.device;
    if (sheet::has_kernel_times(device)) {
      by_sheet_ = sheet_times(network, machine, run);
      notes.add(NoteKind::sheet_kernels, {by_sheet_->range.low, by_sheet_->range.high});
      if (!by_sheet_->beyond.empty()) {
        notes.add(NoteKind::beyond_fitted, {fmt::to_string(fmt::join(by_sheet_->beyond, "; "))});
      }
      note_software(network, run.dtype);
    }
    return;
  }
  for (const KernelTime& kernel : machine.kernels) {
    if (kernel.dtype != run.dtype || kernel.threads != threads_) continue;
    measured_[{kernel.kernel, kernel.pass}].push_back(&kernel);
    if (kernel.work.bytes.si() > 0) comparable_.push_back(&kernel);
  }
  keep_comparable();
  if (measured_.empty()) {
    throw RemediableError(
        fmt::format(
            "the machine holds no kernel in {} with {} threads, so compute time is unknown. "
            "Measure all passes of {} so.",
            dtype_name(run.dtype), threads_, network.name()),
        {.subject = "conv",
         .axes = {{"network", network.name()},
                  {"passes", "all"},
                  {"dtype", std::string(dtype_name(run.dtype))},
                  {"threads", std::to_string(threads_)}}});
  }
  if (ranks_on_node > 1) find_mean_pressure();
  find_usual_give();
  if (needs_parts()) {
    unfused_ = std::make_unique<const Unfused>(network, machine, run, ranks_on_node, notes);
  }
}

KernelTimes::~KernelTimes() = default;

/// Notes where what the software does is not stated, or only in part.
void KernelTimes::note_software(const Network& network, DType dtype) const {
  const bool stated = by_sheet_->traits.stated;
  if (stated && by_sheet_->times.doubt() == 0) return;
  const bool transformer = sheet::family_of(network) == NetworkFamily::transformer;
  notes_->add(stated ? NoteKind::software_in_part : NoteKind::software_unknown,
              {transformer ? "transformers" : "CNNs", dtype_name(dtype)});
}

bool KernelTimes::needs_parts() const {
  return std::ranges::any_of(network_->layers(), [this](const Layer& layer) {
    return layer.relu && kernels_of({layer.id, Pass::forward}) == nullptr;
  });
}

/// Empty for a measured step, and for one without a ReLU.
std::vector<Step> KernelTimes::parts_of(Step step) const {
  if (!unfused_ || !network_->layer(step.layer).relu || kernels_of(step) != nullptr) return {};
  return unfused_->parts.steps(step);
}

Estimate<Seconds> KernelTimes::time(Step step) const {
  if (!machine_->fitted) return nominal(step);
  const std::vector<Step> parts = parts_of(step);
  if (!parts.empty()) {
    notes_->add(NoteKind::fused_not_measured, {}, {kernel_key(*network_, step.layer)});
    Estimate<Seconds> sum;
    for (const Step part : parts) sum += unfused_->times.time(part);
    return sum;
  }
  const Kernels* kernels = kernels_of(step);
  if (kernels == nullptr) return by_efficiency(step);
  const int on_node = nearest_ranks_on_node(*kernels);
  note_other_ranks(on_node, kernels->front()->kernel);
  if (on_node == 1 || !measured_alone(*kernels)) return beside(*kernels, on_node, step);
  return contended(*kernels, step);
}

Estimate<Seconds> KernelTimes::give(Step step) const {
  if (!usual_give_) return {};
  if (const std::vector<Step> parts = parts_of(step); !parts.empty()) {
    Estimate<Seconds> sum;
    for (const Step part : parts) sum += unfused_->times.give(part);
    return sum;
  }
  const Kernels* kernels = kernels_of(step);
  const KernelTime* nearest = nullptr;
  const auto distance = [&](const KernelTime* kernel) {
    return std::pair(std::abs(kernel->ranks_on_node - ranks_on_node_),
                     std::abs(kernel->batch - run_->batch));
  };
  for (const KernelTime* kernel : kernels == nullptr ? Kernels{} : *kernels) {
    if (!kernel->give) continue;
    if (nearest == nullptr || distance(kernel) < distance(nearest)) nearest = kernel;
  }
  if (nearest != nullptr) return *nearest->give;
  notes_->add(NoteKind::host_time_not_measured, {}, {kernel_key(*network_, step.layer)});
  return *usual_give_;
}

void KernelTimes::find_usual_give() {
  std::vector<double> all;
  for (const auto& [key, kernels] : measured_) {
    for (const KernelTime* kernel : kernels) {
      if (kernel->give) all.push_back(kernel->give->value.si());
    }
  }
  if (all.empty()) return;
  usual_give_ = {Seconds(median(all)), Seconds(quantile(all, 0.025)),
                 Seconds(quantile(all, 0.975))};
}

std::optional<Estimate<Seconds>> KernelTimes::update(Bytes parameters) const {
  if (!by_sheet_) return std::nullopt;
  return with_range(sheet::update_time(*network_, by_sheet_->device, *run_, by_sheet_->traits,
                                       by_sheet_->constants, parameters),
                    by_sheet_->range);
}

TimeSource KernelTimes::source(Step step) const {
  if (!machine_->fitted) return TimeSource::data_sheet;
  if (const std::vector<Step> parts = parts_of(step); !parts.empty()) {
    TimeSource source = TimeSource::unfused;
    for (const Step part : parts) source = std::max(source, unfused_->times.source(part));
    return source;
  }
  const Kernels* kernels = kernels_of(step);
  if (kernels == nullptr) return TimeSource::efficiency;
  const int on_node = nearest_ranks_on_node(*kernels);
  TimeSource source = batch_source(*kernels, on_node);
  if (measured_alone(*kernels)) source = std::max(source, batch_source(*kernels, 1));
  return on_node == ranks_on_node_ ? source : std::max(source, TimeSource::other_ranks);
}

/// The source of the time from at_batch() for these kernels.
TimeSource KernelTimes::batch_source(const Kernels& kernels, int ranks_on_node) const {
  std::set<int> batches;
  for (const KernelTime* kernel : kernels) {
    if (kernel->ranks_on_node == ranks_on_node) batches.insert(kernel->batch);
  }
  if (batches.contains(run_->batch)) return TimeSource::measured;
  const bool between = *batches.begin() < run_->batch && run_->batch < *batches.rbegin();
  return between ? TimeSource::interpolated : TimeSource::extrapolated;
}

void KernelTimes::note_other_ranks(int ranks_on_node, const std::string& kernel) const {
  if (ranks_on_node == ranks_on_node_) return;
  notes_->add(NoteKind::kernels_beside_other_ranks, {ranks_on_node_, ranks_on_node}, {kernel});
}

/// Keeps kernels at one number of ranks, because efficiencies with and without other ranks differ.
void KernelTimes::keep_comparable() {
  if (comparable_.empty()) return;
  const int on_node = nearest_ranks_on_node(comparable_);
  std::erase_if(comparable_,
                [&](const KernelTime* kernel) { return kernel->ranks_on_node != on_node; });
}

const KernelTimes::Kernels* KernelTimes::kernels_of(Step step) const {
  const auto found = measured_.find({kernel_key(*network_, step.layer), step.pass});
  return found == measured_.end() ? nullptr : &found->second;
}

Estimate<Seconds> KernelTimes::beside(const Kernels& kernels, int ranks_on_node, Step step) const {
  Batches batches;
  for (const KernelTime* kernel : kernels) {
    if (kernel->ranks_on_node == ranks_on_node) batches.emplace(kernel->batch, kernel);
  }
  return at_batch(batches, step);
}

/// Time with as many ranks that run the same kernel, or the nearest number.
Estimate<Seconds> KernelTimes::together(const Kernels& kernels, Step step) const {
  return beside(kernels, nearest_ranks_on_node(kernels), step);
}

Estimate<Seconds> KernelTimes::contended(const Kernels& kernels, Step step) const {
  const Estimate<Seconds> alone = beside(kernels, 1, step);
  const Estimate<Seconds> same = together(kernels, step);
  const auto at = [&](std::size_t i, std::size_t j) {
    const Seconds t = alone.*ends.at(i);
    return (1 + pressure(same.*ends.at(j), t) * mean_pressure_.at(i).at(j)) * t;
  };
  return {at(1, 1), std::min({at(0, 0), at(1, 0), at(2, 0)}),
          std::max({at(0, 2), at(1, 2), at(2, 2)})};
}

void KernelTimes::find_mean_pressure() {
  std::array<std::array<Seconds, 3>, 3> weighted{};
  std::array<Seconds, 3> sum{};
  std::vector<Step> steps = forward_steps(*network_);
  const std::vector<Step> backward = backward_steps(*network_);
  steps.insert(steps.end(), backward.begin(), backward.end());
  for (const Step step : steps) {
    const Kernels* kernels = kernels_of(step);
    if (kernels == nullptr || !measured_alone(*kernels)) continue;
    const Estimate<Seconds> alone = beside(*kernels, 1, step);
    const Estimate<Seconds> same = together(*kernels, step);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const Seconds t = alone.*ends.at(i);
      sum.at(i) += t;
      for (std::size_t j = 0; j < ends.size(); ++j) {
        weighted.at(i).at(j) += pressure(same.*ends.at(j), t) * t;
      }
    }
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (sum.at(i) <= Seconds()) continue;
    for (std::size_t j = 0; j < ends.size(); ++j) {
      mean_pressure_.at(i).at(j) = weighted.at(i).at(j) / sum.at(i);
    }
  }
}

Estimate<Seconds> KernelTimes::nominal(Step step) const {
  if (by_sheet_) return with_range(by_sheet_->times.time(step), by_sheet_->range);
  const Roofline roofline = data_sheet(machine_->cluster, run_->dtype, *notes_);
  const Work what = work(*network_, step, run_->batch, run_->dtype);
  const Seconds at_best = roofline.time(what) + machine_->cluster.device.launch;
  const SheetRange& range = computing_shares.range;
  return {at_best, range.low * at_best, range.high * at_best};
}

/// The nearest number in proportion; of two equally near, the larger.
int KernelTimes::nearest_ranks_on_node(const Kernels& kernels) const {
  const auto distance = [&](const KernelTime* kernel) {
    return std::pair(
        std::abs(std::log(static_cast<double>(kernel->ranks_on_node) / ranks_on_node_)),
        -kernel->ranks_on_node);
  };
  const auto nearest =
      std::min_element(kernels.begin(), kernels.end(),
                       [&](const auto* a, const auto* b) { return distance(a) < distance(b); });
  return (*nearest)->ranks_on_node;
}

Estimate<Seconds> KernelTimes::at_batch(const Batches& batches, Step step) const {
  const auto above = batches.lower_bound(run_->batch);
  if (above != batches.end() && above->first == run_->batch) return above->second->time;
  if (above != batches.end() && above != batches.begin()) {
    const auto below = std::prev(above);
    notes_->add(NoteKind::kernels_interpolated, {run_->batch}, {below->second->kernel});
    return interpolate(*below->second, *above->second, run_->batch);
  }
  const KernelTime& nearest = above == batches.end() ? *batches.rbegin()->second : *above->second;
  const Work wanted = work(*network_, step, run_->batch, run_->dtype);
  const Work known = work(*network_, step, nearest.batch, run_->dtype);
  const double factor =
      known.flops.si() > 0 ? wanted.flops / known.flops : wanted.bytes / known.bytes;
  notes_->add(NoteKind::kernels_extrapolated, {run_->batch, nearest.batch}, {nearest.kernel});
  return factor * nearest.time;
}

/// The highest rates of the measured kernels.
Roofline KernelTimes::spanned_roofline() const {
  Roofline roofline;
  for (const KernelTime* kernel : comparable_) {
    roofline.peak = std::max(roofline.peak, kernel->work.flops / kernel->time.value);
    roofline.bandwidth = std::max(roofline.bandwidth, kernel->work.bytes / kernel->time.value);
  }
  if (roofline.peak.si() == 0) roofline.peak = FlopsPerSecond(1e30);  // no operations counted
  return roofline;
}

/// Efficiencies of a kind and pass; an empty one means all.
std::vector<double> KernelTimes::efficiencies(std::string_view kind,
                                              std::optional<Pass> pass) const {
  const Roofline roofline = spanned_roofline();
  std::vector<double> result;
  for (const KernelTime* kernel : comparable_) {
    if (!kind.empty() && kind_of(*kernel) != kind) continue;
    if (pass && kernel->pass != *pass) continue;
    result.push_back(roofline.time(kernel->work) / kernel->time.value);
  }
  return result;
}

Estimate<Seconds> KernelTimes::by_efficiency(Step step) const {
  const std::string key = kernel_key(*network_, step.layer);
  const std::string_view kind = kind_name(network_->layer(step.layer).kind);
  auto efficiency = efficiencies(kind, step.pass);
  std::string like = fmt::format("{} {}", kind, pass_name(step.pass));
  if (efficiency.empty()) {
    efficiency = efficiencies({}, step.pass);
    like = fmt::format("{} of any kind", pass_name(step.pass));
  }
  if (efficiency.empty()) {
    efficiency = efficiencies({}, {});
    like = "any kind and pass";
  }
  if (efficiency.empty()) {
    throw RemediableError(
        fmt::format("kernel \"{}\", {}, was not measured, and no measured kernel declares its "
                    "work to judge it by. Measure all passes of {}.",
                    key, pass_name(step.pass), network_->name()),
        {.subject = "conv", .axes = {{"network", network_->name()}, {"passes", "all"}}});
  }
  notes_->add(NoteKind::kernels_by_efficiency, {like}, {key});
  note_other_ranks(comparable_.front()->ranks_on_node, key);
  const Seconds best = spanned_roofline().time(work(*network_, step, run_->batch, run_->dtype));
  return {best / median(efficiency), best / quantile(efficiency, 0.975),
          best / quantile(efficiency, 0.025)};
}

}  // namespace dlscale::model
