#pragma once
#include <string>
#include <string_view>

namespace dlscale::model::memory {

/// The losses of a caching allocator. Pieces that are gathered between kept ones leave holes, so
/// that ranks that gather tokens lose more: a factor on activations and loss. The host may be ahead
/// of the device by many such pieces, none of which is free yet: bytes of each feature of a
/// micro-batch, where one stage runs several micro-batches and so waits for no other.
struct Fragmentation {
  double alone = 1.1;
  double shared = 1.15;  ///< on ranks that gather tokens
  double run_ahead = 0;  ///< bytes; only on ranks that gather tokens
};

/// Habits of one framework, by which it keeps more than theory needs. The numbers are priors, each
/// from published sources or fitted to published memory; `low` and `high` state how far they are
/// trusted.
struct Implementation {
  std::string name = "modules";
  /// Kept bytes of each inner feature of a gated feed-forward part: 3 elements if the gate is fused
  /// (both inputs and the product), 4 if the activated gate is kept, too.
  double gated_elements = 3;
  /// Kept elements of each feature of queries beside query and result.
  double attention_copies = 0;
  /// Kept elements of each feature of a row that goes to an expert: 2 where its input and its
  /// result are kept, 1 where the route's weights are applied before the last product.
  double expert_row_elements = 2;
  /// Bytes of each logit while the loss is computed: logits, their logarithms and gradients.
  double loss_bytes = 10;
  /// Bytes of each element of the vocabulary's matrix, whose gradient is whole before it is added.
  double whole_gradient_bytes = 0;
  /// Bytes of each feature of the states around the last norm, during the loss.
  double head_state_bytes = 0;
  /// Bytes of each inner feature of one layer, of gradients during its backward.
  double inner_gradient_bytes = 0;
  /// Bytes of each feature of a micro-batch in the buffers that gather tokens and scatter sums.
  double gather_buffer_bytes = 0;
  /// Bytes of each parameter that ZeRO 1 needs beside at the update: for all, and for a shard.
  double update_weights_bytes = 0;
  /// Whether gradients are freed once they were accumulated where no replica needs them.
  bool frees_gradients_alone = false;
  /// Whether ZeRO 3 gathers a stage's weights once a step where there is a pipeline, and keeps
  /// whole gradients until its end.
  bool keeps_gathered_stage = false;
  /// Whether ZeRO 3 keeps tables gathered.
  bool keeps_gathered_tables = false;
  /// Whether the inputs of products in 8 or 4 bits are kept in these bits.
  bool keeps_operands = false;
  double constant_bytes = 0;  ///< small tensors of no other kind
  Fragmentation fragmentation = {};
  bool is_fitted = false;  ///< fragmentation and the range below come from fit_fragmentation()
  /// 90 % range of measured over predicted activations and loss.
  double low = 0.85;
  double high = 1.5;
  /// 90 % range of measured over predicted bytes of all else.
  double fixed_low = 0.98;
  double fixed_high = 1.05;
};

/// The implementation of that name: nanotron, torchtitan, megatron, fsdp, or modules, whose range
/// is wide. Families in configs/models/parallel.yaml say which framework has which. Throws
/// ConfigError for another name.
Implementation implementation_named(std::string_view name);

/// Keeps only what theory needs with fused kernels, without copies and an allocator's losses.
Implementation live_tensors();

}  // namespace dlscale::model::memory
