#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/conv/finding.hpp"
#include "bench/conv/workbench.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// What a rank does beside its messages, in short runs that are all alike, in f32.
class BesideWork {
 public:
  BesideWork() = default;
  virtual ~BesideWork() = default;
  BesideWork(const BesideWork&) = delete;
  BesideWork& operator=(const BesideWork&) = delete;

  /// Does it once more, and returns when it is done. Throws LibraryError.
  virtual void run() = 0;
  /// Overwrites what runs have left, so that only runs from now on can leave what is right.
  virtual void spoil() = 0;
  /// How far what the runs since spoil() have left is from the reference. Requires one.
  [[nodiscard]] virtual Finding check() = 0;
  /// That it needs.
  [[nodiscard]] virtual Bytes memory() const = 0;
  /// A run, and what does it, in words.
  [[nodiscard]] virtual std::string implementation() const = 0;
};

/// gemm     a product of two matrices of 128 x 128, from warm caches
/// conv     forward of a 3 x 3 convolution of 64 x 14 x 14 to as many, of one image, likewise
/// memcpy   256 KiB of an array, after those of the run before, to another; both are too large for
///          the caches
std::vector<std::string> beside_names();

/// Whether a compute backend does it.
bool needs_backend(std::string_view name);

/// By the device of the workbench, which computes in memory of the host; null where
/// needs_backend() says no. Throws Unsupported where the device offers no such thing.
std::unique_ptr<BesideWork> make_beside_work(std::string_view name,
                                             const std::shared_ptr<Workbench>& workbench);

/// Parts of make_beside_work().
std::unique_ptr<BesideWork> make_beside_product(std::shared_ptr<Workbench> workbench);
std::unique_ptr<BesideWork> make_beside_convolution(std::shared_ptr<Workbench> workbench);
std::unique_ptr<BesideWork> make_beside_copy();

}  // namespace dlscale::bench
