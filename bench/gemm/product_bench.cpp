#include "bench/gemm/product_bench.hpp"

#include <span>
#include <utility>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/gemm/product_memory.hpp"
#include "bench/workbench/step_run.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {

namespace {

/// A product with its own matrices; `product` must outlive it.
class ProductRun : public StepRun {
 public:
  ProductRun(ProductMemory memory, backend::MatrixProduct& product)
      : memory_(std::move(memory)), product_(&product) {}
  void run() override { memory_.run(*product_); }
  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override {
    return {memory_.a_bytes()};
  }
  [[nodiscard]] std::string implementation() const override { return product_->implementation(); }

 private:
  ProductMemory memory_;
  backend::MatrixProduct* product_;
};

}  // namespace

ProductBench::ProductBench(std::shared_ptr<Workbench> workbench, const GemmShape& shape,
                           DType dtype, Check check)
    : workbench_(std::move(workbench)), shape_(shape), dtype_(dtype), check_(check) {}

Measurement ProductBench::measure(const Sampler& sampler, const Conditions& conditions) {
  backend::Communicator& ranks = sampler.communicator();
  if (!finding_) finding_ = find_on_all(ranks, [&] { return find(ranks.node_size()); });
  Finding finding = *finding_;
  if (!rejected(finding, dtype_)) {
    finding.unsupported = find_room(sampler, conditions.cache).unsupported;
  }
  Measurement measurement = rejected(finding, dtype_).value_or(Measurement{});
  if (measurement.status == Status::ok) measurement = time(sampler, conditions);
  measurement.work = work(shape_, dtype_);
  add_check(finding, check_, measurement);
  return measurement;
}

int ProductBench::sets(CacheState cache) const {
  return operand_sets(*workbench_, cache, work(shape_, dtype_).bytes);
}

/// Whether all sets of matrices fit together; find() has checked a single set.
Finding ProductBench::find_room(const Sampler& sampler, CacheState cache) {
  return bench::find_room(sampler.communicator(), *workbench_, sets(cache),
                          [&] { return work(shape_, dtype_).bytes + workspace(); });
}

Finding ProductBench::find(int ranks_on_node) {
  try {
    // The check needs an f32 copy on the host.
    const Bytes copies = check_ == Check::none ? Bytes(0) : work(shape_, DType::f32).bytes;
    const Bytes matrices = work(shape_, dtype_).bytes;
    expect_memory(workbench_->device(), matrices, copies, ranks_on_node);
    make_product();
    expect_memory(workbench_->device(), matrices + workspace(), copies, ranks_on_node);
    if (check_ == Check::none) return {};
    const ProductError error = compare();
    return {.error = error.largest, .worst = "the product", .mean_error = error.mean};
  } catch (const Unsupported& error) {
    return {.unsupported = error.what()};
  }
}

void ProductBench::make_product() {
  creation_ = timed([this] { product_ = workbench_->device().matrix_product(shape_, dtype_); });
}

Bytes ProductBench::workspace() const {
  return Bytes(static_cast<double>(product_->scratch_bytes()));
}

ProductError ProductBench::compare() {
  ProductMemory memory(workbench_->device(), shape_, dtype_, workbench_->values(),
                       product_->scratch_bytes());
  memory.run(*product_);
  const std::vector<float> a = memory.a();
  const std::vector<float> b = memory.b();
  const std::vector<float> c = memory.c();
  return product_error(workbench_->reference(), {shape_, a, b, c});
}

Measurement ProductBench::time(const Sampler& sampler, const Conditions& conditions) {
  const OperandValues values(conditions.values);
  Measurement measurement =
      sample_on_sets(*workbench_, sampler, conditions.cache, sets(conditions.cache), [&] {
        return std::make_unique<ProductRun>(
            ProductMemory(workbench_->device(), shape_, dtype_, values, product_->scratch_bytes()),
            *product_);
      });
  measurement.workspace = workspace();
  measurement.creation = creation_;
  return measurement;
}

}  // namespace dlscale::bench
