#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/onednn/compat.hpp"
#include "backend/compute/specification.hpp"

/// Conversion between dlscale's tensor descriptors and the library's.
namespace dlscale::backend::onednn_device {

DataType data_type(DType dtype);  ///< throws Unsupported

/// A dense, row-major tensor.
Desc plain(const MemoryDims& dims, DataType type);
/// A tensor whose order the library may choose.
Desc any(const MemoryDims& dims, DataType type);
/// Activations in the order `kind`. blocked: as many channels as the widest vectors of this
/// processor have floats, with the last block padded with zeros.
Desc arranged(const MemoryDims& dims, DataType type, LayoutKind kind);
/// Dims {x, y, …} as the library's type.
MemoryDims library_dims(Dims dims);

/// oneDNN's name of the order: "abcd" is dense, "aBcd16b" has blocks of 16 channels. Dimensions of
/// extent 1 are named as in a dense tensor, as their stride has no meaning.
std::string layout_name(const Desc& desc);
/// Whether the elements have the same places, whatever the strides of dimensions of extent 1.
bool same_memory(const Desc& a, const Desc& b);

/// `dims` are the logical ones of dlscale; `desc` may have merged or split dimensions (2 for a
/// fully connected layer, 5 for grouped weights).
TensorDesc tensor_desc(Dims dims, const Desc& desc);
/// The library's descriptor of a tensor. Throws Unsupported for a layout of another device.
const Desc& desc_of(const TensorDesc& tensor);

/// Position of each element of a blocked N × C × H × W tensor, as the sum of four numbers.
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
