#include "bench/memory/host/host_latency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "backend/comm/together.hpp"
#include "backend/host/core_clock.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "bench/memory/host/host_sweep.hpp"

namespace dlscale::bench {
namespace {

/// A chase that each rank has made and walked through, bound to its core.
struct ChaseContext {
  std::unique_ptr<backend::BoundThread> bound;
  std::unique_ptr<HostChase> chase;
  double wrong = 0;  ///< wrong places on all ranks
};

ChaseContext make_chase_context(const HostChaseSpec& spec, backend::Communicator& communicator) {
  ChaseContext context;
  together(communicator, [&] {
    context.bound = std::make_unique<backend::BoundThread>(backend::usable_cores().front());
    context.chase = std::make_unique<HostChase>(spread_places(spec.bytes, spec.stride), 1,
                                                spec.pages, chase_seed);
    context.wrong = static_cast<double>(context.chase->wrong_elements());
  });
  context.wrong = sum_of_ranks(communicator, context.wrong);
  return context;
}

/// The last `count` values, without the warm-up.
std::vector<double> last(const std::vector<double>& values, std::size_t count) {
  return {values.end() - static_cast<std::ptrdiff_t>(count), values.end()};
}

/// Time of an uninterrupted piece; on a busy machine, of the last attempt.
Seconds undisturbed(HostChase& chase, ChasePieces& pieces) {
  constexpr int most_tries = 8;
  ChasePiece piece = pieces.time(chase);
  for (int tries = 1; piece.interrupted && tries < most_tries; ++tries) piece = pieces.time(chase);
  return piece.access;
}

Measurement sample(HostChase& chase, const Sampler& sampler, ChasePieces& pieces) {
  std::vector<double> clocks;
  std::vector<double> cycles;
  Measurement measurement = sampler.sample([&] {
    const Seconds time = undisturbed(chase, pieces);
    clocks.push_back(backend::core_clock_hertz());
    cycles.push_back(time.si() * clocks.back());
    return time;
  });
  measurement.max_relative_error = 0;  // all places were visited
  const auto time = measurement.series.find("time");
  if (time == measurement.series.end()) return measurement;
  const std::size_t count = time->second.samples.front().size();
  backend::Communicator& communicator = sampler.communicator();
  measurement.series["core_clock"] =
      make_series("Hz", gather_on_ranks(communicator, last(clocks, count)));
  measurement.series["cycles"] =
      make_series("cycles", gather_on_ranks(communicator, last(cycles, count)));
  std::ranges::copy(pieces.warnings(communicator), std::back_inserter(measurement.warnings));
  return measurement;
}

}  // namespace

Measurement measure_host_chase(const HostChaseSpec& spec, const Sampler& sampler) {
  try {
    ChaseContext context = make_chase_context(spec, sampler.communicator());
    ChasePieces pieces;
    Measurement measurement =
        context.wrong > 0 ? wrong_chase(context.wrong) : sample(*context.chase, sampler, pieces);
    measurement.implementation = fmt::format(
        "pointer chase over {} places, in pieces of {} accesses, {}", context.chase->places(),
        ChasePieces::accesses, pieces.count_text(sampler.communicator()));
    return measurement;
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
}

}  // namespace dlscale::bench
