#include "report/prediction/note_text.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  std::string_view sentence;
  std::string_view example = "{}";
  /// If given, the last value is 0 or 1 and stands for one of these.
  std::array<std::string_view, 2> choice = {};
};

constexpr std::string_view size_example = "{:.0f} B";
constexpr std::array<std::string_view, 2> of_cores{"not counted",
                                                   "only that they share cores is counted"};

constexpr std::array all_note_words{
    NoteWords{NoteKind::remark, "{}"},
    NoteWords{NoteKind::data_sheets,
              "from data sheets alone: the work that layers declare at full peak and memory "
              "bandwidth, transfers at line rate with the start-ups that are stated. An estimate "
              "and no bound: most trainings take longer, and a library may need less work than is "
              "declared"},
    NoteWords{NoteKind::computing_interval,
              "90 % interval of computing: {:g} to {:g} times that, as {} published throughputs of "
              "one GPU had it (half of them {:g} and more)"},
    NoteWords{NoteKind::other_evidence,
              "the interval of computing rests on trainings of another kind, and may be too "
              "narrow: {}"},
    NoteWords{NoteKind::message_interval,
              "90 % interval of messages: from line rate without start-ups to what published "
              "trainings on several GPUs were fitted to get",
              "{} {:.0f} % of the rate and start-ups of {}"},
    NoteWords{NoteKind::network_kind_unknown,
              "cluster {} does not say whether TCP or RDMA carries messages between nodes "
              "(network.kind): their interval is that of the slower of both"},
    NoteWords{NoteKind::device_links_unknown,
              "cluster {} does not say whether PCI Express or NVLinks join devices (node): the "
              "interval of messages within a node is that of the slower of both"},
    NoteWords{NoteKind::no_peak,
              "{} states no peak in {}: {} in memory, computed at the peak of {}"},
    NoteWords{NoteKind::fused_not_measured,
              "fused kernels not measured: taken as the layer's own, and of backward with that of "
              "its ReLU, so that only the ReLU's forward pass is saved"},
    NoteWords{NoteKind::host_time_not_measured,
              "host time of kernels not measured: taken as the median of those measured"},
    NoteWords{NoteKind::kernels_beside_other_ranks,
              "kernels beside {} ranks on a node were not measured: taken from those beside {}"},
    NoteWords{NoteKind::kernels_interpolated,
              "kernels at batch {} interpolated between measured batches"},
    NoteWords{NoteKind::kernels_extrapolated,
              "kernels at batch {} extrapolated by their work from batch {}"},
    NoteWords{NoteKind::kernels_by_efficiency,
              "kernels never measured: taken at the median efficiency of {}"},
    NoteWords{NoteKind::affine_not_measured, "{} {} was not measured: taken from {}"},
    NoteWords{NoteKind::outside_measured_sizes,
              "{} of a size outside those measured: the nearest segment was extended",
              size_example},
    NoteWords{NoteKind::kernel_launches,
              "kernel launches: the host takes {} to give the forward and backward work that the "
              "device does in {}, which makes the iteration {} longer"},
    NoteWords{NoteKind::graph_launch,
              "a graph takes the host {}, and {} for each kernel that it holds, to give, and the "
              "device {} to begin; each step counts as one kernel"},
    NoteWords{NoteKind::graph_replay_free, "the host's time to replay a graph is taken as nothing"},
    NoteWords{NoteKind::graph_launch_unknown,
              "graphs are predicted as eager launches, since the host's time to launch kernels was "
              "not measured"},
    NoteWords{NoteKind::memory_short,
              "batch {} needs about {} of the {} of each rank, workspace not counted: the largest "
              "batch that fits is about {}"},
    NoteWords{NoteKind::memory_too_small,
              "batch {} needs about {} of the {} of each rank, workspace not counted: no batch "
              "fits"},
    NoteWords{NoteKind::cores_shared,
              "{} ranks on a node want {} cores each of {}: each gets {:g}"},
    NoteWords{NoteKind::decoding_stated,
              "decoding takes {} a picture and core by host.decode of cluster {}: measured by "
              "others, maybe on another processor (see its source), with no interval"},
    NoteWords{NoteKind::decoding_unknown,
              "cluster {} gives no host.decode: decoding is taken to cost nothing, in the "
              "interval, too"},
    NoteWords{NoteKind::loading_beside_other_ranks,
              "loading beside {} ranks was not measured: taken from {} ranks"},
    NoteWords{NoteKind::augmenting_scaled,
              "pictures of {} × {} were not loaded: augmenting scaled by pixels from {} × {}"},
    NoteWords{NoteKind::device_normalization,
              "pictures normalised on the device: their copy is taken from batches of f32 of the "
              "same size, augmenting from pictures normalised on the host, and the device's part "
              "as nothing"},
    NoteWords{NoteKind::contention_other_waiting,
              "contention of {} with {} of so many ranks meeting by sleep was not measured: taken "
              "from {} with {} on {} ranks meeting by {}"},
    NoteWords{NoteKind::contention_factors,
              "computing and messages slow each other down, by factors measured beside {}: {}"},
    NoteWords{NoteKind::contention_factors_below,
              "computing and messages slow each other down, by factors measured beside {} below "
              "{}: {}"},
    NoteWords{NoteKind::contention_factors_from,
              "computing and messages slow each other down, by factors measured beside {} from {} "
              "on: {}"},
    NoteWords{NoteKind::contention_of_calls_unknown,
              "what computing and messages cost each other was not measured of calls to servers: "
              "{}",
              "{}", of_cores},
    NoteWords{NoteKind::contention_not_measured,
              "what computing and messages cost each other was not measured: {}", "{}", of_cores},
    NoteWords{NoteKind::contention_measured_elsewhere,
              "what computing and messages cost each other was measured on other ranks, links, "
              "threads or cores alone: {}",
              "{}", of_cores},
    NoteWords{NoteKind::stragglers,
              "stragglers: computing varies by {:g} % ({}, as stated) from rank to rank and from "
              "iteration to iteration; what waiting for the slowest adds, by the graph of all "
              "ranks, is part of comm",
              "{} on {} ranks, by order statistics of all computing at once {}"},
    NoteWords{NoteKind::all_reduce_override_measured,
              "all-reduce by {}, as asked: {} from messages that it carried out", size_example},
    NoteWords{NoteKind::all_reduce_override,
              "all-reduce by {}, as asked and not measured: by its messages over {}; {}",
              "{:.0f} B{}",
              {"adding taken as nothing", "with what adding takes"}},
    NoteWords{NoteKind::all_reduce_other_waiting,
              "all-reduce was not measured with waiting by {}, as {} ranks wait: taken from {}"},
    NoteWords{NoteKind::all_reduce_left_out,
              "all-reduces measured across nodes were left out, for the link between nodes is "
              "another by what was stated: {:.4g} GB/s, {:.4g} us"},
    NoteWords{NoteKind::all_reduce_outside_sizes,
              "messages outside the sizes measured: the nearest segment was extended",
              size_example},
    NoteWords{NoteKind::all_reduce_measured, "all-reduce as measured with waiting by {}",
              size_example},
    NoteWords{NoteKind::all_reduce_closed_form,
              "all-reduce {} by the closed form of {}, fitted to {} ranks", size_example},
    NoteWords{NoteKind::all_reduce_no_growth,
              "all-reduce {} by no change with their number, fitted to {} ranks", size_example},
    NoteWords{NoteKind::all_reduce_guess,
              "all-reduce on more ranks is a guess here: by {}, fitted to fewer ranks, those on {} "
              "were off by {:.0f} % at the median"},
    NoteWords{NoteKind::all_reduce_by_pair,
              "all-reduce was not measured: by the closed form of {} from messages between two "
              "ranks, {}",
              size_example,
              {"adding taken as nothing", "and what adding takes"}},
    NoteWords{NoteKind::all_reduce_extrapolated,
              "all-reduce extrapolated from {} ranks by the {} algorithm{}",
              size_example,
              {"", " and the nominal link between nodes"}},
    NoteWords{NoteKind::all_reduce_nominal, "all-reduce from nominal links: {}"},
    NoteWords{NoteKind::all_reduce_nominal_fastest,
              "all-reduce from nominal links, as nothing says which one the library takes: the "
              "quickest for each message of rings and trees, here {}",
              size_example},
    NoteWords{NoteKind::collective_other_waiting,
              "{} was not measured with waiting by {}, as {} ranks wait: taken from {}"},
    NoteWords{NoteKind::collective_left_out,
              "{} measured across nodes was left out, for the link between nodes is another by "
              "what was stated: {:.4g} GB/s, {:.4g} us"},
    NoteWords{NoteKind::collective_outside_sizes,
              "{} of sizes outside those measured: the nearest segment was extended", size_example},
    NoteWords{NoteKind::collective_half,
              "{0} was not measured on so many ranks{1}: taken as half of an all-reduce",
              "{}",
              {"", " over the link that was stated"}},
    NoteWords{NoteKind::collective_fastest,
              "{0} was not measured on so many ranks{2}: the quickest of {1} over the link that a "
              "ring of all-reduce would have",
              "{}",
              {"", " over the link that was stated"}},
    NoteWords{NoteKind::nccl_cost_model, "{} by NCCL's own cost model (3.9), not measured: {}",
              size_example},
    NoteWords{NoteKind::links_described,
              "links by what the cluster says of its nodes and network (data sheets)"},
    NoteWords{NoteKind::no_link_between_nodes,
              "cluster {} gives no link between nodes: taken to be as fast as within one"},
    NoteWords{NoteKind::more_nodes, "more nodes like the {} that cluster {} has", "{} nodes"},
    NoteWords{NoteKind::barrier_by_all_reduce,
              "ranks meet before messages: as long as an all-reduce of 4 B of ranks that spin"},
    NoteWords{NoteKind::barrier_by_pair,
              "ranks meet before messages: lg of their number messages of 4 B, one after another"},
    NoteWords{NoteKind::barrier_unknown,
              "ranks meet before messages, which is taken as nothing: no all-reduce of ranks that "
              "spin was measured"},
    NoteWords{NoteKind::merged_optimally,
              "{}: messages put together, the last of which ends earliest if messages take what "
              "the line through those of single gradients says; where they take otherwise, other "
              "groups may end earlier",
              "{}; {} and {:.3g} ns a byte"},
    NoteWords{NoteKind::merged_greedily,
              "{}: messages put together, by the rule of MG-WFBP, for messages that take what the "
              "line through those of single gradients says",
              "{}; {} and {:.3g} ns a byte"},
    NoteWords{NoteKind::priority_parts,
              "priority: {} gradients in {} parts of at most {}; those under way at once follow "
              "one another"},
    NoteWords{NoteKind::horovod_cycle,
              "horovod: what is ready waits for the next wake-up, {} apart, so that what is "
              "exposed moves by up to as much, either way, with small changes of ranks or times"},
    NoteWords{NoteKind::sharding,
              "parameters given out by sharding {}, of which tensors travel one by one: what the "
              "server updates that owns most, over an even share",
              "{:.4g} ({} servers)"},
    NoteWords{NoteKind::servers_host_copies,
              "transport {}: every device copies its gradients to host memory, and parameters "
              "back, over a link of its own, in the time of a batch of as many bytes"},
    NoteWords{NoteKind::servers_none,
              "callers {}: on one node its process keeps all parameters, and calls no server; "
              "adding up is not in it"},
    NoteWords{NoteKind::servers_by_ranks,
              "transport {}: ranks push to servers and pull from them by calls of their own, all "
              "servers at once"},
    NoteWords{NoteKind::servers_by_nodes,
              "transport {}: one process of each node pushes to servers and pulls from them, all "
              "servers at once, which are processes of their own; adding up what ranks of a node "
              "have, and start-ups of calls that stay on a node, are not in it"},
    NoteWords{NoteKind::servers_packing,
              "tensors are packed and unpacked at {}, one call of a process after the other; the "
              "interval is from all calls at once at {} to one after the other at {}, as published "
              "of 2016 and 2017"},
    NoteWords{NoteKind::timed_line, "all-reduces by a line through those that were timed",
              "{} and {:.3g} ns a byte on {} ranks, off by {:.0f} % in the median of {}"},
    NoteWords{NoteKind::timed_line_missed,
              "a line does not describe all-reduces that it misses by more than what they took: "
              "what is predicted of such messages is as far off",
              "{} on {} ranks took {}, and {} by the line"},
    NoteWords{NoteKind::timed_line_extended,
              "messages larger than any that was timed: the line was extended",
              "up to {}, timed up to {} on {} ranks"},
    NoteWords{NoteKind::timed_groups, "{}: {} gradients in fewer messages", "{} on {} ranks"},
    NoteWords{NoteKind::timed_message_interval,
              "{:g} % interval of messages: the line times or divided by what {:g} % of those "
              "timed keep to around it",
              "{:.3g} on {} ranks"},
    NoteWords{NoteKind::timed_no_interval,
              "no interval on one rank: the file does not say how its times scatter"},
    NoteWords{NoteKind::timed_rest_interval,
              "90 % interval of all else: {:.1f} % of the iteration, the largest of nine errors of "
              "a published training that was predicted so (GoogLeNet on K80); how the timed layers "
              "scatter is not told"},
    NoteWords{NoteKind::timed_unknown, "{} not told with the layers: taken as nothing"},
};

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

std::vector<std::string> note_texts(const std::vector<model::Note>& notes) {
  std::vector<std::string> texts;
  for (const model::Note& note : notes) texts.push_back(note_text(note));
  return texts;
}

}  // namespace dlscale::report
