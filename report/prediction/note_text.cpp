#include "report/prediction/note_text.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::report {
namespace {

using model::NoteKind;
using model::NoteValue;
using model::NoteValues;

/// The words of a kind: formats of its values and of its examples.
struct NoteWords {
  NoteKind kind;
  std::string_view name;  ///< of the kind, for programs
  std::string_view sentence;
  std::string_view example = "{}";
  /// If given, the last value is 0 or 1 and stands for one of these.
  std::array<std::string_view, 2> choice = {};
};

constexpr std::array<std::string_view, 2> of_cores{"not counted", "only shared cores are counted"};

#define NOTE_WORDS(kind, ...)          \
  NoteWords {                          \
    NoteKind::kind, #kind, __VA_ARGS__ \
  }
constexpr std::array all_note_words{
    NOTE_WORDS(remark, "{}"),
    NOTE_WORDS(data_sheets,
               "from data sheets alone: the work that layers declare at full peak and memory "
               "bandwidth, batches copied at line rate. An estimate and no bound: most trainings "
               "take longer, and a library may need less work than is declared"),
    NOTE_WORDS(
        computing_interval,
        "90 % interval of computing: {:g} to {:g} times that, from {} published throughputs of "
        "one GPU (median {:g})"),
    NOTE_WORDS(other_evidence,
               "the interval of computing rests on trainings of another kind, and may be too "
               "narrow: {}"),
    NOTE_WORDS(
        sheet_kernels,
        "from data sheets alone: kernels at the speed that published trainings reach on such "
        "devices, with a 90 % interval of {:.2f} to {:.2f} times; batches copied at line rate"),
    NOTE_WORDS(
        beyond_fitted,
        "the published trainings are of another kind, so the interval of computing is wider: "
        "{}"),
    NOTE_WORDS(software_unknown,
               "what the software does with {} in {} is not stated: kernels are taken as those of "
               "eager PyTorch, and the interval reaches to fused kernels and channels-last images"),
    NOTE_WORDS(software_in_part,
               "what the software does with {} in {} is stated in part: times are the mean of what "
               "it may do, and the interval reaches to both sides"),
    NOTE_WORDS(
        scaling_outside,
        "the interval of several GPUs is wider, because no training like it was fitted to: {}"),
    NOTE_WORDS(network_kind_unknown,
               "cluster {} does not say whether TCP or RDMA carries messages between nodes "
               "(network.kind): their interval is that of the slower of both"),
    NOTE_WORDS(device_links_unknown,
               "cluster {} does not say whether PCI Express or NVLinks join devices (node): the "
               "interval of messages within a node is that of the slower of both"),
    NOTE_WORDS(no_peak, "{} states no peak in {}: {} in memory, computed at the peak of {}"),
    NOTE_WORDS(fused_not_measured,
               "fused kernels not measured: taken as the layer's own, and of backward with that of "
               "its ReLU, so that only the ReLU's forward pass is saved"),
    NOTE_WORDS(host_time_not_measured,
               "host time of kernels not measured: taken as the median of those measured"),
    NOTE_WORDS(kernels_beside_other_ranks,
               "kernels beside {} ranks on a node were not measured: taken from those beside {}"),
    NOTE_WORDS(kernels_interpolated, "kernels at batch {} interpolated between measured batches"),
    NOTE_WORDS(kernels_extrapolated,
               "kernels at batch {} extrapolated by their work from batch {}"),
    NOTE_WORDS(kernels_by_efficiency,
               "kernels never measured: taken at the median efficiency of {}"),
    NOTE_WORDS(affine_not_measured, "{} {} was not measured: taken from {}"),
    NOTE_WORDS(outside_measured_sizes,
               "{} of a size outside those measured: the nearest segment was extended"),
    NOTE_WORDS(kernel_launches,
               "kernel launches: the host takes {} to give the forward and backward work that the "
               "device does in {}, which makes the iteration {} longer"),
    NOTE_WORDS(graph_launch,
               "a graph takes the host {}, and {} for each kernel that it holds, to give, and the "
               "device {} to begin; each step counts as one kernel"),
    NOTE_WORDS(graph_replay_free, "the host's time to replay a graph is taken as nothing"),
    NOTE_WORDS(
        graph_launch_unknown,
        "graphs are predicted as eager launches, since the host's time to launch kernels was "
        "not measured"),
    NOTE_WORDS(memory_short,
               "batch {} needs about {} of the {} of each rank, workspace not counted: the largest "
               "batch that fits is about {}"),
    NOTE_WORDS(memory_too_small,
               "batch {} needs about {} of the {} of each rank, workspace not counted: no batch "
               "fits"),
    NOTE_WORDS(cores_shared, "{} ranks on a node want {} cores each of {}: each gets {:g}"),
    NOTE_WORDS(
        decoding_stated,
        "decoding takes {} a picture and core, within 0.3 to 1 times host.decode of cluster "
        "{}, which others measured, maybe on another processor (see its source); loaders that "
        "decode in batches or on the GPU are quicker"),
    NOTE_WORDS(decoding_unknown,
               "cluster {} gives no host.decode: decoding is taken to cost nothing, in the "
               "interval, too"),
    NOTE_WORDS(loading_beside_other_ranks,
               "loading beside {} ranks was not measured: taken from {} ranks"),
    NOTE_WORDS(augmenting_scaled,
               "pictures of {} × {} were not loaded: augmenting scaled by pixels from {} × {}"),
    NOTE_WORDS(device_normalization,
               "pictures normalised on the device: their copy is taken from batches of f32 of the "
               "same size, augmenting from pictures normalised on the host, and the device's part "
               "as nothing"),
    NOTE_WORDS(contention_other_waiting,
               "contention of {} with {} of so many ranks meeting by sleep was not measured: taken "
               "from {} with {} on {} ranks meeting by {}"),
    NOTE_WORDS(contention_factors,
               "computing and messages slow each other down, by factors measured beside {}: {}"),
    NOTE_WORDS(contention_factors_below,
               "computing and messages slow each other down, by factors measured beside {} below "
               "{}: {}"),
    NOTE_WORDS(contention_factors_from,
               "computing and messages slow each other down, by factors measured beside {} from {} "
               "on: {}"),
    NOTE_WORDS(contention_of_calls_unknown,
               "what computing and messages cost each other was not measured of calls to servers: "
               "{}",
               "{}", of_cores),
    NOTE_WORDS(contention_not_measured,
               "what computing and messages cost each other was not measured: {}", "{}", of_cores),
    NOTE_WORDS(contention_measured_elsewhere,
               "what computing and messages cost each other was measured on other ranks, links, "
               "threads or cores alone: {}",
               "{}", of_cores),
    NOTE_WORDS(
        stragglers,
        "stragglers: computing varies by {:g} % (log-normal, as stated) from rank to rank and from "
        "iteration to iteration; what waiting for the slowest adds, by the graph of all "
        "ranks, is part of comm",
        "{} on {} ranks, by order statistics of all computing at once {}"),
    NOTE_WORDS(all_reduce_override_measured,
               "all-reduce by {}, as asked: {} from messages that it carried out"),
    NOTE_WORDS(all_reduce_override,
               "all-reduce by {}, as asked and not measured: by its messages over {}; {}", "{}{}",
               {"adding taken as nothing", "with what adding takes"}),
    NOTE_WORDS(all_reduce_other_waiting,
               "all-reduce was not measured with waiting by {}, as {} ranks wait: taken from {}"),
    NOTE_WORDS(all_reduce_left_out,
               "all-reduces measured across nodes were left out, for the link between nodes is "
               "another by what was stated: {:.4g} GB/s, {:.4g} us"),
    NOTE_WORDS(all_reduce_outside_sizes,
               "messages outside the sizes measured: the nearest segment was extended"),
    NOTE_WORDS(all_reduce_measured, "all-reduce as measured with waiting by {}"),
    NOTE_WORDS(all_reduce_closed_form,
               "all-reduce {} by the closed form of {}, fitted to {} ranks"),
    NOTE_WORDS(all_reduce_no_growth,
               "all-reduce {}: taken not to change with the number of ranks, fitted to {}"),
    NOTE_WORDS(
        all_reduce_guess,
        "all-reduce on more ranks is a guess here: by {}, fitted to fewer ranks, those on {} "
        "were off by {:.0f} % at the median"),
    NOTE_WORDS(all_reduce_by_pair,
               "all-reduce was not measured: by the closed form of {} from messages between two "
               "ranks, {}",
               "{}", {"adding taken as nothing", "and what adding takes"}),
    NOTE_WORDS(all_reduce_extrapolated,
               "all-reduce extrapolated from {} ranks by the {} algorithm{}", "{}",
               {"", " and the nominal link between nodes"}),
    NOTE_WORDS(messages_by_sheets,
               "messages, waiting for the slowest rank, copies of gradients and what messages "
               "cost computing: as in published trainings on several GPUs over such links",
               "on {} GPUs an all-reduce starts in {} and passes {}"),
    NOTE_WORDS(all_reduce_nominal, "all-reduce from nominal links: {}"),
    NOTE_WORDS(all_reduce_nominal_fastest,
               "all-reduce from nominal links, as nothing says which one the library takes: the "
               "quickest for each message of rings and trees, here {}"),
    NOTE_WORDS(collective_other_waiting,
               "{} was not measured with waiting by {}, as {} ranks wait: taken from {}"),
    NOTE_WORDS(collective_left_out,
               "{} measured across nodes was left out, for the link between nodes is another by "
               "what was stated: {:.4g} GB/s, {:.4g} us"),
    NOTE_WORDS(collective_outside_sizes,
               "{} of sizes outside those measured: the nearest segment was extended"),
    NOTE_WORDS(collective_half,
               "{0} was not measured on so many ranks{1}: taken as half of an all-reduce", "{}",
               {"", " over the link that was stated"}),
    NOTE_WORDS(collective_fastest,
               "{0} was not measured on so many ranks{2}: the quickest of {1} over the link that a "
               "ring of all-reduce would have",
               "{}", {"", " over the link that was stated"}),
    NOTE_WORDS(nccl_cost_model, "{} by NCCL's own cost model, not measured: {}"),
    NOTE_WORDS(links_described,
               "links by what the cluster says of its nodes and network (data sheets)"),
    NOTE_WORDS(no_link_between_nodes,
               "cluster {} gives no link between nodes: taken to be as fast as within one"),
    NOTE_WORDS(more_nodes, "more nodes like the {} that cluster {} has", "{} nodes"),
    NOTE_WORDS(measured_points, "{}"),
    NOTE_WORDS(barrier_by_all_reduce,
               "ranks meet before messages: as long as an all-reduce of 4 B of ranks that spin"),
    NOTE_WORDS(barrier_by_pair,
               "ranks meet before messages: lg of their number messages of 4 B, one after another"),
    NOTE_WORDS(barrier_unknown,
               "ranks meet before messages, which is taken as nothing: no all-reduce of ranks that "
               "spin was measured"),
    NOTE_WORDS(merged_optimally,
               "{}: messages put together, the last of which ends earliest if messages take what "
               "the line through those of single gradients says; where they take otherwise, other "
               "groups may end earlier",
               "{}; {} and {:.3g} ns a byte"),
    NOTE_WORDS(merged_greedily,
               "{}: messages put together, by the rule of MG-WFBP, for messages that take what the "
               "line through those of single gradients says",
               "{}; {} and {:.3g} ns a byte"),
    NOTE_WORDS(priority_parts,
               "priority: {} gradients in {} parts of at most {}; those under way at once follow "
               "one another"),
    NOTE_WORDS(horovod_cycle,
               "horovod: what is ready waits for the next wake-up, {} apart, so that what is "
               "exposed moves by up to as much, either way, with small changes of ranks or times"),
    NOTE_WORDS(sharding,
               "parameters given out by sharding {}, of which tensors travel one by one: what the "
               "server updates that owns most, over an even share",
               "{:.4g} ({} servers)"),
    NOTE_WORDS(servers_host_copies,
               "transport {}: every device copies its gradients to host memory, and parameters "
               "back, over a link of its own, in the time of a batch of as many bytes"),
    NOTE_WORDS(servers_none,
               "callers {}: on one node its process keeps all parameters, and calls no server; "
               "adding up is not in it"),
    NOTE_WORDS(servers_by_ranks,
               "transport {}: ranks push to servers and pull from them by calls of their own, all "
               "servers at once"),
    NOTE_WORDS(servers_by_nodes,
               "transport {}: one process of each node pushes to servers and pulls from them, all "
               "servers at once, which are processes of their own; adding up what ranks of a node "
               "have, and start-ups of calls that stay on a node, are not in it"),
    NOTE_WORDS(
        servers_packing,
        "tensors are packed and unpacked at {}, one call of a process after the other; the "
        "interval is from all calls at once at {} to one after the other at {}, as published "
        "of 2016 and 2017"),
    NOTE_WORDS(servers_by_sheets,
               "{}: messages, waiting for the slowest rank and copies of gradients as in published "
               "trainings with servers over such links",
               "on {} GPUs messages take {}, {}"),
    NOTE_WORDS(servers_running,
               "{}: messages, waiting for the slowest rank and copies of gradients as in published "
               "trainings with servers over such links; messages also travel beside the next "
               "forward pass",
               "on {} GPUs messages take {}, {}"),
    NOTE_WORDS(memory_cuts_stages, "memory decides the cut of stages",
               "{} takes {:.2g} % less time, and {}; this one {}"),
    NOTE_WORDS(timed_line, "all-reduces by a line through those that were timed",
               "{} and {:.3g} ns a byte on {} ranks, off by {:.0f} % in the median of {}"),
    NOTE_WORDS(timed_line_missed,
               "a line does not describe all-reduces that it misses by more than what they took: "
               "what is predicted of such messages is as far off",
               "{} on {} ranks took {}, and {} by the line"),
    NOTE_WORDS(timed_line_extended,
               "messages larger than any that was timed: the line was extended",
               "up to {}, timed up to {} on {} ranks"),
    NOTE_WORDS(timed_groups, "{}: {} gradients in fewer messages", "{} on {} ranks"),
    NOTE_WORDS(timed_message_interval,
               "{:g} % interval of messages: the line times or divided by the factor within which "
               "{:g} % of those timed lie",
               "{:.3g} on {} ranks"),
    NOTE_WORDS(timed_no_interval,
               "no interval on one rank: the file does not say how its times scatter"),
    NOTE_WORDS(
        timed_rest_interval,
        "90 % interval of all else: {:.1f} % of the iteration, the largest of nine errors of "
        "a published training that was predicted so (GoogLeNet on K80); how the timed layers "
        "scatter is not known"),
    NOTE_WORDS(timed_unknown, "{} not given with the layers: taken as nothing"),
};
#undef NOTE_WORDS

constexpr bool has_all_in_order() {
  for (std::size_t i = 0; i < all_note_words.size(); ++i) {
    if (all_note_words[i].kind != static_cast<NoteKind>(i)) return false;
  }
  return all_note_words.back().kind == NoteKind::timed_unknown;
}
static_assert(has_all_in_order());

const NoteWords& words_of_note(NoteKind kind) {
  return all_note_words[static_cast<std::size_t>(kind)];
}

using FormatArguments = fmt::dynamic_format_arg_store<fmt::format_context>;

void push(const NoteValue& value, FormatArguments& arguments) {
  std::visit(
      [&](const auto& each) {
        using Value = std::decay_t<decltype(each)>;
        if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
          arguments.push_back(each);
        } else {
          arguments.push_back(to_text(each));
        }
      },
      value.value);
}

