#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

/// Products of many matrices at once, which a convolution becomes between its transforms.
namespace dlscale::backend::cuda::transforms {

enum class Number { real, complex };

/// Size of an element: an f32, or a pair of them with the real part first.
constexpr std::size_t number_bytes(Number number) {
  return number == Number::real ? sizeof(float) : 2 * sizeof(float);
}

/// Precision to which factors are rounded before they are multiplied. tf32: tensor cores round them
/// to 11 bits. Sums are in f32 in any case.
enum class Factors { f32, tf32 };

enum class Form {
  plain,
  transposed,
  adjoint,  ///< transposed and conjugated; for real numbers, transposed
};

/// `count` matrices of rows × columns in column-major order. Distances are in elements.
struct Matrices {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t leading;   ///< distance between columns
  std::int64_t distance;  ///< distance between matrices
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
  std::uint32_t alignment = 4;  ///< in bytes, of all addresses
};

enum class Sum { set, add };  ///< whether the result replaces or adds to the old one

class BatchedProduct {
 public:
  virtual ~BatchedProduct() = default;
  /// Name of the implementation: "cublasLt algo=…".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Enqueues the product; `scratch` begins on a multiple of 256 bytes.
  virtual void run(const float* left, const float* right, float* result, Sum sum,
                   std::byte* scratch) const = 0;
};

using MakeProduct = std::function<std::unique_ptr<BatchedProduct>(const BatchedProblem&)>;

}  // namespace dlscale::backend::cuda::transforms
