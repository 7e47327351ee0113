#pragma once
#include <memory>
#include <optional>
#include <string>

#include "bench/conv/conditions.hpp"
#include "bench/conv/finding.hpp"
#include "bench/conv/workbench.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/gemm/product_check.hpp"
#include "core/network/gemm.hpp"

namespace dlscale::bench {

/// Measures one matrix product in one precision. The check against the reference is made once, by
/// every rank, before the first time is taken. A product that the device does not offer, or whose
/// matrices no memory is left for, is unsupported, with the reason.
class ProductBench {
 public:
  ProductBench(std::shared_ptr<Workbench> workbench, const GemmShape& shape, DType dtype,
               Check check);
  /// The step before a product wrote A: CacheState::producer. In rotation there is a series
  /// "operand_sets" beside the time.
  Measurement measure(const Sampler& sampler, const Conditions& conditions);

 private:
  Finding find(int ranks_on_node);
  void make_product();
  [[nodiscard]] ProductError compare();
  Finding find_room(const Sampler& sampler, CacheState cache);
  Measurement time(const Sampler& sampler, const Conditions& conditions);
  [[nodiscard]] Bytes workspace() const;
  /// Of operands; 1 but in rotation.
  [[nodiscard]] int sets(CacheState cache) const;

  std::shared_ptr<Workbench> workbench_;
  GemmShape shape_;
  DType dtype_;
  Check check_;
  std::unique_ptr<backend::MatrixProduct> product_;  ///< from find() on
  Seconds creation_;                                 ///< of it
  std::optional<Finding> finding_;
};

}  // namespace dlscale::bench
