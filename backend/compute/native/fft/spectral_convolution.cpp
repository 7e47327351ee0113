#include "backend/compute/native/fft/spectral_convolution.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "backend/compute/host_gemm.hpp"
#include "backend/compute/native/convolution/workers.hpp"
#include "core/base/error.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::backend::native_device::spectral {

namespace {

/// Planes [row, row + rows) × [lane, lane + lanes) of an operand, with tiles counted in.
struct Block {
  std::int64_t row = 0, rows = 0;
  std::int64_t lane = 0, lanes = 0;
  bool operator==(const Block&) const = default;
};

using convolution::SpectraShape;

/// Memory for the spectra of a block, and the block that it currently holds.
template <class Float>
struct BlockSpectra {
  Float* data;
  std::int64_t batch;
  Block block{};

  [[nodiscard]] SpectraShape shape() const {
    return {block.rows, convolution::round_up(block.lanes, batch)};
  }
  /// Both matrices of frequency f.
  [[nodiscard]] Float* matrices(std::int64_t f) const { return data + f * shape().stride(); }
};

/// Order of the real and imaginary matrices in memory. conj(Â)ᵀ(B̂i + i B̂r) = Im(ÂᵀB̂) + i
/// Re(ÂᵀB̂): with the parts of B̂ and of the result exchanged, the product of a correlation is that
/// of a convolution.
enum class Order { re_im, im_re };

/// [Âr; Âi] → [-Âi; Âr], both of 2 × `floats`.
void rotate(const float* a, std::int64_t floats, float* rotated) {
  std::transform(a + floats, a + 2 * floats, rotated, [](float im) { return -im; });
  std::copy_n(a, floats, rotated + floats);
}

class SpectralConvolution final : public ConvolutionPass {
 public:
  SpectralConvolution(const std::string& name, const Problem& problem,
                      std::unique_ptr<FourierTransform> transform, int threads,
                      std::int64_t limit_bytes)
      : limit_bytes_(limit_bytes),
        problem_(problem),
        transform_(std::move(transform)),
        blocks_(convolution::choose_blocks(problem.sizes(), transform_->batch(), limit_bytes)),
        order_(problem.product == Product::correlation ? Order::re_im : Order::im_re),
        threads_(threads),
        implementation_(name + " " + std::to_string(problem.L) + "x" + std::to_string(problem.L) +
                        " " + transform_->implementation() + "+gemm") {}

  [[nodiscard]] std::string implementation() const override { return implementation_; }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return spectra_bytes() +
           static_cast<std::size_t>(threads_) * (rotated_bytes() + transform_->workspace_bytes());
  }

  void run(const float* first, const float* second, float* result, std::byte* scratch) override {
    for (std::int64_t group = 0; group < problem_.groups; ++group) {
      run_group(second + group * problem_.a.group_stride, nullptr,
                first + group * problem_.b.group_stride,
                result + group * problem_.result.group_stride, scratch);
    }
  }

  /// 0 where the spectra of the filters exceed the limit for all spectra of a pass.
  [[nodiscard]] std::size_t kept_bytes() const override {
    const bool whole = blocks_.q >= problem_.a.all_rows() && blocks_.i >= problem_.a.all_lanes();
    if (!problem_.filters_in_a || !whole) return 0;
    const auto bytes = static_cast<std::size_t>(problem_.groups * kept_floats()) * sizeof(float);
    return bytes <= static_cast<std::size_t>(limit_bytes_) ? bytes : 0;
  }
  void keep(const float* second, std::byte* kept, std::byte* scratch) override {
    EXPECT(kept_bytes() > 0);
    auto* spectra = reinterpret_cast<float*>(kept);
    for (std::int64_t group = 0; group < problem_.groups; ++group) {
      BlockSpectra<float> a_hat{spectra + group * kept_floats(), blocks_.batch};
      hold(problem_.a, second + group * problem_.a.group_stride, Order::re_im, whole_a(), a_hat,
           scratch);
    }
  }
  void run_kept(const float* first, const std::byte* kept, float* result,
                std::byte* scratch) override {
    EXPECT(kept_bytes() > 0);
    const auto* spectra = reinterpret_cast<const float*>(kept);
    for (std::int64_t group = 0; group < problem_.groups; ++group) {
      run_group(nullptr, spectra + group * kept_floats(), first + group * problem_.b.group_stride,
                result + group * problem_.result.group_stride, scratch);
    }
  }

 private:
  [[nodiscard]] Block whole_a() const {
    return {0, problem_.a.all_rows(), 0, problem_.a.all_lanes()};
  }
  /// Size of the spectra of a group's filters.
  [[nodiscard]] std::int64_t kept_floats() const {
    return frequencies(problem_.L) * blocks_.a().stride();
  }

  /// Runs a group with `a` or, if it is null, with its kept spectra.
  void run_group(const float* a, const float* kept, const float* b, float* result,
                 std::byte* scratch) const {
    const std::int64_t F = frequencies(problem_.L);
    auto* floats = reinterpret_cast<float*>(scratch);
    BlockSpectra<float> a_hat{floats, blocks_.batch};
    BlockSpectra<float> b_hat{a_hat.data + F * blocks_.a().stride(), blocks_.batch};
    BlockSpectra<float> result_hat{b_hat.data + F * blocks_.b().stride(), blocks_.batch};
    for (std::int64_t i = 0; i < problem_.a.all_lanes(); i += blocks_.i) {
      const std::int64_t is = std::min(blocks_.i, problem_.a.all_lanes() - i);
      for (std::int64_t j = 0; j < problem_.b.all_lanes(); j += blocks_.j) {
        const std::int64_t js = std::min(blocks_.j, problem_.b.all_lanes() - j);
        result_hat.block = {i, is, j, js};
        for (std::int64_t q = 0; q < problem_.a.all_rows(); q += blocks_.q) {
          const std::int64_t qs = std::min(blocks_.q, problem_.a.all_rows() - q);
          if (kept == nullptr) hold(problem_.a, a, Order::re_im, {q, qs, i, is}, a_hat, scratch);
          hold(problem_.b, b, order_, {q, qs, j, js}, b_hat, scratch);
          multiply_spectra({kept == nullptr ? a_hat.data : kept, blocks_.batch, {q, qs, i, is}},
                           b_hat, result_hat, q > 0, scratch);
        }
        transform_back(result_hat, result, scratch);
      }
    }
  }

