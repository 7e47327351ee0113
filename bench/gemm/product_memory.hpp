#pragma once
#include <span>
#include <vector>

#include "backend/compute/compute.hpp"
#include "bench/workbench/values.hpp"

namespace dlscale::bench {

/// The matrices of a product in device memory: A and B with random values, C with zeros.
class ProductMemory {
 public:
  /// `device` must outlive the memory.
  ProductMemory(backend::ComputeDevice& device, const GemmShape& shape, DType dtype,
                const OperandValues& values, std::size_t scratch_bytes);

  void run(backend::MatrixProduct& product) {
    product.run(a_.tensor.data, b_.tensor.data, c_.tensor.data, scratch_.get());
  }
  [[nodiscard]] std::span<std::byte> a_bytes() const {
    return {a_.tensor.data, a_.tensor.desc.layout.bytes};
  }
  [[nodiscard]] std::span<std::byte> c_bytes() const {
    return {c_.tensor.data, c_.tensor.desc.layout.bytes};
  }

  // These return copies in f32, after waiting for the device.
  [[nodiscard]] std::vector<float> a() const { return fetch(a_.tensor); }
  [[nodiscard]] std::vector<float> b() const { return fetch(b_.tensor); }
  [[nodiscard]] std::vector<float> c() const { return fetch(c_.tensor); }

 private:
  struct Matrices {
    backend::Buffer buffer;
    backend::Tensor tensor;
  };
  [[nodiscard]] Matrices allocate(const GemmShape& shape, std::int64_t rows, std::int64_t columns,
                                  DType dtype) const;
  void fill(const Matrices& matrices, std::vector<float> values) const;
  [[nodiscard]] std::vector<float> fetch(const backend::Tensor& tensor) const;

  backend::ComputeDevice* device_;
  Matrices a_;
  Matrices b_;
  Matrices c_;
  backend::Buffer scratch_;
};

}  // namespace dlscale::bench
