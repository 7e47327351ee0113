#include "model/roofline/nominal/nominal_roofline.hpp"

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"
#include "model/roofline/sheet/memory_passes.hpp"
#include "model/roofline/sheet/products.hpp"
#include "model/roofline/sheet/ways.hpp"

namespace dlscale::model {
namespace {

using sheet::KernelConstants;
using sheet::Product;
using sheet::ProductKind;

constexpr double flop_per_pair = 2;  // a multiply-add of two operands

bool takes_tensor_cores(const Device& device, DType dtype) {
  const auto peak = device.peak.find(dtype);
  if (dtype == DType::f32 || peak == device.peak.end()) return false;
  return peak->second > device.peak.at(DType::f32);
}

double reads_of(const Device& device, DType dtype, const KernelConstants& constants) {
  return takes_tensor_cores(device, dtype) ? constants.tensor_reads : constants.shared_reads;
}

NominalRoofline roofline_of(const Device& device, DType dtype, const KernelConstants& constants) {
  const bool tensor = takes_tensor_cores(device, dtype);
  const DeviceUnits& units = *device.units;
  NominalRoofline roofline;
  roofline.core_peak = device.peak.at(DType::f32);
  roofline.peak = tensor ? device.peak.at(dtype) : roofline.core_peak;
  roofline.memory = device.memory_bandwidth;
  if (reads_of(device, dtype, constants) > 0) {
    const Hertz clock = tensor ? units.tensor_clock : units.boost_clock;
    roofline.shared = BytesPerSecond(units.multiprocessors * constants.shared_rate * clock.si());
  }
  return roofline;
}

/// 1/b_m + 1/b_n of the largest tile within the product, else of the smallest.
double tile_perimeter(const Product& product, const KernelConstants& constants) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const sheet::Tile tile : constants.tiles) {
    const double perimeter = 1 / tile.rows + 1 / tile.columns;
    most = std::max(most, perimeter);
    if (tile.rows <= product.m && tile.columns <= product.n) least = std::min(least, perimeter);
  }
  return std::min(least, most);
}

double shared_elements(const Product& product, double reads, const KernelConstants& constants) {
  const double pairs = product.flops() / flop_per_pair;
  if (product.kind == ProductKind::direct) return pairs;
  return reads * pairs * tile_perimeter(product, constants);
}

/// The arithmetic that products take, and how often their tiles read an operand.
struct Arithmetics {
  bool tensor_cores = false;
  double reads = 1;
};

/// Work of a step without its time and bounds.
NominalWork work_of(const sheet::MemoryPassCounter& passes, const Network& network, Step step,
                    const Run& run, const ComputeTraits& way, const Arithmetics& on,
                    const KernelConstants& constants) {
  NominalWork all;
  double moved = passes.count(step, way).elements;
  const double rows = passes.computed_rows(step.layer, way);
  double shared = 0;
  for (const Product& product : sheet::products_of(network, step, run.batch, constants)) {
    all.declared += Flops(rows * product.flops());
    const bool filtered = !on.tensor_cores && product.winograd > 1;
    all.executed += Flops(rows * product.flops() / (filtered ? product.winograd : 1));
    moved += rows * product.elements;
    if (on.reads > 0) shared += rows * shared_elements(product, on.reads, constants);
  }
  if (all.declared == Flops() && moved > 0) {  // else another kernel does the step
    all.declared = work(network, step, run.batch, run.dtype).flops;
    all.executed = all.declared;
  }
  const auto element = static_cast<double>(element_bytes(run.dtype));
  all.memory = Bytes(moved * element);
  all.shared = Bytes(shared * element);
  return all;
}

RooflineBounds bounds_of(const NominalRoofline& roofline, const NominalWork& work) {
  RooflineBounds bounds;
  bounds.arithmetic = work.executed / roofline.peak;
  if (roofline.shared) bounds.shared = work.shared / *roofline.shared;
  bounds.memory = work.memory / roofline.memory;
  return bounds;
}

}  // namespace

Seconds RooflineBounds::least() const {
  return std::max({arithmetic, shared, memory});
}

RooflineBounds& RooflineBounds::operator+=(const RooflineBounds& other) {
  arithmetic += other.arithmetic;
  shared += other.shared;
  memory += other.memory;
  return *this;
}

NominalWork& NominalWork::operator+=(const NominalWork& other) {
  declared += other.declared;
  executed += other.executed;
  memory += other.memory;
  shared += other.shared;
  time += other.time;
  bounds += other.bounds;
  return *this;
}

FlopsPerByte NominalWork::intensity() const {
  return memory > Bytes() ? executed / memory : FlopsPerByte();
}

Seconds NominalPlacement::total() const {
  Seconds sum = update;
  for (const NominalStep& step : steps) sum += step.work.time;
  return sum;
}

NominalPlacement place_network(const Network& network, const Device& device, const Run& run,
                               const ComputeTraits& traits, const KernelConstants& constants) {
  EXPECT(sheet::has_kernel_times(device) && run.batch >= 1);
  NominalPlacement placement;
  placement.roofline = roofline_of(device, run.dtype, constants);
  sheet::StepTimes times(network, device, run, traits, constants);
  const sheet::MemoryPassCounter passes(network, run.batch);
  const ComputeTraits way = sheet::ways_of(traits, sheet::family_of(network)).front();
  const Arithmetics on{takes_tensor_cores(device, run.dtype),
                       reads_of(device, run.dtype, constants)};
  for (const std::vector<Step>& steps : {forward_steps(network), backward_steps(network)}) {
    for (const Step step : steps) {
      NominalWork work = work_of(passes, network, step, run, way, on, constants);
      work.time = times.time(step);
      work.bounds = bounds_of(placement.roofline, work);
      placement.steps.push_back({step.layer, step.pass, work});
    }
  }
  const Bytes parameters(4.0 * static_cast<double>(network.parameter_count()));
  placement.update = sheet::update_time(network, device, run, traits, constants, parameters);
  placement.range = sheet::kernel_range(times, traits, run.dtype, constants);
  return placement;
}

}  // namespace dlscale::model
