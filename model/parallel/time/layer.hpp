#pragma once
#include "model/memory/state_memory.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/time/collectives.hpp"
#include "model/parallel/time/host.hpp"
#include "model/parallel/time/plan_sizes.hpp"
#include "model/parallel/time/products.hpp"

namespace dlscale::model::parallel_time {

/// All that times one network on one cluster by one family of frameworks. It is made once; its
/// functions then allocate nothing.
struct Setting {
  TimeConstants constants = {};
  const Family* family = nullptr;  ///< not null; its words are not read
  AttentionKernel attention = AttentionKernel::native;
  DeviceRates rates = {};
  Collectives collectives;
  memory::TransformerShape shape = {};
  /// Measured over predicted seconds of an iteration, where points of the user say it; a factor of
  /// predict_plan() and of time lines alone.
  double measured_factor = 1;
};

/// Seconds of the parts of a layer for one micro-batch, in order of the answer.
struct LayerTime {
  PassTime qkv = {};
  PassTime projection = {};
  PassTime feed_forward = {};
  PassTime attention = {};
  PassTime elementwise = {};
  PassTime host = {};      ///< with what is computed again
  PassTime messages = {};  ///< exposed ones of tensors, contexts and experts, computed again too
  PassTime device = {};    ///< kernels and gaps between them, with what is computed again
  PassTime layer = {};     ///< as it is exposed, with gathers of weights where these run under it
  double gather = 0;       ///< of a layer's weights: gather_time()
  double scatter = 0;      ///< of its gradients: scatter_time()
  memory::RankParameters parameters = {};  ///< of a layer on a rank, the mean over layers
};

/// A layer forward F and backward B:
///   D = products + attention + element-wise + gaps;   F = slower(D_f + messages, host)
///   messages   sequence parallel: 4 gathers forward, 5 (6 in pieces) backward; else 2 all-reduces
///              each; less the hidden part of the smaller of them and the products
///   experts    2 all-to-all a pass; context: what a ring of keys and values exceeds attention by
///   full       backward computes forward again; block: recompute_share of it
///   selective  the core of attention, or, with sharded weights, every second product and all
///              element-wise work
///   FSDP       sharded_pass()
/// [derived]
LayerTime layer_time(const Setting& setting, const PlanSizes& plan);

/// The same without gathers of weights and scatters of gradients, which plans have in common that
/// differ only in the ranks that share weights.
LayerTime layer_without_gathers(const Setting& setting, const PlanSizes& plan);

/// Seconds in which a device copies `parameters` that it holds a shard of, by the memory's rate:
///   forward    c_w bytes a weight
///   backward   c_w and, of a gradient of g bytes, c_g g, and 2 + g for a cast to more than 2
/// c_w = gather_copies: received, sent on and read as shards; c_g = gradient_copies: scaled and
/// scattered, each read and written. [derived; results/published/parallel/OTHER_SOURCES.md]
PassTime shard_copies(const Setting& setting, double parameters, double gradient_bytes);

/// A pass of parameters that are sharded over ranks: max(F, G) + interference / 2 · min(F, G)
/// min(1, G / F), with the gather G of weights, and F with shard_copies(); backward, with the
/// scatter of gradients too. The pass itself unless each micro-batch gathers. [derived]
PassTime sharded_pass(const Setting& setting, const PlanSizes& plan, const PassTime& pass,
                      const memory::RankParameters& parameters);

/// layer_time() from layer_without_gathers() of such a plan.
LayerTime with_gathers(const Setting& setting, const PlanSizes& plan, LayerTime time);

}  // namespace dlscale::model::parallel_time
