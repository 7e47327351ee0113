#pragma once
#include <memory>
#include <optional>
#include <string>

#include "bench/engine/benchmark.hpp"
#include "bench/gemm/product_check.hpp"
#include "bench/workbench/finding.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/network/gemm.hpp"

namespace dlscale::bench {

/// Measures one matrix product in one precision. Every rank checks it once against the reference
/// before the first timing. It is unsupported, with the reason, if the device does not offer it or
/// memory is short.
class ProductBench {
 public:
  ProductBench(std::shared_ptr<Workbench> workbench, const GemmShape& shape, DType dtype,
               Check check);
  /// Measures under `conditions`. For CacheState::producer the previous step wrote A. Rotation adds
  /// the series "operand_sets".
  Measurement measure(const Sampler& sampler, const Conditions& conditions);

 private:
  Finding find(int ranks_on_node);
  void make_product();
  [[nodiscard]] ProductError compare();
  Finding find_room(const Sampler& sampler, CacheState cache);
  Measurement time(const Sampler& sampler, const Conditions& conditions);
  [[nodiscard]] Bytes workspace() const;
  /// Number of operand sets; 1 unless rotating.
  [[nodiscard]] int sets(CacheState cache) const;

  std::shared_ptr<Workbench> workbench_;
  GemmShape shape_;
  DType dtype_;
  Check check_;
  std::unique_ptr<backend::MatrixProduct> product_;  ///< set by find()
  Seconds creation_;                                 ///< time to create product_
  std::optional<Finding> finding_;
};

}  // namespace dlscale::bench
