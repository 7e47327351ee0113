#include "bench/conv/operand_sets.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

std::unique_ptr<StepRun> make_run(int sets, const std::function<std::unique_ptr<StepRun>()>& make) {
  if (sets == 1) return make();
  std::vector<std::unique_ptr<StepRun>> runs;
  runs.reserve(static_cast<std::size_t>(sets));
  for (int i = 0; i < sets; ++i) runs.push_back(make());
  return make_rotating_run(std::move(runs));
}

}  // namespace

int operand_sets(const Workbench& workbench, CacheState cache, Bytes each) {
  return cache == CacheState::rotating ? workbench.rotation_sets(each) : 1;
}

Finding find_room(backend::Communicator& communicator, const Workbench& workbench, int sets,
                  const std::function<Bytes()>& each) {
  if (sets == 1) return {};
  return find_on_all(communicator, [&]() -> Finding {
    try {
      expect_memory(workbench.device(), sets * each(), Bytes(), communicator.node_size());
      return {};
    } catch (const Unsupported& error) {
      return {.unsupported =
                  fmt::format("of {} sets of operands in rotation: {}", sets, error.what())};
    }
  });
}

Measurement sample_on_sets(Workbench& workbench, const Sampler& sampler, CacheState cache, int sets,
                           const std::function<std::unique_ptr<StepRun>()>& make) {
  backend::Communicator& ranks = sampler.communicator();
  std::unique_ptr<StepRun> run;
  together(ranks, [&] { run = make_run(sets, make); });
  Measurement measurement =
      workbench.sample(sampler, cache, run->produced(), [&run] { run->run(); });
  if (cache == CacheState::rotating) {
    const std::vector<double> mine{static_cast<double>(sets)};
    measurement.series["operand_sets"] =
        make_series("1", {static_cast<std::size_t>(ranks.size()), mine});
  }
  measurement.implementation = run->implementation();
  return measurement;
}

}  // namespace dlscale::bench
