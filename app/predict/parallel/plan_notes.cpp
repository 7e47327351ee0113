#include "app/predict/parallel/plan_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/parallel/plan_text.hpp"
#include "core/text/numbers.hpp"
#include "model/parallel/search/framework_ways.hpp"

namespace dlscale::app {
namespace {

using model::parallel_time::AnsweredPlan;
using model::parallel_time::Precision;

/// A sentence on a framework whose habits no training decided, and on those of the usual one.
void note_family(ParallelCall& call) {
  const AnsweredPlan& first = call.rows.front();
  const model::parallel_time::Family& family = *first.setting.family;
  if (call.file->family_of_words(call.question.framework) == nullptr) {
    call.notes.push_back(
        fmt::format("No family names the framework {}: kernels and copies are those of the family "
                    "{}, and the interval is wide.",
                    call.question.framework, family.name));
  }
  if (call.question.framework == usual_framework &&
      first.setting.attention == model::parallel_time::AttentionKernel::in_memory) {
    call.notes.emplace_back(
        "Before Hopper, megatron is its software of 2021, with attention scores in memory; "
        "--framework megatron-core names today's.");
  }
}

/// A sentence on messages that a family hides without a word of the plan.
void note_overlap(ParallelCall& call) {
  const bool is_taken = std::ranges::any_of(call.rows, [](const AnsweredPlan& row) {
    return !row.asked.tensor_overlap && overlaps_tensor(*row.setting.family, row.asked);
  });
  if (!is_taken) return;
  call.notes.push_back(
      fmt::format("Messages of tensors run under products (--tp-comm-overlap), as recipes of {} "
                  "have it: tensor_overlap=false leaves that out.",
                  call.question.framework));
}

/// A sentence on steps that a family compiles on request alone.
void note_compile(ParallelCall& call) {
  const AnsweredPlan& first = call.rows.front();
  if (first.setting.family->compiling != model::parallel_time::Compiling::on_request ||
      first.asked.compile) {
    return;
  }
  call.notes.push_back(fmt::format("Steps of {} are not compiled unless a plan says compile=true.",
                                   call.question.framework));
}

/// A sentence on messages to experts that a family hides where its option can.
void note_experts(ParallelCall& call) {
  const bool is_taken = std::ranges::any_of(call.rows, [](const AnsweredPlan& row) {
    const parallel::ParallelPlan& plan = row.asked;
    return plan.experts > 1 && row.setting.family->overlaps &&
           parallel::may_hide_expert_messages(plan.recompute, plan.stages, plan.chunks);
  });
  if (!is_taken) return;
  call.notes.emplace_back(
      "Messages to experts run under other micro-batches (--overlap-moe-expert-parallel-comm).");
}

/// A sentence on the first plan that the framework does not run as it is published.
void note_ways(ParallelCall& call) {
  const auto* const ways = model::parallel_search::ways_of(call.question.framework);
  if (ways == nullptr) return;
  for (const AnsweredPlan& row : call.rows) {
    if (ways->runs(row.asked)) continue;
    const std::string plan = call.rows.size() > 1 ? parallel::to_text(row.asked) : "this plan";
    call.notes.push_back(
        fmt::format("{} as published does not run {}, which is timed as if it did. {}", ways->title,
                    plan, ways->left_out));
    return;
  }
}

/// A sentence on plans whose allocator waits for memory.
void note_waits(ParallelCall& call) {
  const auto waits = [](const AnsweredPlan& row) { return row.answer.waits.likely > 1; };
  const auto found = std::ranges::find_if(call.rows, waits);
  if (found == call.rows.end()) return;
  const auto& [least, likely, most] = found->answer.waits;
  call.notes.push_back(fmt::format(
      "Where memory is full, the allocator of {} gives blocks back in each micro-batch and waits "
      "for others: a step then takes {:g} times as long, and from {:g} to {:g} times.",
      call.question.framework, likely, least, most));
}

/// A sentence on a peak in 4 bits that the device file does not state.
void note_four_bits(ParallelCall& call) {
  const DeviceSheet& sheet = call.rows.front().hardware.device;
  if (call.question.precision != Precision::four_bits || sheet.peak.contains(SheetFormat::f4)) {
    return;
  }
  call.notes.push_back(fmt::format(
      "The device file {} has no peak in 4 bits (f4): {:g} times that in 8 bits is taken.",
      sheet.id, call.file->constants.four_bit_rate));
}

/// Bytes a weight of layers that copies in the bits of products add; 0 without copies.
double copy_bytes(const ParallelCall& call, const AnsweredPlan& row) {
  const bool has_copies =
      row.answer.memory.worst(model::memory::MemoryCounter::device).weight_copies > 0;
  return has_copies ? memory_setup_of(call.question, row.setting, row.asked).operand_weights : 0;
}

/// A sentence on each source of the data sheet whose figures were not compared with their text.
void note_sheet(ParallelCall& call) {
  const DeviceSheet& sheet = call.rows.front().hardware.device;
  for (const DataSource& source : sheet.sources) {
    if (source.checked) continue;
    call.notes.push_back(fmt::format("Not checked, of {}: {} ({}).", sheet.name,
                                     fmt::join(source.of, ", "), source.title));
  }
}

}  // namespace

model::parallel_time::RunsPlan runs_of(const ParallelCall& call) {
  const auto* const ways = model::parallel_search::ways_of(call.question.framework);
  if (ways == nullptr) return {};
  return ways->runs;
}

void note_limits(ParallelCall& call) {
  note_family(call);
  note_ways(call);
  note_overlap(call);
  note_compile(call);
  note_experts(call);
  if (call.question.precision == Precision::f32 &&
      call.rows.front().hardware.device.peak.contains(SheetFormat::tf32)) {
    call.notes.emplace_back("f32 is computed without tf32; --dtype tf32 takes its units.");
  }
  note_four_bits(call);
  note_waits(call);
}

void note_few_bits(ParallelCall& call) {
  if (model::parallel_time::few_bit_bytes(call.question.precision) == 0) return;
  const int bits = call.question.precision == Precision::four_bits ? 4 : 8;
  if (!call.rows.front().answer.memory.way.keeps_operands) {
    call.notes.push_back(
        fmt::format("Inputs of products are counted in 16 bits, as torchao keeps them: it casts "
                    "them to {} again in backward.",
                    bits));
  }
  for (const AnsweredPlan& row : call.rows) {
    if (copy_bytes(call, row) == 0) continue;
    const auto& fullest = row.answer.memory.worst(model::memory::MemoryCounter::device);
    call.notes.push_back(fmt::format(
        "Weights of layers are kept in {} bits, too, by rows and by columns, as Megatron-Core does "
        "without --fp{}-param-gather: {} GB of the fullest stage{}.",
        bits, bits, significant(fullest.weight_copies / 1e9, 3),
        call.rows.size() > 1 ? " of " + parallel::to_text(row.asked) : ""));
    return;
  }
}

void note_more_nodes(const Cluster& cluster, ParallelCall& call) {
  double most = 0;
  for (const AnsweredPlan& row : call.rows) {
    most = std::max(most, std::ceil(row.hardware.links.gpus / row.hardware.links.node_gpus));
  }
  if (most <= cluster.nodes) return;
  call.notes.push_back(
      fmt::format("{:.0f} nodes like the {} of {}", most, cluster.nodes, cluster.name));
}

void note_details(ParallelCall& call) {
  const AnsweredPlan& first = call.rows.front();
  const parallel::KeptBytes bytes = parallel::kept_bytes(first.answer.plan.bytes);
  const double moments = parallel::moment_bytes(first.answer.plan);
  const double together = bytes.total() + moments;
  const double copies = copy_bytes(call, first);
  call.notes.push_back(fmt::format(
      "Bytes of a parameter: weights {}{}, gradients {}, sums of gradients {}, the optimiser's "
      "copy {}, its numbers {}; together {}{}.",
      bytes.weights, copies > 0 ? fmt::format(" (in layers {} more, in few bits)", copies) : "",
      bytes.gradients, bytes.main_gradients, bytes.master, moments, together,
      copies > 0 ? fmt::format(" ({} in layers)", together + copies) : ""));
  std::vector<std::string_view> axes;
  std::ranges::transform(first.asked.order, std::back_inserter(axes), parallel::axis_name);
  call.notes.push_back(fmt::format(
      "Ranks fill nodes of {} GPUs by {}, nearest first; gradients are sent in {} bytes a number.",
      first.hardware.links.node_gpus, fmt::join(axes, ", "), first.answer.sizes.gradient_bytes));
  call.notes.push_back(fmt::format("GB are 10⁹ bytes: a process can allocate {:.1f} GB of {}.",
                                   first.hardware.memory / 1e9, first.hardware.device.name));
  note_sheet(call);
}

}  // namespace dlscale::app
