#include "core/run/compute_traits.hpp"

#include <algorithm>

#include "core/base/plain_name.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr Words<ImageLayout, 2> layouts{{{ImageLayout::channels_first, "channels_first"},
                                         {ImageLayout::channels_last, "channels_last"}}};
constexpr Words<Elementwise, 7> elementwise_words{{{Elementwise::separate, "separate"},
                                                   {Elementwise::pointwise, "pointwise"},
                                                   {Elementwise::norm_act, "norm_act"},
                                                   {Elementwise::all, "all"},
                                                   {Elementwise::primitive, "primitive"},
                                                   {Elementwise::kernels, "kernels"},
                                                   {Elementwise::epilogue, "epilogue"}}};
constexpr Words<UpdateKernels, 3> update_words{{{UpdateKernels::fused, "fused"},
                                                {UpdateKernels::tensor, "tensor"},
                                                {UpdateKernels::ops, "ops"}}};
constexpr Words<Optimizer, 6> optimizer_words{{{Optimizer::none, "none"},
                                               {Optimizer::accumulate, "accumulate"},
                                               {Optimizer::sgd, "sgd"},
                                               {Optimizer::momentum, "momentum"},
                                               {Optimizer::adam, "adam"},
                                               {Optimizer::lamb, "lamb"}}};
constexpr Words<DecodedTokens, 3> head_words{{{DecodedTokens::masked, "masked"},
                                              {DecodedTokens::all, "all"},
                                              {DecodedTokens::none, "none"}}};
constexpr Words<AlgorithmSearch, 3> search_words{{{AlgorithmSearch::exhaustive, "exhaustive"},
                                                  {AlgorithmSearch::heuristic, "heuristic"},
                                                  {AlgorithmSearch::direct, "direct"}}};

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

std::string_view optimizer_name(Optimizer optimizer) {
  return name_of(optimizer, optimizer_words);
}

int optimizer_states(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::none:
    case Optimizer::accumulate:
    case Optimizer::sgd:
      return 0;
    case Optimizer::momentum:
      return 1;
    case Optimizer::adam:
    case Optimizer::lamb:
      return 2;
  }
  fail_expectation("optimizer is an Optimizer");
}

std::string_view decoded_tokens_name(DecodedTokens head) {
  return name_of(head, head_words);
}

std::string_view algorithm_search_name(AlgorithmSearch search) {
  return name_of(search, search_words);
}

ComputeTraits usual_traits(NetworkFamily family) {
  ComputeTraits traits;
  if (family == NetworkFamily::transformer) {
    traits.elementwise = Elementwise::kernels;
    traits.optimizer = Optimizer::adam;
  }
  return traits;
}

double computed_tokens(const ComputeTraits& traits, int tokens, int batch) {
  const bool other_length = traits.tokens_of_sequence != 0 && tokens != traits.tokens_of_sequence;
  return other_length || batch < traits.tokens_from_batch ? 1 : traits.tokens;
}

bool is_about(const ComputeRow& row, const NetworkInPrecision& network) {
  return row.networks == network.family && row.width.value_or(network.width) == network.width &&
         plain_name(network.name).find(plain_name(row.network)) != std::string::npos;
}

ComputeTraits traits_of(const std::vector<ComputeRow>& rows, const NetworkInPrecision& network) {
  const auto row =
      std::ranges::find_if(rows, [&](const ComputeRow& each) { return is_about(each, network); });
  return row == rows.end() ? usual_traits(network.family) : row->traits;
}

}  // namespace dlscale
