#include "model/memory/implementation.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::model::memory {
namespace {

constexpr double gib = 1073741824.0;

/// Fused kernels of Transformer Engine and gradients accumulated in f32. The bytes of loss, head
/// and gradients are inferred from live tensors of 19 trainings on B200 [MooreThreads/SimuMax
/// docs/b200 @4dcaae5]. Operands: each linear module keeps one copy of its quantized input, by rows
/// or by columns [NVIDIA/TransformerEngine pytorch/module/{layernorm_linear,linear}.py @d0067d0d].
Implementation megatron() {
  Implementation is;
  is.name = "megatron";
  is.expert_row_elements = 1;
  is.loss_bytes = 4;
  is.whole_gradient_bytes = 4;
  is.head_state_bytes = 8;
  is.inner_gradient_bytes = 4;
  is.keeps_operands = true;
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
/// their copy, its logarithms and their gradient. Products in 8 bits keep their inputs in 16, which
/// backward casts again [pytorch/ao torchao/float8/float8_linear.py @36027d82].
/// [pytorch/torchtitan benchmarks @b5bcd76; the range is that of its rows until 2025, later ones
/// fuse the loss]
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
  is.name = "fsdp";
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

/// Names and numbers, in the order in which a refusal names them.
constexpr std::array<std::pair<std::string_view, Implementation (*)()>, 5> all_implementations{
    {{"nanotron", nanotron},
     {"torchtitan", torchtitan},
     {"megatron", megatron},
     {"fsdp", sharded_modules},
     {"modules", plain_modules}}};

}  // namespace

Implementation implementation_named(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [known, make] : all_implementations) {
    if (known == name) return make();
    names.emplace_back(known);
  }
  throw ConfigError(
      fmt::format("\"{}\" does not name a way to keep memory. {}", name, suggestion(name, names)));
}

Implementation live_tensors() {
  Implementation is;
  is.name = "live tensors";
  is.fragmentation = {.alone = 1, .shared = 1, .run_ahead = 0};
  return is;
}

}  // namespace dlscale::model::memory
