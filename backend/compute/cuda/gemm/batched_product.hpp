#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

/// Products of many matrices at once, which a convolution becomes between its transforms.
namespace dlscale::backend::cuda::transforms {

enum class Number { real, complex };

/// f32, or pairs of them, real part first.
constexpr std::size_t number_bytes(Number number) {
  return number == Number::real ? sizeof(float) : 2 * sizeof(float);
}

/// What becomes of factors before they are multiplied. tf32: tensor cores, which round them to 11
/// bits; sums are of f32 in any case.
enum class Factors { f32, tf32 };

enum class Form {
  plain,
  transposed,
  adjoint,  ///< transposed and conjugated; of real numbers, transposed
};

/// `count` matrices of rows × columns in column-major order; distances are in elements.
struct Matrices {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t leading;   ///< from column to column
  std::int64_t distance;  ///< from matrix to matrix
  Form form = Form::plain;
};

/// result[b] = form(left[b]) · form(right[b]) for b < count, sums in f32.
struct BatchedProblem {
  std::string what;  ///< the layer with its shapes, for messages
  Number number = Number::real;
  Factors factors = Factors::f32;
  std::int64_t count = 1;
  Matrices left;
  Matrices right;
  Matrices result;
  std::uint32_t alignment = 4;  ///< bytes, of all addresses
};

enum class Sum { set, add };  ///< whether the result replaces what was there

class BatchedProduct {
 public:
  virtual ~BatchedProduct() = default;
  /// What multiplies: "cublasLt algo=…".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Enqueues; `scratch` begins on a multiple of 256 bytes.
  virtual void run(const float* left, const float* right, float* result, Sum sum,
                   std::byte* scratch) const = 0;
};

using MakeProduct = std::function<std::unique_ptr<BatchedProduct>(const BatchedProblem&)>;

}  // namespace dlscale::backend::cuda::transforms
