#pragma once
#include <filesystem>
#include <map>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/fits/fitted_constant.hpp"
#include "model/memory/implementation.hpp"
#include "model/memory/memory_setup.hpp"

namespace dlscale::model::parallel_time {

/// Constants of the time of transformers (docs/explanation/beyond-data-parallelism.md). None names
/// a device, a network or a set of trainings. All are > 0, in SI units. The file has a source or a
/// prior for each.
struct TimeConstants {
  // Fitted to published trainings:
  double product = 1;             ///< e_g: share of the tensor peak in the inner loop of a product
  double tile_start = 1;          ///< k0: begin and end of a tile, in elements of the depth
  double ridge = 1;               ///< γ: fall of e_g with peak over bandwidth
  double memory = 1;              ///< e_m: share of the memory bandwidth
  double elementwise = 1;         ///< traffic of element-wise work over its count
  double attention_triton = 1;    ///< share of the peak of the first fused attention
  double attention_flash2 = 1;    ///< of the second one, on Ampere
  double attention_fall = 1;      ///< fall of both with flop a clock
  double attention_native = 1;    ///< of attention written for its device
  double gap = 1;                 ///< seconds between two kernels
  double launch = 1;              ///< seconds of the host for a launch
  double host_collective = 1;     ///< seconds of the host for a collective within a layer
  double node_start = 1;          ///< seconds to begin a collective in a node of 8
  double network_start = 1;       ///< seconds of a ring step between nodes
  double slow_network_start = 1;  ///< the same on networks whose messages begin slowly
  double node_share = 1;          ///< share of the nominal bandwidth in a node
  double network_share = 1;       ///< share of the nominal bandwidth of the network
  double step_fixed = 1;          ///< seconds of an iteration, once
  double tensor_update = 1;       ///< seconds of the update, a tensor
  double stage_message = 1;       ///< seconds of a message between stages, exposed
  double interference = 1;        ///< lost part of the smaller of hidden messages and computing
  double mixed_queue = 1;         ///< seconds of a ring step behind messages of stages
  double stragglers = 1;          ///< growth of the iteration a doubling of nodes
  double loss = 1;                ///< traffic of the loss over its count
  double update_bytes = 1;        ///< bytes that the update moves, a parameter
  double shard_copies = 1;        ///< traffic of sharded weights and gradients over the count

