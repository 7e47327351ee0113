#include "core/run/compute_traits.hpp"

#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr Words<ImageLayout, 2> layouts{{{ImageLayout::channels_first, "channels_first"},
                                         {ImageLayout::channels_last, "channels_last"}}};
constexpr Words<Elementwise, 4> elementwise_words{{{Elementwise::separate, "separate"},
                                                   {Elementwise::pointwise, "pointwise"},
                                                   {Elementwise::norm_act, "norm_act"},
                                                   {Elementwise::all, "all"}}};
constexpr Words<UpdateKernels, 3> update_words{{{UpdateKernels::fused, "fused"},
                                                {UpdateKernels::tensor, "tensor"},
                                                {UpdateKernels::ops, "ops"}}};

bool is_about(const ComputeRow& row, NetworkFamily networks, ElementWidth width) {
  return row.networks.value_or(networks) == networks && row.width.value_or(width) == width;
}

}  // namespace

std::string_view image_layout_name(ImageLayout layout) {
  return name_of(layout, layouts);
}

std::string_view elementwise_name(Elementwise elementwise) {
  return name_of(elementwise, elementwise_words);
}

std::string_view update_kernels_name(UpdateKernels kernels) {
  return name_of(kernels, update_words);
}

ComputeTraits traits_of(const std::vector<ComputeRow>& rows, NetworkFamily networks,
                        ElementWidth width) {
  for (const ComputeRow& row : rows) {
    if (is_about(row, networks, width)) return row.traits;
  }
  return {};
}

}  // namespace dlscale
