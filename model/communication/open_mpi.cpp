#include "model/communication/open_mpi.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Round;
using collective::Transfer;

}  // namespace

const Algorithm* open_mpi_carries(const Algorithm* named, int ranks, Bytes m, Bytes element) {
  if (named == nullptr || named->collective != Collective::all_reduce) return named;
  const bool ring = named->name == "ring" || named->name == "segmented_ring";
  if (!ring || m / element >= ranks) return named;
  return collective::find(Collective::all_reduce, "recursive_doubling");
}

bool open_mpi_halves(const Algorithm& algorithm, int ranks) {
  return algorithm.collective == Collective::all_reduce && algorithm.name == "rabenseifner" &&
         ranks != collective::largest_power_of_2(ranks);
}

collective::Schedule open_mpi_schedule(const Algorithm& algorithm,
                                       const collective::Settings& settings) {
  collective::Schedule schedule = algorithm.schedule(settings);
  if (!open_mpi_halves(algorithm, settings.p)) return schedule;
  // The first round folds: of each pair, `from` leaves and `to` stays.
  const int half = schedule.chunks / 2;
  EXPECT(!schedule.rounds.empty() && schedule.chunks == 2 * half);
  Round exchange;
  Round join;
  for (const Transfer& fold : schedule.rounds.front()) {
    exchange.push_back({fold.from, fold.to, 0, half, Transfer::Action::add});
    exchange.push_back({fold.to, fold.from, half, half, Transfer::Action::add});
    join.push_back({fold.from, fold.to, half, half, Transfer::Action::copy});
  }
  schedule.rounds.front() = std::move(join);
  schedule.rounds.insert(schedule.rounds.begin(), std::move(exchange));
  return schedule;
}

}  // namespace dlscale::model