std::string formatted(std::string_view format, const NoteValues& values) {
  FormatArguments arguments;
  for (const NoteValue& value : values) push(value, arguments);
  return fmt::vformat(fmt::string_view(format.data(), format.size()), arguments);
}

}  // namespace

std::string note_sentence(const model::Note& note) {
  const NoteWords& words = words_of_note(note.kind);
  if (words.choice[1].empty()) return formatted(words.sentence, note.values);
  NoteValues values = note.values;
  EXPECT(!values.empty());
  const auto chosen = std::get<std::int64_t>(values.back().value);
  EXPECT(chosen == 0 || chosen == 1);
  values.back() = words.choice[static_cast<std::size_t>(chosen)];
  return formatted(words.sentence, values);
}

std::vector<std::string> note_examples(const model::Note& note) {
  std::vector<std::string> examples;
  for (const NoteValues& example : note.examples) {
    examples.push_back(formatted(words_of_note(note.kind).example, example));
  }
  return examples;
}

std::string note_text(const model::Note& note) {
  const std::string sentence = note_sentence(note);
  if (note.examples.empty()) return sentence;
  const std::string first = formatted(words_of_note(note.kind).example, note.examples.front());
  if (note.examples.size() == 1) return fmt::format("{} ({})", sentence, first);
  return fmt::format("{} ({} and {} more)", sentence, first, note.examples.size() - 1);
}

Json notes_object(const std::vector<model::Note>& notes) {
  Json list = Json::array();
  for (const model::Note& note : notes) {
    Json& object =
        list.emplace_back(Json{{"kind", words_of_note(note.kind).name}, {"text", note_text(note)}});
    if (note.kind == model::NoteKind::memory_short) {
      object["largest_batch"] = std::get<std::int64_t>(note.values.at(3).value);
    }
  }
  return list;
}

std::vector<std::string> note_texts(const std::vector<model::Note>& notes) {
  std::vector<std::string> texts;
  for (const model::Note& note : notes) texts.push_back(note_text(note));
  return texts;
}

}  // namespace dlscale::report
