#pragma once
#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// What a stage's time is made of: amounts that a model multiplies by its parameters, all ≥ 0.
enum class Term : std::size_t {
  start,             ///< 1: what a run costs before it does anything
  read,              ///< bytes of tensors that are read, all from memory
  written,           ///< bytes of the tensor that is written, to memory
  workspace,         ///< bytes of memory beside them, which starts there, too
  spilled,           ///< bytes of it met again, where the last-level cache has lost them
  multiply,          ///< operations of matrix products
  product_result,    ///< elements of results, m n: loaded and stored once a panel of k
  product_left,      ///< elements of left operands, m k: packed and read
  product_right,     ///< elements of right operands, k n
  product_call,      ///< products
  product_memory,    ///< bytes of products whose operands leave the near caches
  transform_flops,   ///< operations of transforms, by whole vectors
  transform_runs,    ///< rows of tiles, filters or batches of planes that they begin
  transform_bytes,   ///< bytes they read and write
  transform_memory,  ///< the same where they leave the near caches
  copy_bytes,
  copy_memory,
  copy_runs,        ///< rows that copies begin
  copy_gathered,    ///< elements copied one by one
  direct_flops,     ///< operations of a direct convolution, channels padded to vectors
  direct_result,    ///< results, as often as they are loaded and stored
  direct_call,      ///< rows of outputs of a vector of channels: calls of the inner kernel
  direct_memory,    ///< bytes of its tensors
  pointwise_flops,  ///< the same four of 1 × 1 filters, for which libraries have other kernels
  pointwise_result,
  pointwise_call,
  pointwise_memory,
  /// Bytes of the image without the pixels that a stride leaves out, which libraries copy apart,
  /// and of those set to zero on the way back.
  pointwise_strided,
};
inline constexpr std::size_t term_count = 28;
/// "multiply_s_per_flop": name and unit of the parameter of a term, as files have it.
std::string_view term_name(Term term);

using Amounts = std::array<double, term_count>;
using TermSet = std::bitset<term_count>;

/// The two sides of a roofline of one stage.
struct StageTerms {
  Amounts compute{};
  Amounts memory{};
};

/// t = θ · always + Σ over stages max(θ · compute, θ · memory)   [MODEL 4.6]
struct KernelTerms {
  Amounts always{};
  std::vector<StageTerms> stages;  ///< one each of AlgorithmWork::stages
};

/// What a core gets of the caches.
struct Caches {
  /// The size at which half of a working set's bytes count as leaving the near caches; of a working
  /// set W the share W / (W + near) does.
  Bytes near;
  /// Of the last level. Scratch that one stage leaves to another (Stage::scratch) is met again
  /// after the whole workspace W has been gone over: of its bytes the share W⁴ / (W⁴ + last⁴)
  /// counts as lost, from one tenth to nine tenths within a factor of three in W. So does the share
  /// of accesses that a pointer chase over W bytes makes to memory: of next to none at 13.5 MiB and
  /// nine tenths at 45 MiB on the machine of results/epyc-2vcpu/2026-11-22-conv (`levels` of
  /// latency.jsonl). [D: our own form] Wrong where the tensors that a block reads and writes take
  /// much of the cache.
  Bytes last;
};

KernelTerms terms_of(const KernelCase& what, const Caches& caches);

/// Those of which there is more than nothing.
TermSet occurring(const KernelTerms& terms);

/// With parameters θ ≥ 0, one a term.
Seconds time_of(const KernelTerms& terms, const Amounts& parameters);

double dot(const Amounts& a, const Amounts& b);

}  // namespace dlscale::model
