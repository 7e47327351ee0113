#include "bench/comm/overlap/overlap_work.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backend/host/host.hpp"
#include "bench/engine/cache.hpp"
#include "bench/gemm/product_check.hpp"
#include "bench/gemm/product_memory.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

class ProductWork : public OverlapWork {
 public:
  explicit ProductWork(std::shared_ptr<Workbench> workbench)
      : workbench_(std::move(workbench)),
        product_(workbench_->device().matrix_product(shape, DType::f32)),
        memory_(workbench_->device(), shape, DType::f32, workbench_->values(),
                product_->scratch_bytes()) {}

  void run() override {
    memory_.run(*product_);
    workbench_->device().synchronize();
  }

  void spoil() override { std::ranges::fill(memory_.c_bytes(), std::byte{0x40}); }

  [[nodiscard]] Finding check() override {
    const std::vector<float> a = memory_.a();
    const std::vector<float> b = memory_.b();
    const std::vector<float> c = memory_.c();
    const ProductError error = product_error(workbench_->reference(), {shape, a, b, c});
    return {.error = error.largest, .worst = "the product", .mean_error = error.mean};
  }

  [[nodiscard]] Bytes memory() const override { return work(shape, DType::f32).bytes; }

  [[nodiscard]] std::string implementation() const override {
    return fmt::format("{} ({})", kernel_key(shape), product_->implementation());
  }

 private:
  static constexpr GemmShape shape{128, 128, 128};

  std::shared_ptr<Workbench> workbench_;
  std::unique_ptr<backend::MatrixProduct> product_;
  ProductMemory memory_;
};

class CopyWork : public OverlapWork {
 public:
  CopyWork()
      : pieces_(pieces_beyond(backend::last_level_cache())),
        from_(pieces_ * piece_bytes),
        to_(from_.size()) {
    // The length is prime, so that any two pieces differ.
    std::array<std::byte, 251> pattern{};
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i);
    for (std::size_t at = 0; at < from_.size(); at += pattern.size()) {
      std::memcpy(from_.data() + at, pattern.data(), std::min(pattern.size(), from_.size() - at));
    }
  }

  void run() override {
    const std::size_t first = next_ * piece_bytes;
    std::memcpy(to_.data() + first, from_.data() + first, piece_bytes);
    next_ = (next_ + 1) % pieces_;
    copied_ = std::min(copied_ + 1, pieces_);
  }

  void spoil() override {
    std::memset(to_.data(), 0xFF, to_.size());  // does not occur in the pattern
    copied_ = 0;
  }

  /// Checks the copied pieces.
  [[nodiscard]] Finding check() override {
    EXPECT(copied_ > 0);
    std::size_t wrong = 0;
    for (std::size_t i = 1; i <= copied_; ++i) {
      const std::size_t first = (next_ + pieces_ - i) % pieces_ * piece_bytes;
      if (std::memcmp(to_.data() + first, from_.data() + first, piece_bytes) != 0) ++wrong;
    }
    return {.error = static_cast<double>(wrong), .worst = "the copy"};
  }

  [[nodiscard]] Bytes memory() const override {
    return Bytes(static_cast<double>(from_.size() + to_.size()));
  }

  [[nodiscard]] std::string implementation() const override {
    return fmt::format("memcpy of {}", to_text(Bytes(static_cast<double>(piece_bytes))));
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{256} << 10U;

  /// Number of pieces so that both arrays together exceed the caches.
  static std::size_t pieces_beyond(Bytes last_level) {
    return static_cast<std::size_t>(flush_size(last_level).si()) / 2 / piece_bytes + 1;
  }

  std::size_t pieces_;
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
  std::size_t next_ = 0;    ///< index of the next piece
  std::size_t copied_ = 0;  ///< pieces copied since spoil()
};

}  // namespace

std::vector<std::string> overlap_work_names() {
  return {"gemm", "conv", "memcpy"};
}

bool needs_backend(std::string_view name) {
  return name != "memcpy";
}

std::unique_ptr<OverlapWork> make_overlap_product(std::shared_ptr<Workbench> workbench) {
  return std::make_unique<ProductWork>(std::move(workbench));
}

std::unique_ptr<OverlapWork> make_overlap_copy() {
  return std::make_unique<CopyWork>();
}

std::unique_ptr<OverlapWork> make_overlap_work(std::string_view name,
                                               const std::shared_ptr<Workbench>& workbench) {
  if (name == "gemm") return make_overlap_product(workbench);
  if (name == "conv") return make_overlap_convolution(workbench);
  EXPECT(name == "memcpy");
  return make_overlap_copy();
}

}  // namespace dlscale::bench
