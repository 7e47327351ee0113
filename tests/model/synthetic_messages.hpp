#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "model/communication/message_family.hpp"
#include "tests/model/synthetic.hpp"

// Messages whose links and algorithms are known.
namespace dlscale::model::synthetic {

/// A transport of two protocols: 20 us + 1 ns/B up to 32 KiB that travel at once, then 60 us + 0.25
/// ns/B.
inline collective::Link two_protocols(double transfer) {
  if (transfer <= 32768) return {Seconds(20e-6), SecondsPerByte(1e-9), {}};
  return {Seconds(60e-6), SecondsPerByte(0.25e-9), {}};
}

/// A ring over such a transport: 2 (p - 1) messages of m / p.
inline double ring_seconds(int ranks, double bytes) {
  const double transfer = bytes / ranks;
  const collective::Link link = two_protocols(transfer);
  return 2 * (ranks - 1) * (link.alpha.si() + transfer * link.beta.si());
}

/// The closed form of an all-reduce over links that are alike at all sizes: 10 us + 0.5 ns/B.
inline double closed_form_seconds(std::string_view algorithm, int ranks, double bytes) {
  const collective::Link link{Seconds(10e-6), SecondsPerByte(0.5e-9), {}};
  const auto* found = collective::find(collective::Collective::all_reduce, algorithm);
  return found->cost({link, link}, {.p = ranks}, Bytes(bytes)).si();
}

/// Powers of two.
inline std::vector<double> powers(double from, double to) {
  std::vector<double> sizes;
  for (double bytes = from; bytes <= to; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

using SecondsOf = std::function<double(const Placement&, double bytes)>;

/// All-reduces of a library on layouts, each of all sizes.
inline MessageFamily all_reduces(const std::vector<Placement>& layouts,
                                 const std::vector<double>& sizes, const SecondsOf& seconds) {
  MessageFamily family;
  family.collective = "all_reduce";
  family.library = "a library";
  family.waiting = "spin";
  family.measured_on = "a processor, host 0";
  family.source = "comm.jsonl";
  for (const Placement& layout : layouts) {
    for (const double bytes : sizes) {
      family.samples.push_back(
          {layout, Bytes(bytes), Estimate<Seconds>::exact(Seconds(seconds(layout, bytes)))});
    }
  }
  return family;
}

/// A row of bench comm.
inline Measurement message_row(const std::string& collective, int ranks, int ranks_on_node,
                               double bytes, double seconds) {
  return sized("comm",
               {{"collective", collective},
                {"ranks", std::to_string(ranks)},
                {"ranks_on_node", std::to_string(ranks_on_node)},
                {"library", "MPI"},
                {"waiting", "sleep"},
                {"cache", "cold"}},
               bytes, seconds);
}

}  // namespace dlscale::model::synthetic
