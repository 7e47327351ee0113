#include "tests/backend/compute/cuda/host_transforms.hpp"

#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "backend/compute/precision.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

using Number64 = std::complex<double>;

class HostProduct final : public BatchedProduct {
 public:
  explicit HostProduct(BatchedProblem problem) : problem_(std::move(problem)) {
    EXPECT(rows(problem_.left) == problem_.result.rows);
    EXPECT(columns(problem_.right) == problem_.result.columns);
    EXPECT(columns(problem_.left) == rows(problem_.right));
    for (const Matrices* each : {&problem_.left, &problem_.right, &problem_.result}) {
      EXPECT(each->leading >= each->rows);
    }
  }

  [[nodiscard]] std::string name() const override { return "loops"; }
  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }

  void run(const float* left, const float* right, float* result, Sum sum,
           std::byte* /*scratch*/) const override {
    for (const float* address : {left, right, static_cast<const float*>(result)}) {
      EXPECT(reinterpret_cast<std::uintptr_t>(address) % problem_.alignment == 0);
    }
    const auto& [what, number, factors, count, a, b, c, alignment] = problem_;
    for (std::int64_t at = 0; at < count; ++at) {
      for (std::int64_t i = 0; i < c.rows; ++i) {
        for (std::int64_t j = 0; j < c.columns; ++j) {
          Number64 total = sum == Sum::add ? read(result, c, at, i, j) : Number64{};
          for (std::int64_t k = 0; k < columns(a); ++k) {
            total += factor(left, a, at, i, k) * factor(right, b, at, k, j);
          }
          write(result, at, i, j, total);
        }
      }
    }
  }

 private:
  static std::int64_t rows(const Matrices& of) {
    return of.form == Form::plain ? of.rows : of.columns;
  }
  static std::int64_t columns(const Matrices& of) {
    return of.form == Form::plain ? of.columns : of.rows;
  }

  [[nodiscard]] Number64 read(const float* from, const Matrices& of, std::int64_t at,
                              std::int64_t i, std::int64_t j) const {
    const std::int64_t place = at * of.distance + j * of.leading + i;
    if (problem_.number == Number::real) return double{from[place]};
    return {from[2 * place], from[2 * place + 1]};
  }

  [[nodiscard]] double rounded_factor(double value) const {
    const DType dtype = problem_.factors == Factors::f32 ? DType::f32 : DType::tf32;
    return rounded(dtype, static_cast<float>(value));
  }

  [[nodiscard]] Number64 factor(const float* from, const Matrices& of, std::int64_t at,
                                std::int64_t i, std::int64_t j) const {
    const bool plain = of.form == Form::plain;
    const Number64 value = plain ? read(from, of, at, i, j) : read(from, of, at, j, i);
    const Number64 near{rounded_factor(value.real()), rounded_factor(value.imag())};
    return of.form == Form::adjoint ? std::conj(near) : near;
  }

  void write(float* to, std::int64_t at, std::int64_t i, std::int64_t j, Number64 value) const {
    const std::int64_t place = at * problem_.result.distance + j * problem_.result.leading + i;
    if (problem_.number == Number::real) {
      to[place] = static_cast<float>(value.real());
    } else {
      to[2 * place] = static_cast<float>(value.real());
      to[2 * place + 1] = static_cast<float>(value.imag());
    }
  }

  BatchedProblem problem_;
};

/// exp(sign · 2πi k / L), k < L.
std::vector<Number64> roots(std::int64_t L, double sign) {
  std::vector<Number64> all;
  all.reserve(static_cast<std::size_t>(L));
  for (std::int64_t k = 0; k < L; ++k) {
    all.push_back(std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(L)));
  }
  return all;
}

/// A row or a column after the other.
class HostFourier final : public FourierTransform {
 public:
  explicit HostFourier(FourierProblem problem)
      : problem_(std::move(problem)), out_(roots(side(), -1)), back_(roots(side(), 1)) {}

  [[nodiscard]] std::string name() const override { return "loops"; }
  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }

  void forward(const float* planes, Complex* spectra, std::byte* /*scratch*/) override {
    for (std::int64_t plane = 0; plane < problem_.planes; ++plane) {
      const float* from = planes + plane * side() * side();
      std::vector<Number64> values(from, from + side() * side());
      for (std::int64_t y = 0; y < side(); ++y) along(values, y * side(), 1, out_);
      for (std::int64_t v = 0; v < half(); ++v) along(values, v, side(), out_);
      for (std::int64_t u = 0; u < side(); ++u) {
        for (std::int64_t v = 0; v < half(); ++v) {
          const Number64 value = values[index(u * side() + v)];
          spectra[plane * frequencies(side()) + u * half() + v] = {
              static_cast<float>(value.real()), static_cast<float>(value.imag())};
        }
      }
    }
  }

  void inverse(Complex* spectra, float* planes, std::byte* /*scratch*/) override {
    for (std::int64_t plane = 0; plane < problem_.planes; ++plane) {
      std::vector<Number64> values(index(side() * side()));
      Complex* const from = spectra + plane * frequencies(side());
      for (std::int64_t u = 0; u < side(); ++u) {
        for (std::int64_t v = 0; v < half(); ++v) {
          const Complex number = std::exchange(from[u * half() + v], {7, 7});
          const Number64 value{number.re, number.im};
          const std::int64_t opposite = (side() - u) % side() * side() + (side() - v) % side();
          if (opposite % side() >= half()) values[index(opposite)] = std::conj(value);
          values[index(u * side() + v)] = value;
        }
      }
      for (std::int64_t v = 0; v < side(); ++v) along(values, v, side(), back_);
      for (std::int64_t y = 0; y < side(); ++y) along(values, y * side(), 1, back_);
      for (std::int64_t i = 0; i < side() * side(); ++i) {
        planes[plane * side() * side() + i] = static_cast<float>(values[index(i)].real());
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t side() const { return problem_.L; }
  [[nodiscard]] std::int64_t half() const { return problem_.L / 2 + 1; }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  void along(std::vector<Number64>& values, std::int64_t first, std::int64_t step,
             const std::vector<Number64>& root) const {
    std::vector<Number64> sums(index(side()));
    for (std::int64_t k = 0; k < side(); ++k) {
      for (std::int64_t x = 0; x < side(); ++x) {
        sums[index(k)] += values[index(first + x * step)] * root[index(k * x % side())];
      }
    }
    for (std::int64_t k = 0; k < side(); ++k) values[index(first + k * step)] = sums[index(k)];
  }

  FourierProblem problem_;
  std::vector<Number64> out_;
  std::vector<Number64> back_;
};

}  // namespace

MakeFourier fourier_on_host() {
  return [](const FourierProblem& problem) { return std::make_unique<HostFourier>(problem); };
}

MakeProduct products_on_host() {
  return [](const BatchedProblem& problem) { return std::make_unique<HostProduct>(problem); };
}

}  // namespace dlscale::backend::cuda::transforms
