#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/onednn/compat.hpp"
#include "backend/compute/specification.hpp"

/// The orders in memory: dlscale's descriptors of tensors and the library's, each from the other.
namespace dlscale::backend::onednn_device {

DataType data_type(DType dtype);  ///< throws Unsupported

/// Dense, row-major.
Desc plain(const MemoryDims& dims, DataType type);
/// The library may choose the order.
Desc any(const MemoryDims& dims, DataType type);
/// Activations in that order; blocked: by as many channels as the widest vectors of this processor
/// have floats, the last block padded with zeros.
Desc arranged(const MemoryDims& dims, DataType type, LayoutKind kind);
/// {x, y, …} as the library wants it.
MemoryDims library_dims(Dims dims);

/// oneDNN's word for the order: "abcd" is dense, "aBcd16b" has blocks of 16 channels. Dimensions of
/// extent 1 stand where they would in a dense tensor, as their stride says nothing.
std::string layout_name(const Desc& desc);
/// The elements lie in the same places, whatever the strides of dimensions of extent 1.
bool same_memory(const Desc& a, const Desc& b);

/// `dims` are the logical ones of dlscale; `desc` may have merged or split dimensions (2 for a
/// fully connected layer, 5 for grouped weights).
TensorDesc tensor_desc(Dims dims, const Desc& desc);
/// The library's descriptor of a tensor. Throws Unsupported for a layout of another device.
const Desc& desc_of(const TensorDesc& tensor);

/// Where each element of a blocked N × C × H × W tensor lies: the sum of four numbers.
class Offsets {
 public:
  explicit Offsets(const Desc& desc);
  [[nodiscard]] std::size_t at(std::int64_t n, std::int64_t c, std::int64_t h,
                               std::int64_t w) const {
    return static_cast<std::size_t>(parts_[0][n] + parts_[1][c] + parts_[2][h] + parts_[3][w]);
  }

 private:
  std::array<std::vector<std::int64_t>, 4> parts_;
};

}  // namespace dlscale::backend::onednn_device
