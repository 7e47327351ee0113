#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workbench/finding.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Work that a rank does while messages are in flight: short, identical runs in f32.
class OverlapWork {
 public:
  OverlapWork() = default;
  virtual ~OverlapWork() = default;
  OverlapWork(const OverlapWork&) = delete;
  OverlapWork& operator=(const OverlapWork&) = delete;

  /// Runs once and returns when done. Throws LibraryError.
  virtual void run() = 0;
  /// Overwrites the results of earlier runs, so that check() sees only later ones.
  virtual void spoil() = 0;
  /// Error of the runs since spoil() against the reference. Requires one run.
  [[nodiscard]] virtual Finding check() = 0;
  /// Memory that the work needs.
  [[nodiscard]] virtual Bytes memory() const = 0;
  /// Description of a run and of the code that does it.
  [[nodiscard]] virtual std::string implementation() const = 0;
};

/// gemm     a product of two 128 x 128 matrices, from warm caches
/// conv     forward of a 3 x 3 convolution, 64 x 14 x 14 to as many, of one image, from warm caches
/// memcpy   copies the next 256 KiB of one array to another; both are larger than the caches
std::vector<std::string> overlap_work_names();

/// Whether the work needs a compute backend.
bool needs_backend(std::string_view name);

/// Makes the work for the device of the workbench, which computes in host memory; null where
/// needs_backend() is false. Throws Unsupported where the device does not support it.
std::unique_ptr<OverlapWork> make_overlap_work(std::string_view name,
                                               const std::shared_ptr<Workbench>& workbench);

/// Parts of make_overlap_work().
std::unique_ptr<OverlapWork> make_overlap_product(std::shared_ptr<Workbench> workbench);
std::unique_ptr<OverlapWork> make_overlap_convolution(std::shared_ptr<Workbench> workbench);
std::unique_ptr<OverlapWork> make_overlap_copy();

}  // namespace dlscale::bench