  // Fixed:
  double tile_start_power = 1;  ///< of k0 with flop a clock
  double host_power = 1;        ///< sharpness of the greater of host and device
  double ring_steps = 1;        ///< most steps of a ring
  double hidden_engine = 1;     ///< hidden part of tensor messages in engines
  double hidden_async = 1;      ///< the same with asynchronous tensor parallelism
  double hidden_experts = 1;    ///< hidden part of messages to experts in engines
  double hidden_dual = 1;       ///< the same with two directions of a pipeline
  double imbalance = 1;         ///< tokens of the busiest expert over the mean
  double power = 1;             ///< of the share of the power that is left
  double joules = 1;            ///< pJ a 16-bit flop at 4 nm
  double process = 1;           ///< power of the process over 4 nm, for the same
  double eight_bits = 1;        ///< share of the 8-bit peak over that of 16 bits
  double four_bits = 1;         ///< share of the 4-bit peak over that of 16 bits
  double four_bit_rate = 1;     ///< 4-bit peak over the 8-bit one, on devices that have it
  double other_makers = 1;      ///< share of the peak without CUDA over that with it
  double greatest_share = 1;    ///< of the peak that products reach in the inner loop
  double narrow_flash2 = 1;     ///< features that a narrow head loses in the second fused attention
  double narrow_native = 1;     ///< the same in attention written for its device
  double casts = 1;             ///< bytes an element that is cast to fewer bits
  double fused_casts = 1;       ///< the same in one kernel
  double compiled_host = 1;     ///< host time of a compiled step over an eager one
  double unseen_family = 1;     ///< speed of kernels and host in families that no training decided
  double embedding_bytes = 1;   ///< bytes of an embedding, a feature of a token
  double loss_message = 1;      ///< bytes a token in each of three all-reduces of the loss
  double layer_tensors = 1;     ///< tensors of parameters in a layer
  double accumulation_bytes = 1;  ///< bytes a parameter and micro-batch, where sums are apart
  double unfused_update = 1;      ///< traffic of an update that is not fused over one that is
  double wide_gradient = 1;       ///< bytes of a gradient that is summed once a step
  double gather_copies = 1;       ///< bytes a sharded weight that a gather copies
  double gradient_copies = 1;     ///< times the bytes of a sharded gradient, beside casts
  double crossed_message = 1;     ///< start of a message of stages across nodes over one in a node
  double head_launches = 1;       ///< launches of the head and the loss
  double head_collectives = 1;    ///< collectives of the head and the loss that the host calls
  double embedding_launches = 1;  ///< launches of the embedding
  double embedding_collectives = 1;  ///< collectives of the embedding that the host calls
  double backward_launches = 1;      ///< launches and gaps of backward over those of forward
  double other_launches = 1;         ///< part of backward's that makes no gradients of weights
  double async_launches = 1;         ///< launches of pieces of tensor-parallel products, a layer
  double cast_launches = 1;          ///< launches of casts to fewer bits, a layer
  double expert_launches = 1;        ///< launches to route and order tokens, a layer
  double ring_interference = 1;      ///< lost part of what rings of contexts hide under attention
  double ring_step = 1;              ///< seconds to begin a step of such a ring
  double probe_left = 1;             ///< least part of a probe's time after its start
};

/// Terms of the standard deviation of ln(measured / predicted), and the quantiles.
struct IntervalConstants {
  double always = 0;          ///< always
  double host = 0;            ///< times the host's share
  double messages = 0;        ///< times the share of messages
  double pipeline = 0;        ///< times the share of bubbles and messages of stages
  double new_card = 0;        ///< devices after Hopper
  double other_maker = 0;     ///< devices without CUDA
  double eight_bits = 0;      ///< products in 8 bits
  double four_bits = 0;       ///< products in 4 bits
  double experts = 0;         ///< experts
  double experts_across = 0;  ///< experts on several nodes
  double latent = 0;          ///< latent attention
  double context = 0;         ///< sequences cut by tokens
  double new_family = 0;      ///< a family that no training decided
  double large = 0;           ///< more than 16,384 features or 1,024 GPUs
  double no_family = 0;       ///< a framework that no family names
  double low = 0;             ///< < 0
  double high = 0;            ///< > 0
};

/// Waits for memory (model/parallel/answer/allocator.hpp). Needs are shares of what a device leaves
/// beside libraries.
struct WaitingConstants {
  double nearly_full = 1;  ///< low end of the need from which an allocator may slow the training
  double slow = 1;         ///< ≥ 1: factor on the slow end of the time then
  double full = 1;         ///< need from which one that frees blocks waits for memory
  double likely = 1;       ///< ≥ 1: factor on the time then
  double most = 1;         ///< ≥ likely: factor on its slow end then
};

/// Points of a user, as other plans and numbers of GPUs follow them (model/parallel/uncertain).
struct MeasuredConstants {
  double noise = 1;             ///< of the model at another plan, in logarithms
  double micro_batch = 1;       ///< more of it, squares added, a doubling of its micro-batch
  double greatest_move = 1;     ///< of a constant, in spreads
  double host_and_links = 1;    ///< part of its spread that a constant of host or links moves by
  double kernels = 1;           ///< the same of products, attention and loss
  double elementwise = 1;       ///< the same of element-wise work
  double correlation = 1;       ///< of the errors of two plans alike in all that follows
  double left_gpus = 1;         ///< of that correlation after each doubling of GPUs
  double left_micro_batch = 1;  ///< the same of the micro-batch
  double left_cuts = 1;         ///< the same of the ranks that share a layer
  double left_stages = 1;       ///< the same of stages
  double widest = 1;            ///< most that points widen an interval by
  double repetition = 1;        ///< 90 % of repeated iterations differ by less
};

/// Chances of what a run computes again, if it does not say it. Each counts by the chance that the
/// run fits so, and by `unstated` more.
struct RecomputeChances {
  double none = 1;
  double selective = 1;
  double full = 1;
  double unstated = 0;  ///< that a run which does not fit leaves out how it did
};

/// Kernels of attention: `in_memory` writes scores to memory, all others are fused.
enum class AttentionKernel { in_memory, triton, flash2, native };

/// How messages of tensors run under products.
enum class TensorOverlap {
  none,
  pieces,    ///< the host launches pieces of products (nanotron)
  compiled,  ///< one call of a compiled step launches all pieces (torchtitan, XLA)
  buffers,   ///< through user buffers (Megatron's --tp-comm-overlap)
};

/// When a family compiles its steps.
enum class Compiling { never, on_request, always };

/// A count forward and backward.
struct Passes {
  double forward = 0;
  double backward = 0;
};

/// Work that a step does beside products and the core of attention.
struct StepWork {
  Passes norms = {};   ///< elements read or written by norms and residuals, a feature of a token
  Passes copies = {};  ///< by copies in attention
  Passes activation = {};  ///< by the activation, an inner feature
  double launches = 0;     ///< of a layer forward
  double loss_bytes = 0;   ///< bytes read or written a logit
};

/// Habits of a family of frameworks.
struct Family {
  std::string name;
  std::regex words;    ///< that a framework's name has, whatever the case of its letters
  std::string memory;  ///< name of its memory::Implementation
  std::string runs;    ///< the framework whose plans it runs, as `plan` knows them; empty: unknown
  StepWork own_work = {};               ///< as it is published
  StepWork compiled_work = {};          ///< where it compiles on request
  memory::StateBytes state_bytes = {};  ///< where a run does not say them
  AttentionKernel attention = AttentionKernel::native;
  Compiling compiling = Compiling::never;
  bool overlaps = false;  ///< hides messages of tensors and experts unless a plan says else
  TensorOverlap tensor_overlap = TensorOverlap::none;
  bool one_queue = false;       ///< messages and kernels are ordered; the update is not fused
  bool ties_tables = false;     ///< words are decoded by the table that encodes them
  bool frees_blocks = false;    ///< a full allocator gives blocks back and asks for them again
  bool copies_weights = false;  ///< keeps copies of weights in 8 or 4 bits beside those in 16
  double offloaded = 0;         ///< 0 … 1: part of kept activations in the host's memory, where a
                                ///< run that does not say it may be short of memory
  bool fitted = true;           ///< trainings decided it
  std::string newer = {};       ///< family on Hopper and after, or in few bits; empty: this one
  /// The work of a step, which `compiled` says to be compiled or not.
  [[nodiscard]] const StepWork& work(bool compiled) const {
    return compiled && compiling == Compiling::on_request ? compiled_work : own_work;
  }
  [[nodiscard]] bool fuses_casts(bool compiled) const { return overlaps || compiled; }
  [[nodiscard]] bool gathers_under_forward(bool compiled) const { return overlaps || compiled; }
};

/// The constants that a family reaches: one that no training decided is slower in all that it
/// computes, by `unseen_family`.
TimeConstants reached_by(const Family& family, TimeConstants constants);

/// A constant and its key in the file.
template <class Constants>
struct ConstantKey {
  std::string_view key;
  double Constants::*value;
};
using TimeConstantKey = ConstantKey<TimeConstants>;
/// Fitted constants, in the order of the file.
std::span<const TimeConstantKey> fitted_time_constants();

/// The facts of a run that decide its family.
struct FamilyQuestion {
  std::string framework;  ///< free text
  bool is_newer = false;  ///< on Hopper and after, without CUDA, or in few bits
};

/// The file configs/models/parallel.yaml.
struct ParallelTimeFile {
  TimeConstants constants = {};
  std::map<std::string, FittedConstant, std::less<>> fitted = {};
  /// Constants of fits that have not seen a set, for trainings of that set.
  std::map<std::string, TimeConstants, std::less<>> without = {};
  IntervalConstants interval = {};
  WaitingConstants waiting = {};
  MeasuredConstants measured = {};
  RecomputeChances recompute = {};
  std::vector<Family> families = {};
  std::string other = {};  ///< family of frameworks that none names
  int trainings = 0;       ///< that constants were fitted to

  /// Constants of the fit without the set, if one was made, else those of the fit to all.
  [[nodiscard]] const TimeConstants& constants_for(std::string_view set) const;
  /// The first family whose words the framework has, as `newer` changes it. nullptr if no words
  /// match; `other` is meant then.
  [[nodiscard]] const Family* named_family(const FamilyQuestion& question) const;
  /// The first family whose words the framework has, whatever it runs on: its `memory` and `runs`
  /// count. nullptr if no words match.
  [[nodiscard]] const Family* family_of_words(std::string_view framework) const;
  /// How a framework keeps memory: as the family of its words does, else as the other family.
  [[nodiscard]] memory::Implementation implementation_of(std::string_view framework) const;
  /// Throws ConfigError if there is none of that name.
  [[nodiscard]] const Family& family(std::string_view name) const;
};

/// Reads such a file, of which all keys count. Throws ConfigError, which names file, place and what
/// to write.
ParallelTimeFile load_parallel_times(const std::filesystem::path& path);

/// configs/models/parallel.yaml, which is read once. Throws ConfigError.
const ParallelTimeFile& parallel_times();

}  // namespace dlscale::model::parallel_time
