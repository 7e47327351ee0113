#include "model/parallel/time/iteration.hpp"

#include <algorithm>
#include <cmath>

#include "model/memory/memory_setup.hpp"
#include "model/memory/state_memory.hpp"
#include "model/parallel/time/layer_messages.hpp"

namespace dlscale::model::parallel_time {
namespace {

HostCalls alone_or_split(HostCalls calls, bool is_split) {
  if (!is_split) calls.collectives = 0;
  return calls;
}

/// Whether words are decoded by the table that encodes them, by the network or the framework.
bool has_tied_tables(const Setting& setting) {
  return setting.shape.tied_embeddings || setting.family->ties_tables;
}

}  // namespace

TableTime table_time(const Setting& setting, const PlanSizes& plan) {
  const LayerSizes sizes = layer_sizes(setting.shape, plan);
  const TimeConstants& constants = setting.constants;
  const double words = static_cast<double>(setting.shape.vocabulary) / plan.tensor;
  const bool is_split = plan.tensor > 1;
  const double message = table_message(setting, plan, sizes);
  double head =
      linear_time(setting.rates, setting.rates.whole, sizes.tokens, words, sizes.hidden).total() +
      setting.family->work(plan.compiled).loss_bytes * constants.loss * sizes.tokens * words /
          setting.rates.memory +
      message;
  if (is_split) {
    head += 3 * setting.collectives.all_reduce({plan.tensor, plan.strides().tensor},
                                               constants.loss_message * sizes.tokens);
  }
  const double embedding =
      constants.embedding_bytes * sizes.tokens * sizes.hidden / setting.rates.memory + message;
  const auto host = [&](const HostCalls& calls) {
    return host_time(constants, plan, alone_or_split(calls, is_split));
  };
  const double table = memory::table_parameters(setting.shape) / plan.tensor;
  const bool is_tied = plan.stages == 1 && has_tied_tables(setting);
  const auto sharded = [&](double seconds, double forward, double parameters) {
    const PassTime pass{forward * seconds, (1 - forward) * seconds};
    return sharded_pass(setting, plan, pass, {.dense = parameters}).total();
  };
  return {.embedding = sharded(
              slower_of(constants, embedding,
                        host({constants.embedding_launches, constants.embedding_collectives})),
              embedding_forward, table),
          .head = sharded(slower_of(constants, head,
                                    host({constants.head_launches, constants.head_collectives})),
                          head_forward, is_tied ? 0 : table)};
}

namespace {

double layers_of(const Setting& setting, const PlanSizes& plan, double stage) {
  if (plan.stage_layers.empty()) return static_cast<double>(setting.shape.layers) / plan.stages;
  return plan.stage_layers[static_cast<std::size_t>(stage)];
}

double stage_message(const Setting& setting, const PlanSizes& plan) {
  const Collectives& collectives = setting.collectives;
  const bool crosses = plan.strides().stages >= collectives.links().node_gpus;
  const LayerSizes sizes = layer_sizes(setting.shape, plan);
  return setting.constants.stage_message * (crosses ? setting.constants.crossed_message : 1) +
         sizes.tokens * sizes.hidden * setting.rates.element_bytes / plan.token_ranks() /
             (crosses ? collectives.across() : collectives.inside());
}

void time_pipeline(const Setting& setting, const PlanSizes& plan, IterationTime& time) {
  const double layer = time.layer.layer.total();
  double sum = 0;
  for (double stage = 0; stage < plan.stages; ++stage) {
    const double layers = layers_of(setting, plan, stage);
    const double own = layers * layer + (stage == 0 ? time.embedding : 0) +
                       (stage == plan.stages - 1 ? time.head : 0);
    sum += own;
    time.slowest_stage = std::max(time.slowest_stage, own);
    time.busiest_layers = std::max(time.busiest_layers, layers);
  }
  time.pipeline = plan.micro_batches * time.slowest_stage;
  if (plan.stages == 1) return;
  time.stage_message = stage_message(setting, plan);
  const double bubble = plan.both_directions ? 0.5 : plan.zero_bubble ? 1.0 / 3 : 1.0;
  const double crossings = plan.chunks > 1 ? plan.chunks / 2 : 0.5;
  time.stage_messages = 2 * (plan.micro_batches * crossings + plan.stages - 1) * time.stage_message;
  time.pipeline += (sum - time.slowest_stage) / plan.chunks * bubble + time.stage_messages;
}

/// Whether no stage has parameters that the first lacks.
bool is_first_largest(const memory::TransformerShape& shape, const PlanSizes& plan) {
  return plan.stage_layers.empty() && (!shape.experts || shape.experts->dense_layers == 0);
}

/// Calls visit(parameters) for the ranks that may have the most to update or to send. Stages with
/// no more of either kind than one before are left out.
template <class Visit>
void visit_stages(const Setting& setting, const PlanSizes& plan, const Visit& visit) {
  memory::TransformerShape shape = setting.shape;
  shape.tied_embeddings = has_tied_tables(setting);
  memory::MemorySetup setup;
  setup.tensor = static_cast<int>(plan.tensor);
  setup.experts = static_cast<int>(plan.experts);
  setup.stages = static_cast<int>(plan.stages);
  const int stages = is_first_largest(shape, plan) ? 1 : setup.stages;
  memory::RankParameters last{-1, -1};
  double first_layer = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const double layers = layers_of(setting, plan, stage);
    const memory::StageParameters own =
        memory::stage_parameters(shape, setup, stage, first_layer, layers);
    first_layer += layers;
    if (own.dense <= last.dense && own.experts <= last.experts) continue;
    last = {own.dense, own.experts};
    visit(last);
  }
}

double update_time(const Setting& setting, const PlanSizes& plan, double layers,
                   const memory::RankParameters& own) {
  const TimeConstants& constants = setting.constants;
  const bool is_unfused = setting.family->one_queue;
  const double updated = plan.zero >= 1 ? shard_parameters(plan, own) : own.total();
  double bytes = constants.update_bytes * (is_unfused ? constants.unfused_update : 1) * updated;
  if (is_unfused && plan.micro_batches > 1 && !plan.gathers_layers()) {
    bytes += plan.micro_batches * own.total() * constants.accumulation_bytes;
  }
  return bytes / setting.rates.memory + constants.tensor_update * constants.layer_tensors * layers +
         constants.step_fixed;
}

/// Sharded sums of gradients have no place for those of one micro-batch.
bool scatters_each_micro_batch(const PlanSizes& plan) {
  return plan.zero == 2 && !plan.sharded_weights && plan.micro_batches > 1 && plan.replicas() > 1;
}

double gradient_messages(const Setting& setting, const PlanSizes& plan,
                         const memory::RankParameters& own) {
  if (plan.gathers_layers()) return 0;
  const Collectives& send = setting.collectives;
  if (plan.sharded_weights) {
    return gather_time(send, plan, own) +
           scatter_time(send, plan, own, setting.constants.wide_gradient);
  }
  if (plan.zero == 0) return sum_time(send, plan, own, plan.gradient_bytes);
  const bool reduces = setting.family->one_queue && plan.zero == 1;
  return (reduces ? sum_time(send, plan, own, plan.gradient_bytes)
                  : scatter_time(send, plan, own, plan.gradient_bytes)) +
         gather_time(send, plan, own);
}

/// Seconds of messages that `room` seconds of computing do not hide, and what these slow it by.
double exposed(const Setting& setting, double sent, double room) {
  return std::max(0.0, sent - room) + setting.constants.interference / 2 * std::min(sent, room);
}

double exposed_gradients(const Setting& setting, const PlanSizes& plan, const IterationTime& time,
                         const memory::RankParameters& own) {
  const bool hides = plan.hides_gradients && !setting.family->one_queue;
  const PassTime& layer = time.layer.layer;
  const double backward = hides ? time.busiest_layers * layer.backward : 0;
  const double forward = hides && setting.family->gathers_under_forward(plan.compiled)
                             ? time.busiest_layers * layer.forward
                             : 0;
  const double last = exposed(setting, gradient_messages(setting, plan, own), backward + forward);
  if (!scatters_each_micro_batch(plan)) return last;
  const double scatter =
      exposed(setting, scatter_time(setting.collectives, plan, own, plan.gradient_bytes), backward);
  return (plan.micro_batches - 1) * scatter + std::max(last, scatter);
}

/// Seconds of copies of a stage that stays gathered, once a step.
double stage_copies(const Setting& setting, const PlanSizes& plan,
                    const memory::RankParameters& own) {
  if (!plan.keeps_stage()) return 0;
  return shard_copies(setting, own.total(), setting.constants.wide_gradient).total();
}

}  // namespace

IterationTime iteration_time(const Setting& setting, const PlanSizes& plan) {
  return iteration_time(setting, plan, layer_time(setting, plan), table_time(setting, plan));
}

IterationTime iteration_time(const Setting& setting, const PlanSizes& plan, const LayerTime& layer,
                             const TableTime& tables) {
  IterationTime time;
  time.layer = layer;
  time.embedding = tables.embedding;
  time.head = tables.head;
  time_pipeline(setting, plan, time);
  visit_stages(setting, plan, [&](const memory::RankParameters& own) {
    time.update = std::max(time.update, update_time(setting, plan, time.busiest_layers, own));
    time.exposed_gradients =
        std::max(time.exposed_gradients,
                 exposed_gradients(setting, plan, time, own) + stage_copies(setting, plan, own));
  });
  const double nodes =
      std::max(1.0, setting.collectives.links().gpus / setting.collectives.links().node_gpus);
  time.total = (time.pipeline + time.exposed_gradients + time.update) *
               (1 + setting.constants.stragglers * std::log2(nodes));
  return time;
}

}  // namespace dlscale::model::parallel_time
