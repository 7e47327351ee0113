#include "model/memory/implementation.hpp"

namespace dlscale::model::memory {
namespace {

constexpr double gib = 1073741824.0;

/// Fused kernels of Transformer Engine and gradients accumulated in f32. The last four numbers are
/// inferred from live tensors of 19 trainings on B200 [MooreThreads/SimuMax docs/b200 @4dcaae5].
Implementation megatron() {
  Implementation is;
  is.name = "Megatron";
  is.expert_row_elements = 1;
  is.loss_bytes = 4;
  is.whole_gradient_bytes = 4;
  is.head_state_bytes = 8;
  is.inner_gradient_bytes = 4;
  is.fragmentation = {.alone = 1.25, .shared = 1.15, .run_ahead = 0};
  is.low = 0.85;
  is.high = 1.2;
  is.fixed_low = 0.985;
  is.fixed_high = 1.015;
  return is;
}

/// Unfused gates, results of attention copied to token order, and f32 accumulators. Copies are from
/// its code (src/nanotron/models/llama.py); update, buffers and constant are inferred from the
/// memory that it logs at the update; fragmentation and range are fitted (fit.hpp) to 514 trainings
/// [gkarfakis19/Rapid-LLM validation_scripts/huggingface_data @317a2cb].
Implementation nanotron() {
  Implementation is;
  is.name = "nanotron";
  is.gated_elements = 4;
  is.attention_copies = 1;
  is.gather_buffer_bytes = 4;
  is.update_weights_bytes = 2;
  is.frees_gradients_alone = true;
  is.constant_bytes = 0.065 * gib;
  is.fragmentation = {.alone = 1.089, .shared = 1.258, .run_ahead = 71.5};
  is.is_fitted = true;
  is.low = 0.806;
  is.high = 1.314;
  is.fixed_low = 0.995;
  is.fixed_high = 1.01;
  return is;
}

/// FSDP2 with gates and losses that are not fused. The loss keeps logits in 16 bits and, in 32,
/// their copy, its logarithms and their gradient. [pytorch/torchtitan benchmarks @b5bcd76; the
/// range is that of its rows until 2025, later ones fuse the loss]
Implementation torchtitan() {
  Implementation is;
  is.name = "torchtitan";
  is.gated_elements = 4;
  is.loss_bytes = 14;
  is.keeps_gathered_stage = true;
  is.keeps_gathered_tables = true;
  is.gather_buffer_bytes = 12;
  is.fragmentation = {.alone = 1, .shared = 1.06, .run_ahead = 0};
  is.low = 0.75;
  is.high = 1.35;
  return is;
}

/// FSDP around modules with fused attention. The loss keeps logits in 16 bits and, in 32, their
/// copy and its gradient. [derived; mosaicml/llm-foundry made batches as large as fits, and its 139
/// published trainings need 0.86 of what the device leaves in the median, 1.04 in nine of ten]
Implementation sharded_modules() {
  Implementation is;
  is.name = "FSDP";
  is.gated_elements = 4;
  is.loss_bytes = 10;
  is.fragmentation = {.alone = 1, .shared = 1.06, .run_ahead = 0};
  is.low = 0.65;
  is.high = 1.6;
  return is;
}

/// Modules of PyTorch without fused gates or losses, as nanotron's code and others have them. The
/// range reaches down to fused kernels.
Implementation plain_modules() {
  Implementation is;
  is.gated_elements = 4;
  is.attention_copies = 1;
  is.loss_bytes = 12;
  is.fragmentation = {.alone = 1.1, .shared = 1.2, .run_ahead = 0};
  is.low = 0.6;
  is.high = 1.4;
  return is;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

}  // namespace

Implementation implementation_of(std::string_view framework) {
  const auto names = [text = lower_case(framework)](auto... words) {
    return ((text.find(words) != std::string::npos) || ...);
  };
  if (names("nanotron")) return nanotron();
  if (names("torchtitan", "fsdp2")) return torchtitan();
  if (names("megatron", "nemo", "transformer engine")) return megatron();
  if (names("composer", "foundry", "fsdp")) return sharded_modules();
  return plain_modules();
}

Implementation live_tensors() {
  Implementation is;
  is.name = "live tensors";
  is.fragmentation = {.alone = 1, .shared = 1, .run_ahead = 0};
  return is;
}

LibraryMemory library_memory(int axes) {
  return {.bytes = (0.5 + 0.8 * axes) * gib,
          .low = (0.3 + 0.2 * axes) * gib,
          .high = (1.0 + 1.5 * axes) * gib};
}

}  // namespace dlscale::model::memory
