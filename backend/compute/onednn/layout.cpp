#include "backend/compute/onednn/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend::onednn_device {

namespace {

MemoryDims dense_strides(const MemoryDims& dims) {
  MemoryDims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Number of elements of each dimension in an inner block.
MemoryDims inner_extents(const Blocking& blocking) {
  MemoryDims extents(blocking.strides.size(), 1);
  for (std::size_t i = 0; i < blocking.block_sizes.size(); ++i) {
    extents[blocking.block_dims[i]] *= blocking.block_sizes[i];
  }
  return extents;
}

/// The dimensions from the outermost to the innermost.
std::vector<int> outer_order(const MemoryDims& dims, const Blocking& blocking) {
  const MemoryDims inner = inner_extents(blocking);
  std::vector<int> order;
  std::vector<int> unit;
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    (dims[d] <= inner[d] ? unit : order).push_back(d);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
  for (const int d : unit) {
    order.insert(std::find_if(order.begin(), order.end(), [d](int other) { return other > d; }), d);
  }
  return order;
}

}  // namespace

DataType data_type(DType dtype) {
  if (dtype == DType::f32) return DataType::f32;
  if (dtype == DType::bf16) return DataType::bf16;
  throw Unsupported(
      fmt::format("onednn computes in f32 and bf16, not in {}. Choose one of them, or a GPU.",
                  dtype_name(dtype)));
}

Desc plain(const MemoryDims& dims, DataType type) {
  return {dims, type, dense_strides(dims)};
}

Desc any(const MemoryDims& dims, DataType type) {
  return {dims, type, dnnl::memory::format_tag::any};
}

Desc arranged(const MemoryDims& dims, DataType type, LayoutKind kind) {
  using Tag = dnnl::memory::format_tag;
  switch (kind) {
    case LayoutKind::nchw:
      return plain(dims, type);
    case LayoutKind::nhwc:
      return {dims, type, Tag::nhwc};
    case LayoutKind::blocked: {
      const bool wide = instruction_set().find("avx512") != std::string::npos;
      return {dims, type, wide ? Tag::nChw16c : Tag::nChw8c};
    }
  }
  fail_expectation("a known LayoutKind");
}

MemoryDims library_dims(Dims dims) {
  return {dims.begin(), dims.end()};
}

std::string layout_name(const Desc& desc) {
  const Blocking blocking = blocking_of(desc);
  const MemoryDims inner = inner_extents(blocking);
  std::string name;
  for (const int d : outer_order(dims_of(desc), blocking)) {
    name += static_cast<char>((inner[d] > 1 ? 'A' : 'a') + d);
  }
  for (std::size_t i = 0; i < blocking.block_sizes.size(); ++i) {
    name += fmt::format("{}{}", blocking.block_sizes[i],
                        static_cast<char>('a' + blocking.block_dims[i]));
  }
  return name;
}

bool same_memory(const Desc& a, const Desc& b) {
  return a == b || (type_of(a) == type_of(b) && dims_of(a) == dims_of(b) &&
                    a.get_size() == b.get_size() && layout_name(a) == layout_name(b));
}

TensorDesc tensor_desc(Dims dims, const Desc& desc) {
  return {.dims = dims,
          .dtype = type_of(desc) == DataType::f32 ? DType::f32 : DType::bf16,
          .layout = {layout_name(desc), desc.get_size(), std::make_shared<const Desc>(desc)}};
}

const Desc& desc_of(const TensorDesc& tensor) {
  if (tensor.layout.handle == nullptr) {
    throw Unsupported(
        fmt::format("onednn: layout \"{}\" is another device's. Copy from a plain "
                    "tensor of this one.",
                    tensor.layout.name));
  }
  return *static_cast<const Desc*>(tensor.layout.handle.get());
}

Offsets::Offsets(const Desc& desc) {
  const Blocking blocking = blocking_of(desc);
  const MemoryDims inner = inner_extents(blocking);
  const MemoryDims dims = dims_of(desc);
  EXPECT(dims.size() == parts_.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    for (std::int64_t i = 0; i < dims[d]; ++i) {
      std::int64_t offset = i / inner[d] * blocking.strides[d];
      std::int64_t within = i % inner[d];
      std::int64_t stride = 1;  // from the innermost block outwards
      for (std::size_t b = blocking.block_sizes.size(); b-- > 0;) {
        if (blocking.block_dims[b] == static_cast<int>(d)) {
          offset += within % blocking.block_sizes[b] * stride;
          within /= blocking.block_sizes[b];
        }
        stride *= blocking.block_sizes[b];
      }
      parts_[d].push_back(offset);
    }
  }
}

}  // namespace dlscale::backend::onednn_device
