#include "bench/gemm/product_bench.hpp"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "bench/gemm/product_check.hpp"
#include "bench/gemm/product_memory.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"

namespace dlscale::bench {

ProductBench::ProductBench(std::shared_ptr<Workbench> workbench, const GemmShape& shape,
                           DType dtype, Check check)
    : workbench_(std::move(workbench)), shape_(shape), dtype_(dtype), check_(check) {}

Measurement ProductBench::measure(const Sampler& sampler, CacheState cache) {
  backend::Communicator& ranks = sampler.communicator();
  if (!finding_) finding_ = find_on_all(ranks, [&] { return find(ranks.node_size()); });
  Measurement measurement = rejected(*finding_, dtype_).value_or(Measurement{});
  if (measurement.status == Status::ok) measurement = time(sampler, cache);
  measurement.work = work(shape_, dtype_);
  add_check(*finding_, check_, measurement);
  return measurement;
}

Finding ProductBench::find(int ranks_on_node) {
  try {
    // The check adds a copy in f32 on the host.
    const Bytes copies = check_ == Check::none ? Bytes(0) : work(shape_, DType::f32).bytes;
    const Bytes matrices = work(shape_, dtype_).bytes;
    expect_memory(workbench_->device(), matrices, copies, ranks_on_node);
    product_ = workbench_->device().matrix_product(shape_, dtype_);
    const Bytes workspace(static_cast<double>(product_->scratch_bytes()));
    expect_memory(workbench_->device(), matrices + workspace, copies, ranks_on_node);
    if (check_ == Check::none) return {};
    return {.error = compare(), .worst = "the product"};
  } catch (const Unsupported& error) {
    return {.unsupported = error.what()};
  }
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
