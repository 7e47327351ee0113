// Rows of published messages, as the code computes them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/collective/selection/selection.hpp"
#include "core/results/bandwidths.hpp"
#include "model/fits/fit.hpp"
#include "model/topology/nccl.hpp"
#include "model/topology/topology.hpp"
#include "tests/model/computed_checks.hpp"
#include "tests/model/deepbench.hpp"
#include "tests/model/nominal_ring.hpp"

namespace dlscale::model {
namespace {

using collective::Collective;
using collective::Link;
using collective::Settings;

/// α = 10 µs, β = 0.1 ns/B, γ = 0.01 ns/B, m = 100 MB, in ms; pipelines in segments of 1 MB.
Rule closed_form(Collective collective, const char* name, int p, double excess = 0) {
  return [=](const std::vector<double>&) {
    const Link link{Seconds(10e-6), SecondsPerByte(1e-10), SecondsPerByte(1e-11)};
    const Settings settings{.p = p, .segments = 100};
    const Seconds cost =
        collective::find(collective, name)->cost({link, link}, settings, Bytes(1e8));
    return Computed{{near(cost.si() * 1e3 + excess, 1e-3)}};
  };
}

const Link broadcast_link{Seconds(10e-6), SecondsPerByte(1e-10), {}};

Computed optimal_chunk(const std::vector<double>&) {
  return {{near(collective::optimal_chunk(broadcast_link, 8, Bytes(1e8), Bytes(4)).si(), 1)}};
}

Computed optimal_chain(const std::vector<double>&) {
  return {{near(collective::optimal_chain_time(broadcast_link, 8, Bytes(1e8)).si() * 1e3, 1e-3)}};
}

NcclModel with_rings(NcclFacts::Gpu gpu, Placement placement, int count, double each) {
  const NcclFacts facts{
      gpu,   NcclFacts::Fabric::nvlink, NcclFacts::Processor::intel, 120.0_GBps, 1, 12.0_GBps,
      "test"};
  const BytesPerSecond bandwidth(each * 1e9);
  return {facts, placement, {count, bandwidth, bandwidth}, {}};
}

/// Latency, µs, bandwidth, GB/s, and time, µs: the first two read off two times, of rings with the
/// message and twice as much, of trees with messages below 64 B, which are not corrected by size.
Rule nccl(const NcclModel& model, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) {
  return [=](const std::vector<double>&) {
    const auto takes = [&](Bytes m) { return model.time(algorithm, protocol, m).value(); };
    const Bytes m = algorithm == NcclAlgorithm::tree ? 16_B : message;
    const BytesPerSecond bandwidth = m / (takes(2 * m) - takes(m));
    return Computed{{near((takes(m) - m / bandwidth).si() * 1e6, 1e-3),
                     near(bandwidth.si() / 1e9, 1e-3), near(takes(message).si() * 1e6, 1e-3)}};
  };
}

/// In words: that the factors are what they say on any number of ranks.
Computed bus_factors(const std::vector<double>&) {
  bool as_said = true;
  for (const int n : {2, 8, 100}) {
    const double share = (n - 1.0) / n;
    const auto is = [&](const char* name, double factor) {
      as_said &= std::abs(bus_factor(name, n).value() - factor) < 1e-12;
    };
    is("all_reduce", 2 * share);
    is("reduce_scatter", share);
    is("all_gather", share);
    is("broadcast", 1);
    is("reduce", 1);
    is("all_to_all", share);
  }
  return {{}, as_said ? "2(n-1)/n;(n-1)/n;(n-1)/n;1;1;(n-1)/n" : "other factors"};
}

constexpr double hdr_100 = 12.5e9;

/// µs on 128 hosts below switches of 36 ports, half of them down, in segments of 256 B.
double in_network(Seconds hop, double bandwidth, Bytes message) {
  const Link link{hop, SecondsPerByte(1 / bandwidth), {}};
  const Settings settings{
      .p = 128, .segments = std::max(1, static_cast<int>(message.si() / 256)), .down_links = 18};
  const auto& switches = *collective::find(Collective::all_reduce, "in_network");
  return switches.cost({link, link}, settings, message).si() * 1e6;
}

/// A message of switches from the time of another one, which says what a hop takes.
Rule from_message(const char* other_row, Bytes other, Bytes message) {
  return [=](const std::vector<double>&) {
    const double measured = row_of(other_row)[1];
    const double without = in_network({}, hdr_100, other);
    const double each = in_network(Seconds(1e-6), hdr_100, other) - without;
    const Seconds hop((measured - without) / each * 1e-6);
    return Computed{{not_computed(), near_by(in_network(hop, hdr_100, message), 0.06)}};
  };
}

/// Of what the link of a node carries, in %, a large message between adding switches gets
/// as predictions have it.
Computed of_a_stream(const std::vector<double>&) {
  const Bytes m(1e9);
  const BytesPerSecond network(25e9);
  const Link wire{{}, 1 / network, {}};
  const Seconds time = in_network_all_reduce({}, {wire, {}}, {128, 1}, m);
  const Computed::Range reached = near(100 * (m / time / network), 1.5);
  return {{reached, reached}};
}

/// The line through all messages of a set but `left_out`, of so many floats.
Segment deep_bench_fit(std::size_t set, double left_out = 0) {
  std::vector<SizedTime> points;
  for (std::size_t i = 0; i < deep_bench_floats.size(); ++i) {
    if (deep_bench_floats[i] == left_out) continue;
    const Seconds time(deep_bench[set].milliseconds[i] * 1e-3);
    points.push_back({Bytes(4 * deep_bench_floats[i]), {time, time, time}});
  }
  return fit_affine(points);
}

/// On one node, ms, by the line fitted to the other messages.
Rule on_a_node(std::size_t set, double floats, double relative) {
  return [=](const std::vector<double>&) {
    const Segment fit = deep_bench_fit(set, floats);
    const Seconds time = fit.alpha.value + Bytes(4 * floats) * fit.beta.value;
    return Computed{{near_by(time.si() * 1e3, relative)}};
  };
}

Computed fitted_lines(const std::vector<double>&) {
  Computed computed;
  for (std::size_t set = 0; set < deep_bench.size(); ++set) {
    const Segment fit = deep_bench_fit(set);
    computed.numbers.push_back(near_by(fit.alpha.value.si() * 1e6, 0.01));
    computed.numbers.push_back(near_by(fit.beta.value.si(), 0.002));
  }
  return computed;
}

/// (1.14) from one measured message on another number of workers, ms: B_min from the largest
/// message there, after `startup` of it.
BytesPerSecond slowest_link(int workers, Bytes message, Seconds time, Seconds startup) {
  const Seconds at_1 = nominal_ring(workers, message, 1.0_GBps);
  return 1.0_GBps * (at_1 / (time - startup));
}

constexpr Bytes large(4 * 64.5e6);
constexpr Bytes small(4 * 1e5);

/// The start-up on 16 from the smallest message there (0.49410 ms); it grows as the steps of a
/// ring.
Rule on_several_nodes(int workers, Bytes message, const char* other_row, int other,
                      double relative) {
  return [=](const std::vector<double>&) {
    const Seconds measured(row_of(other_row)[0] * 1e-3);
    const BytesPerSecond link = slowest_link(other, large, measured, {});
    const Seconds on_16 = Seconds(0.49410e-3) - nominal_ring(16, small, link);
    const Seconds startup = other == 16 ? 31.0 / 15 * on_16 : Seconds();
    return Computed{{near_by(nominal_ring(workers, message, link, startup).si() * 1e3, relative)}};
  };
}

/// Eight P100 of a node, of which two messages are known: the one foretells the other by a ring
/// over the link that it tells, with the start-up of eight others of C080; and the large one takes
/// that of a ring over PCIe 3.0 x16 of which some is lost, or shared by up to four.
Rule on_eight_p100(Bytes message, const char* other_row, Bytes other) {
  return [=](const std::vector<double>&) {
    const Seconds startup = deep_bench_fit(2).alpha.value;
    const Seconds measured(row_of(other_row)[0] * 1e-3);
    const BytesPerSecond link = slowest_link(8, other, measured, startup);
    const double foretold = nominal_ring(8, message, link, startup).si() * 1e3;
    const auto by_pcie = [&](double share) {
      return nominal_ring(8, message, BytesPerSecond(share * 15.75e9), startup).si() * 1e3;
    };
    return Computed{
        {within(std::max(0.7 * foretold, by_pcie(1)), std::min(foretold / 0.7, by_pcie(0.25)))}};
  };
}

Rule open_mpi(Collective collective, int p, Bytes m) {
  return [=](const std::vector<double>&) {
    return Computed{{}, std::string(collective::open_mpi_fixed(collective, p, m).name)};
  };
}

}  // namespace

Rules message_rules() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  constexpr auto all_reduce = Collective::all_reduce;
  constexpr auto broadcast = Collective::broadcast;
  const auto volta = NcclFacts::Gpu::volta;
  const NcclModel one = with_rings(volta, {8, 8}, 12, 20);
  const NcclModel ampere = with_rings(NcclFacts::Gpu::ampere, {8, 8}, 24, 20);
  const NcclModel four = with_rings(volta, {32, 8}, 2, 12);
  const NcclModel many = with_rings(volta, {1024, 8}, 2, 12);
  // The comment that C052 evaluates as printed has p where p' = 8 ranks take part:
  // 2 m β (1/8 - 1/12) + m γ (1/8 - 1/12) too much.
  const double printed = (2 * 10.0 + 1.0) * (1.0 / 8 - 1.0 / 12);
  return {{"C044", closed_form(all_reduce, "ring", 8)},
          {"C045", closed_form(all_reduce, "recursive_doubling", 8)},
          {"C046", closed_form(all_reduce, "rabenseifner", 8)},
          {"C047", closed_form(broadcast, "binomial", 8)},
          {"C048", closed_form(broadcast, "scatter_ring", 8)},
          {"C049", closed_form(broadcast, "chain", 8)},
          {"C050", closed_form(all_reduce, "ring", 12)},
          {"C051", closed_form(all_reduce, "recursive_doubling", 12)},
          {"C052", closed_form(all_reduce, "rabenseifner", 12, printed)},
          {"C053", closed_form(broadcast, "binomial", 12)},
          {"C054", closed_form(broadcast, "scatter_ring", 12)},
          {"C055", closed_form(broadcast, "chain", 12)},
          {"C056", optimal_chunk},
          {"C057", optimal_chain},
          {"C058", nccl(one, ring, simple, 64_MiB)},
          {"C059", nccl(one, ring, ll, 8_KiB)},
          {"C060", nccl(ampere, ring, ll128, 1_MiB)},
          {"C061", nccl(four, tree, ll, 8_KiB)},
          {"C062", nccl(four, ring, simple, 64_MiB)},
          {"C063", nccl(four, tree, simple, 64_MiB)},
          {"C064", nccl(many, tree, ll, 8_KiB)},
          {"C065", nccl(many, ring, ll, 8_KiB)},
          {"C066", bus_factors},
          {"C067", from_message("C068", 4_KiB, 8_B)},
          {"C068", from_message("C067", 8_B, 4_KiB)},
          {"C069", of_a_stream},
          {"C071", on_a_node(0, 64.5e6, 0.01)},
          {"C072", on_a_node(1, 64.5e6, 0.01)},
          {"C073", on_a_node(2, 64.5e6, 0.01)},
          {"C074", on_several_nodes(16, large, "C075", 32, 0.08)},
          {"C075", on_several_nodes(32, large, "C074", 16, 0.08)},
          {"C076", on_a_node(2, 1e5, 0.5)},
          {"C077", on_several_nodes(32, small, "C074", 16, 0.20)},
          {"C078", on_eight_p100(Bytes(4 * 1e5), "C079", Bytes(4 * 6553600))},
          {"C079", on_eight_p100(Bytes(4 * 6553600), "C078", Bytes(4 * 1e5))},
          {"C080", fitted_lines},
          {"C084", open_mpi(all_reduce, 8, 4_B)},
          {"C085", open_mpi(all_reduce, 8, 64_MiB)},
          {"C086", open_mpi(all_reduce, 100, 64_KiB)},
          {"C087", open_mpi(all_reduce, 128, 64_KiB)},
          {"C088", open_mpi(broadcast, 128, 16_MiB)},
          {"C089", open_mpi(Collective::all_to_all, 64, 64_MiB)},  // 1 MiB to each
          {"C090", open_mpi(Collective::all_gather, 2, 200_B)},    // 100 B of each
          {"C091", open_mpi(Collective::reduce_scatter, 16, 1_MiB)},
          {"C092", open_mpi(Collective::reduce, 16, 1_MiB)}};
}

}  // namespace dlscale::model
