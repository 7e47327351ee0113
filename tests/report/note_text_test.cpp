#include "report/prediction/note_text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::report {
namespace {

using model::Note;
using model::NoteKind;

TEST(NoteText, FormatsValuesAndUnits) {
  EXPECT_EQ(note_text({NoteKind::kernels_extrapolated, {16, 8}, {}}),
            "kernels at batch 16 extrapolated by their work from batch 8");
  EXPECT_EQ(note_text({NoteKind::cores_shared, {4, 2, 4, 1.0}, {}}),
            "4 ranks on a node ask for 2 cores each of 4: each gets 1");
  EXPECT_EQ(note_text({NoteKind::no_link_between_nodes, {"pair"}, {}}),
            "cluster pair has no link between nodes: taken as fast as the link within one");
  EXPECT_TRUE(note_text({NoteKind::horovod_cycle, {Seconds(1e-3)}, {}})
                  .starts_with("horovod: ready gradients wait for the next cycle, 1.000 ms"));
}

TEST(NoteText, ShowsThreeExamplesOrTheFirstTwoAndTheNumberOfOthers) {
  Note note{NoteKind::outside_measured_sizes, {"the update"}, {{Bytes(1048576)}}};
  const std::string sentence =
      "the update of a size outside those measured: extrapolated from the nearest ones";
  EXPECT_EQ(note_sentence(note), sentence);
  EXPECT_EQ(note_text(note), sentence + " (1.00 MiB)");
  note.examples.push_back({Bytes(2097152)});
  note.examples.push_back({Bytes(512)});
  EXPECT_EQ(note_text(note), sentence + " (1.00 MiB; 2.00 MiB; 512 B)");
  EXPECT_EQ(note_examples(note), (std::vector<std::string>{"1.00 MiB", "2.00 MiB", "512 B"}));
  note.examples.push_back({Bytes(256)});
  EXPECT_EQ(note_text(note), sentence + " (1.00 MiB; 2.00 MiB; and 2 more)");
}

TEST(NoteText, WordsAChoice) {
  EXPECT_EQ(note_sentence({NoteKind::all_reduce_by_pair, {"ring", 0}, {}}),
            "all-reduce was not measured: closed form of ring from messages between two ranks, "
            "summing counts as zero");
  EXPECT_EQ(note_sentence({NoteKind::all_reduce_extrapolated, {2, "ring", 0}, {}}),
            "all-reduce extrapolated from 2 ranks by the ring algorithm");
  EXPECT_EQ(note_sentence({NoteKind::collective_fastest, {"reduce", "binomial, linear", 1}, {}}),
            "reduce was not measured on this many ranks over the link that you stated: the fastest "
            "of binomial, linear at the latency and bandwidth of a ring all-reduce");
}

/// Notes with values as predictions give them, in the order of NoteKind.
std::vector<Note> notes_of_all_kinds() {
  const Seconds time(1e-3);
  const Bytes size(1e6);
  const BytesPerSecond rate(1e9);
  return {
      model::remark("a remark"),
      {NoteKind::data_sheets, {}, {}},
      {NoteKind::computing_interval, {0.81, 2.68, 83, 1.48}, {}},
      {NoteKind::other_evidence, {"none is in bf16"}, {}},
      {NoteKind::sheet_kernels, {0.8, 1.4}, {}},
      {NoteKind::beyond_fitted, {"nothing by AMD was fitted"}, {}},
      {NoteKind::software_unknown, {"CNNs", "bf16"}, {}},
      {NoteKind::software_in_part, {"CNNs", "bf16"}, {}},
      {NoteKind::scaling_outside, {"8192 GPUs"}, {}},
      {NoteKind::network_kind_unknown, {"a"}, {}},
      {NoteKind::device_links_unknown, {"a"}, {}},
      {NoteKind::no_peak, {"P40", "f16", "f16", "f32"}, {}},
      {NoteKind::fused_not_measured, {}, {{"kernel"}}},
      {NoteKind::host_time_not_measured, {}, {{"kernel"}}},
      {NoteKind::kernels_beside_other_ranks, {2, 1}, {{"kernel"}}},
      {NoteKind::kernels_interpolated, {16}, {{"kernel"}}},
      {NoteKind::kernels_extrapolated, {16, 8}, {{"kernel"}}},
      {NoteKind::kernels_by_efficiency, {"convolutions"}, {{"kernel"}}},
      {NoteKind::affine_not_measured, {"the update", "here", "there"}, {}},
      {NoteKind::outside_measured_sizes, {"the update"}, {{size.si()}}},
      {NoteKind::kernel_launches, {time, time, time}, {}},
      {NoteKind::graph_launch, {time, time, time}, {}},
      {NoteKind::graph_replay_free, {}, {}},
      {NoteKind::graph_launch_unknown, {}, {}},
      {NoteKind::memory_short, {64, "20 GB", "16 GB", 32}, {}},
      {NoteKind::memory_too_small, {64, "20 GB", "16 GB"}, {}},
      {NoteKind::cores_shared, {4, 2, 4, 1.0}, {}},
      {NoteKind::decoding_stated, {time, "a"}, {}},
      {NoteKind::decoding_unknown, {"a"}, {}},
      {NoteKind::loading_beside_other_ranks, {2, 1}, {}},
      {NoteKind::augmenting_scaled, {224, 224, 227, 227}, {}},
      {NoteKind::device_normalization, {}, {}},
      {NoteKind::contention_other_waiting, {"reduce", "conv", "all_reduce", "conv", 2, "spin"}, {}},
      {NoteKind::contention_factors, {"all_reduce", "1.1 and 1.2"}, {}},
      {NoteKind::contention_factors_below, {"all_reduce", size, "1.1 and 1.2"}, {}},
      {NoteKind::contention_factors_from, {"all_reduce", size, "1.1 and 1.2"}, {}},
      {NoteKind::contention_of_calls_unknown, {0}, {}},
      {NoteKind::contention_not_measured, {1}, {}},
      {NoteKind::contention_measured_elsewhere, {1}, {}},
      {NoteKind::stragglers, {5.0, "normal"}, {{time, 4, time}}},
      {NoteKind::all_reduce_override_measured, {"ring", "interpolated"}, {{size.si()}}},
      {NoteKind::all_reduce_override, {"ring", "a link", 1}, {{size.si(), " in 2 segments"}}},
      {NoteKind::all_reduce_other_waiting, {"spin", "wait_free", "sleep"}, {}},
      {NoteKind::all_reduce_left_out, {1.25, 50.0}, {}},
      {NoteKind::all_reduce_outside_sizes, {}, {{size.si()}}},
      {NoteKind::all_reduce_measured, {"spin"}, {{size.si()}}},
      {NoteKind::all_reduce_closed_form, {"extrapolated", "ring", "2, 4"}, {{size.si()}}},
      {NoteKind::all_reduce_no_growth, {"extrapolated", "2, 4"}, {{size.si()}}},
      {NoteKind::all_reduce_guess, {"ring", 4, 30.0}, {}},
      {NoteKind::all_reduce_by_pair, {"ring", 0}, {{size.si()}}},
      {NoteKind::all_reduce_extrapolated, {2, "ring", 1}, {{size.si()}}},
      {NoteKind::messages_by_sheets, {}, {{8, time, rate}}},
      {NoteKind::all_reduce_nominal, {"ring"}, {}},
      {NoteKind::all_reduce_nominal_fastest, {"ring"}, {{size.si()}}},
      {NoteKind::collective_other_waiting, {"reduce", "spin", "wait_free", "sleep"}, {}},
      {NoteKind::collective_left_out, {"reduce", 1.25, 50.0}, {}},
      {NoteKind::collective_outside_sizes, {"reduce"}, {{size.si()}}},
      {NoteKind::collective_half, {"all_gather", 0}, {}},
      {NoteKind::collective_fastest, {"reduce", "binomial, linear", 1}, {}},
      {NoteKind::nccl_cost_model, {"all-reduce", "ring"}, {{size.si()}}},
      {NoteKind::links_described, {}, {{"4 of 8 devices"}}},
      {NoteKind::no_link_between_nodes, {"a"}, {}},
      {NoteKind::more_nodes, {1, "a"}, {{4}}},
      {NoteKind::measured_points, {"your points contradict the model"}, {}},
      {NoteKind::barrier_by_all_reduce, {}, {}},
      {NoteKind::barrier_by_pair, {}, {}},
      {NoteKind::barrier_unknown, {}, {}},
      {NoteKind::merged_optimally, {"merged"}, {{"4 gradients in 2 messages", time, 1.5}}},
      {NoteKind::merged_greedily, {"merged_greedy"}, {{"4 gradients in 2 messages", time, 1.5}}},
      {NoteKind::priority_parts, {4, 8, size}, {}},
      {NoteKind::horovod_cycle, {time}, {}},
      {NoteKind::sharding, {"mxnet"}, {{1.25, 4}}},
      {NoteKind::servers_host_copies, {"grpc"}, {}},
      {NoteKind::servers_none, {"nodes"}, {}},
      {NoteKind::servers_by_ranks, {"grpc"}, {}},
      {NoteKind::servers_by_nodes, {"grpc"}, {}},
      {NoteKind::servers_packing, {rate, rate, rate}, {}},
      {NoteKind::servers_by_sheets, {"servers"}, {{4, time, rate}}},
      {NoteKind::servers_running, {"servers"}, {{4, time, rate}}},
      {NoteKind::memory_cuts_stages, {}, {{"20/19", 12.0, "may fit", "fits surely"}}},
      {NoteKind::timed_line, {}, {{time, 1.5, 4, 10.0, 7}}},
      {NoteKind::timed_line_missed, {}, {{size, 4, time, time}}},
      {NoteKind::timed_line_extended, {}, {{size, size, 4}}},
      {NoteKind::timed_groups, {"merged", 4}, {{2, 4}}},
      {NoteKind::timed_message_interval, {90.0, 90.0}, {{1.25, 4}}},
      {NoteKind::timed_no_interval, {}, {}},
      {NoteKind::timed_rest_interval, {3.5}, {}},
      {NoteKind::timed_unknown, {"load, h2d"}, {}},
  };
}

TEST(NoteText, HasASentenceForEveryKind) {
  const std::vector<Note> notes = notes_of_all_kinds();
  ASSERT_EQ(notes.size(), static_cast<std::size_t>(NoteKind::timed_unknown) + 1);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    EXPECT_EQ(notes[i].kind, static_cast<NoteKind>(i));
    EXPECT_FALSE(note_text(notes[i]).empty()) << i;
  }
}

TEST(NoteText, KeepsARemark) {
  EXPECT_EQ(note_text(model::remark("left out: {8} ranks")), "left out: {8} ranks");
}

}  // namespace
}  // namespace dlscale::report
