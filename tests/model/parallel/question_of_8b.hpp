#pragma once
#include <cstdint>

#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::parallel_time {

/// Training of a decoder of 8e9 parameters, with the shape of Llama 3 8B, on sequences of that many
/// tokens.
inline ParallelQuestion question_of_8b(std::int64_t sequence, std::int64_t global_batch) {
  ParallelQuestion question;
  question.shape = {.layers = 32,
                    .hidden = 4096,
                    .heads = 32,
                    .kv_heads = 8,
                    .head_width = 128,
                    .ffn = 14336,
                    .gated = true,
                    .vocabulary = 128256,
                    .sequence = sequence};
  question.global_batch = global_batch;
  return question;
}

}  // namespace dlscale::model::parallel_time
