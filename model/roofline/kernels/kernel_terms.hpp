#pragma once
#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// The amounts that make up a stage's time, all ≥ 0. A model multiplies each by its parameter.
enum class Term : std::size_t {
  start,             ///< 1: the fixed cost of a run
  read,              ///< bytes of tensors read, all from memory
  written,           ///< bytes of the tensor written, to memory
  workspace,         ///< bytes of memory beside the tensors, which also starts in memory
  spilled,           ///< bytes of the workspace read again after the last-level cache has lost them
  multiply,          ///< operations of matrix products
  product_result,    ///< elements of results, m n: loaded and stored once a panel of k
  product_left,      ///< elements of left operands, m k: packed and read
  product_right,     ///< elements of right operands, k n
  product_call,      ///< number of products
  product_memory,    ///< bytes of products whose operands leave the near caches
  transform_flops,   ///< operations of transforms, by whole vectors
  transform_runs,    ///< rows of tiles, filters, or batches of planes that they begin
  transform_bytes,   ///< bytes that they read and write
  transform_memory,  ///< those bytes, where they leave the near caches
  copy_bytes,
  copy_memory,
  copy_runs,        ///< rows that copies begin
  copy_gathered,    ///< elements copied one by one
  direct_flops,     ///< operations of a direct convolution, channels padded to vectors
  direct_result,    ///< results, as often as they are loaded and stored
  direct_call,      ///< rows of outputs of a vector of channels: calls of the inner kernel
  direct_memory,    ///< bytes of its tensors
  pointwise_flops,  ///< the same four for 1 × 1 filters, for which libraries have other kernels
  pointwise_result,
  pointwise_call,
  pointwise_memory,
  /// Bytes of the image without the pixels that a stride leaves out, which libraries copy
  /// separately, and of the bytes set to zero on the way back.
  pointwise_strided,
};
inline constexpr std::size_t term_count = 28;
/// Name and unit of the parameter of a term, as files have it: "multiply_s_per_flop".
std::string_view term_name(Term term);

using Amounts = std::array<double, term_count>;
using TermSet = std::bitset<term_count>;

/// The two sides of a roofline of one stage.
struct StageTerms {
  Amounts compute{};
  Amounts memory{};
};

/// t = θ · always + Σ over stages max(θ · compute, θ · memory)
struct KernelTerms {
  Amounts always{};
  std::vector<StageTerms> stages;  ///< one for each of AlgorithmWork::stages
};

/// The caches of one core.
struct Caches {
  /// The working set of which half of the bytes leave the near caches; of a working set W
  /// the share W / (W + near) does.
  Bytes near;
  /// The effective size of the last level. Scratch that one stage leaves to another
  /// (Stage::scratch) is read again after a pass over the whole workspace W. The share
  /// W⁴ / (W⁴ + last⁴) of its bytes counts as lost: from one tenth to nine tenths within a factor
  /// of three in W. A pointer chase over W bytes reads memory with a share that grows alike, from
  /// almost none at 13.5 MiB to nine tenths at 45 MiB. [results/epyc-2vcpu/2026-11-22-conv,
  /// `levels` of latency.jsonl] [D: our own form] Wrong where the tensors that a block reads and
  /// writes take much of the cache.
  Bytes last;
};

KernelTerms terms_of(const KernelCase& what, const Caches& caches);

/// The terms whose amount is above 0.
TermSet occurring(const KernelTerms& terms);

/// The time with parameters θ ≥ 0, one a term.
Seconds time_of(const KernelTerms& terms, const Amounts& parameters);

double dot(const Amounts& a, const Amounts& b);

}  // namespace dlscale::model
