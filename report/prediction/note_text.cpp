#include "report/prediction/note_text.hpp"

#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

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
               "from data sheets alone: layers run at full peak and memory bandwidth, and batches "
               "are copied at line rate. This is an estimate, not a bound: most trainings take "
               "longer, but a library may need less work than layers declare"),
    NOTE_WORDS(
        computing_interval,
        "90 % interval of computing: {:g} to {:g} times that, from {} published throughputs of "
        "one GPU (median {:g})"),
    NOTE_WORDS(other_evidence,
               "the interval of computing rests on trainings of another kind and may be too "
               "narrow: {}"),
    NOTE_WORDS(sheet_kernels,
               "from data sheets alone: kernels run as fast as in published trainings on such "
               "devices (90 % interval {:.2f} to {:.2f} times), and batches are copied at line "
               "rate"),
    NOTE_WORDS(beyond_fitted,
               "the interval of computing is wider, because the published trainings are of "
               "another kind: {}"),
    NOTE_WORDS(software_unknown,
               "how the software runs {} in {} is not stated: kernels as in eager PyTorch, and "
               "the interval includes fused kernels and channels-last images"),
    NOTE_WORDS(software_in_part,
               "how the software runs {} in {} is stated in part: times are the mean of the "
               "possible ways, and the interval includes all of them"),
    NOTE_WORDS(scaling_outside,
               "the interval on several GPUs is wider, because the fit has no training like this "
               "one: {}"),
    NOTE_WORDS(network_kind_unknown,
               "cluster {} does not say whether nodes use TCP or RDMA (network.kind): messages "
               "between nodes have the interval of the slower one"),
    NOTE_WORDS(device_links_unknown,
               "cluster {} does not say whether devices use PCI Express or NVLink (node): "
               "messages within a node have the interval of the slower one"),
    NOTE_WORDS(no_peak, "{} states no peak in {}: {} in memory, computed at the peak of {}"),
    NOTE_WORDS(fused_not_measured,
               "fused kernels were not measured: they take the layer's own time, and the forward "
               "pass of ReLU is saved"),
    NOTE_WORDS(host_time_not_measured,
               "host time of some kernels was not measured: the median of the others"),
    NOTE_WORDS(kernels_beside_other_ranks,
               "kernels beside {} ranks on a node were not measured: times beside {} ranks "
               "instead"),
    NOTE_WORDS(kernels_interpolated, "kernels at batch {} interpolated between measured batches"),
    NOTE_WORDS(kernels_extrapolated,
               "kernels at batch {} extrapolated by their work from batch {}"),
    NOTE_WORDS(kernels_by_efficiency,
               "kernels that were never measured: at the median efficiency of {}"),
    NOTE_WORDS(affine_not_measured, "{} {} was not measured: {} instead"),
    NOTE_WORDS(outside_measured_sizes,
               "{} of a size outside those measured: extrapolated from the nearest ones"),
    NOTE_WORDS(kernel_launches,
               "kernel launches: the host takes {} to launch the forward and backward passes that "
               "the device computes in {}, which makes the iteration {} longer"),
    NOTE_WORDS(graph_launch,
               "a graph launch takes the host {} and {} for each kernel in it, and the device "
               "starts it in {}; each step of a layer counts as one kernel"),
    NOTE_WORDS(graph_replay_free, "the host's time to replay a graph is unknown: counted as zero"),
    NOTE_WORDS(graph_launch_unknown,
               "graphs are predicted as eager launches, because the host's time to launch kernels "
               "was not measured"),
    NOTE_WORDS(memory_short,
               "batch {} needs about {} of the {} of each rank, without workspace: the largest "
               "batch that fits is about {}"),
    NOTE_WORDS(memory_too_small,
               "batch {} needs about {} of the {} of each rank, without workspace: no batch fits"),
    NOTE_WORDS(cores_shared, "{} ranks on a node ask for {} cores each of {}: each gets {:g}"),
    NOTE_WORDS(decoding_stated,
               "decoding takes {} an image and core (interval: 0.3 to 1 times host.decode of "
               "cluster {}, which its source measured, maybe on another processor); loaders that "
               "decode in batches or on the GPU are faster"),
    NOTE_WORDS(decoding_unknown,
               "cluster {} has no host.decode: decoding counts as zero, also in the interval"),
    NOTE_WORDS(loading_beside_other_ranks,
               "loading beside {} ranks was not measured: times beside {} ranks instead"),
    NOTE_WORDS(augmenting_scaled,
               "images of {} × {} were not loaded: augmentation scaled by pixels from {} × {}"),
    NOTE_WORDS(device_normalization,
               "images are normalised on the device: their copy takes the time of a batch of f32 "
               "of the same size, augmentation that of images normalised on the host, and the "
               "normalisation itself counts as zero"),
    NOTE_WORDS(contention_other_waiting,
               "contention of {} with {} on this many ranks waiting by sleep was not measured: "
               "that of {} with {} on {} ranks waiting by {} instead"),
    NOTE_WORDS(contention_factors,
               "computing and messages slow each other down; factors measured beside {}: {}"),
    NOTE_WORDS(contention_factors_below,
               "computing and messages slow each other down; factors measured beside {} below {}: "
               "{}"),
    NOTE_WORDS(contention_factors_from,
               "computing and messages slow each other down; factors measured beside {} from {} "
               "on: {}"),
    NOTE_WORDS(contention_of_calls_unknown,
               "how much computing and messages to servers slow each other down was not measured: "
               "{}",
               "{}", of_cores),
    NOTE_WORDS(contention_not_measured,
               "how much computing and messages slow each other down was not measured: {}", "{}",
               of_cores),
    NOTE_WORDS(contention_measured_elsewhere,
               "how much computing and messages slow each other down was measured only on other "
               "ranks, links, threads or cores: {}",
               "{}", of_cores),
    NOTE_WORDS(stragglers,
               "stragglers: computing varies by {:g} % (log-normal, as stated) between ranks and "
               "iterations; the time spent waiting for the slowest rank, from a simulation of all "
               "ranks, counts as communication",
        "{} on {} ranks, by order statistics of all computing at once {}"),
    NOTE_WORDS(all_reduce_override_measured,
               "all-reduce by {}, as asked: {}, from measured messages of this algorithm"),
    NOTE_WORDS(all_reduce_override,
               "all-reduce by {}, as asked but not measured: from its messages over {}; {}", "{}{}",
               {"summing counts as zero", "with the time of summing"}),
    NOTE_WORDS(all_reduce_other_waiting,
               "all-reduce of ranks waiting by {} was not measured, as {} ranks wait: those of {} "
               "instead"),
    NOTE_WORDS(all_reduce_left_out,
               "all-reduces measured across nodes are not used, because you stated another link "
               "between nodes: {:.4g} GB/s, {:.4g} us"),
    NOTE_WORDS(all_reduce_outside_sizes,
               "messages outside the measured sizes: extrapolated from the nearest ones"),
    NOTE_WORDS(all_reduce_measured, "all-reduce as measured on ranks waiting by {}"),
    NOTE_WORDS(all_reduce_closed_form,
               "all-reduce {} by the closed form of {}, fitted to {} ranks"),
    NOTE_WORDS(all_reduce_no_growth, "all-reduce {}: as long on any number of ranks as on {}"),
    NOTE_WORDS(all_reduce_guess,
               "all-reduce on more ranks is a guess: {0}, fitted to fewer ranks, was off by "
               "{2:.0f} % (median) on {1} ranks"),
    NOTE_WORDS(all_reduce_by_pair,
               "all-reduce was not measured: closed form of {} from messages between two ranks, {}",
               "{}", {"summing counts as zero", "and the time of summing"}),
    NOTE_WORDS(all_reduce_extrapolated,
               "all-reduce extrapolated from {} ranks by the {} algorithm{}", "{}",
               {"", " and the nominal link between nodes"}),
    NOTE_WORDS(messages_by_sheets,
               "messages, waiting for the slowest rank, copies of gradients and slower computing "
               "beside messages: as in published trainings on several GPUs over such links",
               "on {} GPUs an all-reduce starts in {} and passes {}"),
    NOTE_WORDS(all_reduce_nominal, "all-reduce from nominal links: {}"),
    NOTE_WORDS(all_reduce_nominal_fastest,
               "all-reduce from nominal links: the library may take any algorithm, so the fastest "
               "for each message of rings and trees counts, here {}"),
    NOTE_WORDS(collective_other_waiting,
               "{0} of ranks waiting by {1} was not measured, as {2} ranks wait: that of {3} "
               "instead"),
    NOTE_WORDS(collective_left_out,
               "{} measured across nodes is not used, because you stated another link between "
               "nodes: {:.4g} GB/s, {:.4g} us"),
    NOTE_WORDS(collective_outside_sizes,
               "{} outside the measured sizes: extrapolated from the nearest ones"),
    NOTE_WORDS(collective_half,
               "{0} was not measured on this many ranks{1}: half an all-reduce", "{}",
               {"", " over the link that you stated"}),
    NOTE_WORDS(collective_fastest,
               "{0} was not measured on this many ranks{2}: the fastest of {1} at the "
               "latency and bandwidth of a ring all-reduce",
               "{}", {"", " over the link that you stated"}),
    NOTE_WORDS(nccl_cost_model, "{} by NCCL's own cost model, not measured: {}"),
    NOTE_WORDS(links_described,
               "links by what the cluster says of its nodes and network (data sheets)"),
    NOTE_WORDS(no_link_between_nodes,
               "cluster {} has no link between nodes: taken as fast as the link within one"),
    NOTE_WORDS(more_nodes,
               "this needs more nodes than the {} of cluster {}: the others are assumed to be the "
               "same", "{} nodes"),
    NOTE_WORDS(measured_points, "{}"),
    NOTE_WORDS(barrier_by_all_reduce,
               "barrier before messages: as long as an all-reduce of 4 B on ranks that spin"),
    NOTE_WORDS(barrier_by_pair,
               "barrier before messages: log2(ranks) messages of 4 B, one after another"),
    NOTE_WORDS(barrier_unknown,
               "barrier before messages: counted as zero, because no all-reduce on ranks that "
               "spin was measured"),
    NOTE_WORDS(merged_optimally,
               "{}: messages merged so that the last one ends earliest, if their times follow the "
               "line through those of single gradients",
               "{}; {} and {:.3g} ns a byte"),
    NOTE_WORDS(merged_greedily,
               "{}: messages merged by the rule of MG-WFBP, with times on the line through those "
               "of single gradients",
               "{}; {} and {:.3g} ns a byte"),
    NOTE_WORDS(priority_parts,
               "priority: {} gradients in {} parts of at most {}; parts under way at once are "
               "sent one after another"),
    NOTE_WORDS(horovod_cycle,
               "horovod: ready gradients wait for the next cycle, {} apart; small changes of "
               "ranks or times can move exposed communication by up to a cycle"),
    NOTE_WORDS(sharding,
               "parameters sharded by {} (tensors travel one by one): the busiest server updates "
               "this many times an even share",
               "{:.4g} ({} servers)"),
    NOTE_WORDS(servers_host_copies,
               "transport {}: each device copies its gradients to host memory, and parameters "
               "back, over its own link, as fast as batches"),
    NOTE_WORDS(servers_none,
               "callers {}: on one node its process keeps all parameters and calls no server; "
               "summing is not included"),
    NOTE_WORDS(servers_by_ranks,
               "transport {}: each rank pushes to all servers at once, and pulls from them"),
    NOTE_WORDS(servers_by_nodes,
               "transport {}: one process of each node pushes to all servers at once and pulls "
               "from them; servers are separate processes. Summing within a node, and start-ups "
               "of calls within a node, are not included"),
    NOTE_WORDS(servers_packing,
               "tensors are packed and unpacked at {}, one call of a process after another; the "
               "interval is from all calls at once at {} to one after another at {} (published, "
               "2016 and 2017)"),
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
    NOTE_WORDS(timed_line, "all-reduces by a straight line through the timed ones",
               "{} and {:.3g} ns a byte on {} ranks, off by {:.0f} % in the median of {}"),
    NOTE_WORDS(timed_line_missed,
               "some all-reduces lie further from the line than they took, so that predictions of "
               "such messages are as wrong",
               "{} on {} ranks took {}, and {} by the line"),
    NOTE_WORDS(timed_line_extended, "messages larger than any timed one: the line was extended",
               "up to {}, timed up to {} on {} ranks"),
    NOTE_WORDS(timed_groups, "{}: {} gradients in fewer messages", "{} on {} ranks"),
    NOTE_WORDS(timed_message_interval,
               "{:g} % interval of messages: the line times or divided by a factor that holds "
               "{:g} % of the timed ones",
               "{:.3g} on {} ranks"),
    NOTE_WORDS(timed_no_interval,
               "no interval on one rank: the file does not give the scatter of its times"),
    NOTE_WORDS(timed_rest_interval,
               "90 % interval of the rest: {:.1f} % of the iteration, the largest of nine errors "
               "of a published training predicted this way (GoogLeNet on K80); the scatter of the "
               "timed layers is unknown"),
    NOTE_WORDS(timed_unknown, "{} not given with the layers: counted as zero"),
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
  constexpr std::size_t most = 3;
  const std::string sentence = note_sentence(note);
  std::vector<std::string> examples = note_examples(note);
  if (examples.empty()) return sentence;
  if (const std::size_t all = examples.size(); all > most) {
    examples.resize(most - 1);
    examples.push_back(fmt::format("and {} more", all - most + 1));
  }
  return fmt::format("{} ({})", sentence, fmt::join(examples, "; "));
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