  /// Transforms a block of the tensor, unless its spectra are already in memory.
  void hold(const Planes& planes, const float* tensor, Order order, const Block& block,
            BlockSpectra<float>& spectra, std::byte* scratch) const {
    if (spectra.block == block) return;
    spectra.block = block;
    for_batches(spectra, order, [&](const Block& at, const Spectra<float>& of_batch, int thread) {
      std::array<Source, max_transform_batch> windows;
      transform_->forward(windows_of(planes, tensor, at, windows), of_batch,
                          workspace(thread, scratch));
    });
  }

  void transform_back(const BlockSpectra<float>& spectra, float* tensor, std::byte* scratch) const {
    for_batches(spectra, order_, [&](const Block& at, const Spectra<float>& of_batch, int thread) {
      std::array<Target, max_transform_batch> windows;
      transform_->inverse({of_batch.re, of_batch.im, of_batch.stride},
                          windows_of(problem_.result, tensor, at, windows),
                          workspace(thread, scratch));
    });
  }

  /// Calls visit(planes of one batch, their spectra, thread) for all batches of a block.
  template <class Visit>
  void for_batches(const BlockSpectra<float>& spectra, Order order, const Visit& visit) const {
    const SpectraShape shape = spectra.shape();
    const Block& block = spectra.block;
    const std::int64_t batch = blocks_.batch, batches = shape.lanes / batch;
    parallel_for(threads_, block.rows * batches, [&](std::int64_t index, int thread) {
      const std::int64_t row = index / batches, lane = index % batches * batch;
      float* re = spectra.data + row * shape.lanes + lane;
      float* im = re + shape.im();
      if (order == Order::im_re) std::swap(re, im);
      visit({block.row + row, 1, block.lane + lane, std::min(batch, block.lanes - lane)},
            {re, im, shape.stride()}, thread);
    });
  }

  template <class Float>
  static std::span<const Window<Float>> windows_of(
      const Planes& planes, Float* tensor, const Block& at,
      std::array<Window<Float>, max_transform_batch>& windows) {
    for (std::int64_t w = 0; w < at.lanes; ++w) {
      windows[static_cast<std::size_t>(w)] = planes.window(tensor, at.row, at.lane + w);
    }
    return {windows.data(), static_cast<std::size_t>(at.lanes)};
  }

  /// Computes conj(Â)ᵀ B̂ at all frequencies, by two real products with the stacked parts of B̂:
  ///   re = [Âr; Âi]ᵀ [B̂r; B̂i],  im = [-Âi; Âr]ᵀ [B̂r; B̂i]
  void multiply_spectra(const BlockSpectra<const float>& a_hat, const BlockSpectra<float>& b_hat,
                        const BlockSpectra<float>& result_hat, bool add, std::byte* scratch) const {
    const SpectraShape a = a_hat.shape(), b = b_hat.shape(), c = result_hat.shape();
    const std::int64_t i = a_hat.block.lanes, j = b_hat.block.lanes, q = a_hat.block.rows;
    parallel_for(threads_, frequencies(problem_.L), [&](std::int64_t f, int thread) {
      const Matrix of_b{b_hat.matrices(f), b.lanes};
      float* rotated = rotated_matrices(thread, scratch);
      rotate(a_hat.matrices(f), a.im(), rotated);
      float* re = result_hat.matrices(f);
      multiply(i, j, 2 * q, {a_hat.matrices(f), a.lanes, true}, of_b, re, c.lanes, add);
      multiply(i, j, 2 * q, {rotated, a.lanes, true}, of_b, re + c.im(), c.lanes, add);
    });
  }

  [[nodiscard]] std::size_t spectra_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(frequencies(problem_.L) * blocks_.floats());
  }
  [[nodiscard]] std::size_t rotated_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(round_up(2 * blocks_.a().im()));
  }
  [[nodiscard]] std::byte* workspace(int thread, std::byte* scratch) const {
    return scratch + spectra_bytes() +
           static_cast<std::size_t>(thread) * (rotated_bytes() + transform_->workspace_bytes());
  }
  [[nodiscard]] float* rotated_matrices(int thread, std::byte* scratch) const {
    return reinterpret_cast<float*>(workspace(thread, scratch) + transform_->workspace_bytes());
  }

  std::int64_t limit_bytes_;
  Problem problem_;
  std::unique_ptr<FourierTransform> transform_;
  convolution::SpectralBlocks blocks_;
  Order order_;
  int threads_;
  std::string implementation_;
};

}  // namespace

std::unique_ptr<ConvolutionPass> make_spectral_convolution(
    const std::string& name, const Problem& problem, std::unique_ptr<FourierTransform> transform,
    int threads, std::int64_t limit_bytes) {
  return std::make_unique<SpectralConvolution>(name, problem, std::move(transform), threads,
                                               limit_bytes);
}

}  // namespace dlscale::backend::native_device::spectral
