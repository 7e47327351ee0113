#include "bench/gemm/product_bench.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "backend/compute/check.hpp"
#include "bench/gemm/product_check.hpp"
#include "bench/gemm/product_memory.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "train/free_memory.hpp"

namespace dlscale::bench {
namespace {

void expect_free(Bytes needed, Bytes free, std::string_view where) {
  if (needed <= free) return;
  throw Unsupported(fmt::format("its matrices take {}, and {} of {} are free", to_text(needed),
                                to_text(free), where));
}

}  // namespace

ProductBench::ProductBench(std::shared_ptr<Workbench> workbench, const GemmShape& shape,
                           DType dtype, Check check)
    : workbench_(std::move(workbench)), shape_(shape), dtype_(dtype), check_(check) {}

Measurement ProductBench::measure(const Sampler& sampler, CacheState cache) {
  if (!finding_) finding_ = find_on_all(sampler.communicator());
  Measurement measurement = rejected().value_or(Measurement{});
  if (measurement.status == Status::ok) measurement = time(sampler, cache);
  measurement.work = work(shape_, dtype_);
  if (check_ == Check::none) {
    measurement.warnings.emplace_back(
        "the answer was not checked against the reference. Measure with --check yes before you "
        "trust the speed.");
  } else if (finding_->unsupported.empty() && std::isfinite(finding_->error)) {
    measurement.max_relative_error = finding_->error;
  }
  return measurement;
}

ProductBench::Finding ProductBench::find(int ranks_on_node) {
  try {
    expect_memory(ranks_on_node);
    product_ = workbench_->device().matrix_product(shape_, dtype_);
    return {"", check_ == Check::none ? 0 : compare()};
  } catch (const Unsupported& error) {
    return {error.what(), 0};
  }
}

/// A process that takes more than there is may be ended by the system, with the results so far. The
/// check adds a copy in f32 on the host.
void ProductBench::expect_memory(int ranks_on_node) {
  const Bytes matrices = work(shape_, dtype_).bytes;
  const Bytes copies = check_ == Check::none ? Bytes(0) : work(shape_, DType::f32).bytes;
  const auto own = workbench_->device().own_memory();
  if (own) expect_free(matrices, own->free, "the device's memory");
  const std::optional<Bytes> free = train::free_memory();
  const Bytes on_host = copies + (own ? Bytes(0) : matrices);
  if (free) expect_free(ranks_on_node * on_host, *free, "the host's memory");
}

double ProductBench::compare() {
  ProductMemory memory(workbench_->device(), shape_, dtype_, workbench_->values(),
                       product_->scratch_bytes());
  memory.run(*product_);
  const std::vector<float> a = memory.a();
  const std::vector<float> b = memory.b();
  const std::vector<float> c = memory.c();
  return product_error(workbench_->reference(), {shape_, a, b, c});
}

/// All ranks must go the same way: whoever measures alone waits for the others for ever.
ProductBench::Finding ProductBench::find_on_all(backend::Communicator& communicator) {
  Finding mine;
  together(communicator, [&] { mine = find(communicator.node_size()); });
  std::array<double, 2> worst{mine.unsupported.empty() ? 0.0 : 1.0, mine.error};
  communicator.all_reduce(worst, backend::Reduction::max);
  if (worst[0] > 0 && mine.unsupported.empty()) mine.unsupported = "another rank cannot run it";
  mine.error = worst[1];
  return mine;
}

std::optional<Measurement> ProductBench::rejected() const {
  Measurement measurement;
  const double allowed = backend::allowed_error(dtype_);
  if (!finding_->unsupported.empty()) {
    measurement.status = Status::unsupported;
    measurement.reason = finding_->unsupported;
  } else if (!(finding_->error <= allowed)) {
    measurement.status = Status::wrong;
    measurement.reason = fmt::format(
        "the product differs from the reference by {:.1e}, relative ({:.0e} is allowed for {})",
        finding_->error, allowed, dtype_name(dtype_));
  } else {
    return std::nullopt;
  }
  return measurement;
}

Measurement ProductBench::time(const Sampler& sampler, CacheState cache) {
  std::optional<ProductMemory> memory;
  together(sampler.communicator(), [&] {
    memory.emplace(workbench_->device(), shape_, dtype_, workbench_->values(),
                   product_->scratch_bytes());
  });
  const std::array produced{memory->a_bytes()};
  Measurement measurement =
      workbench_->sample(sampler, cache, produced, [&] { memory->run(*product_); });
  measurement.implementation = product_->implementation();
  return measurement;
}

}  // namespace dlscale::bench
