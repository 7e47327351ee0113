#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace dlscale {

/// How software computes, where frameworks differ: the properties that move the speed of training
/// more than the device does. Profiles in configs/frameworks state them.

/// Order of the dimensions of images in memory.
enum class ImageLayout { channels_first, channels_last };
inline constexpr std::array all_image_layouts{ImageLayout::channels_first,
                                              ImageLayout::channels_last};
std::string_view image_layout_name(ImageLayout layout);

/// Element-wise operations that join the kernel before them.
enum class Elementwise {
  separate,   ///< none: a kernel each
  pointwise,  ///< those after other element-wise operations
  norm_act,   ///< batch norm also applies the ReLU and the sum after it
  all,        ///< whatever a compiler can fuse
};
inline constexpr std::array all_elementwise{Elementwise::separate, Elementwise::pointwise,
                                            Elementwise::norm_act, Elementwise::all};
std::string_view elementwise_name(Elementwise elementwise);

/// Kernels that update parameters.
enum class UpdateKernels {
  fused,   ///< a few for all tensors
  tensor,  ///< a few for each tensor
  ops,     ///< one for each operation of the optimiser on each tensor
};
inline constexpr std::array all_update_kernels{UpdateKernels::fused, UpdateKernels::tensor,
                                               UpdateKernels::ops};
std::string_view update_kernels_name(UpdateKernels kernels);

/// Properties of one kind of network in one precision; absent: unknown.
struct ComputeTraits {
  std::optional<ImageLayout> layout = {};
  std::optional<Elementwise> elementwise = {};
  std::optional<UpdateKernels> update = {};
  std::optional<double> libraries = {};  ///< year of the vendor's libraries, as 2019.5
};

/// Kinds of networks, by what their layers read.
enum class NetworkFamily { images, sequences };
/// Precisions of activations: f32 and tf32, or f16 and bf16.
enum class ElementWidth { four_bytes, two_bytes };

/// Traits of software for some networks and precisions.
struct ComputeRow {
  std::optional<NetworkFamily> networks = {};  ///< absent: any
  std::optional<ElementWidth> width = {};      ///< absent: any
  ComputeTraits traits = {};
};

/// The traits of the first row that is about such a training; all unknown if there is none.
ComputeTraits traits_of(const std::vector<ComputeRow>& rows, NetworkFamily networks,
                        ElementWidth width);

}  // namespace dlscale
