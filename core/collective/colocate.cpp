#include "core/collective/colocate.hpp"

#include "core/base/error.hpp"

namespace dlscale::collective {

Schedule colocated(const Schedule& schedule) {
  EXPECT(schedule.ranks >= 1 && schedule.scratch == 0 && schedule.result == 0);
  const int p = schedule.ranks;
  Schedule result = schedule;
  result.scratch = (schedule.helpers + p - 1) / p * schedule.chunks;
  result.helpers = 0;
  result.helper_ports = 1;
  for (Round& round : result.rounds) {
    for (Transfer& transfer : round) {
      const int from = transfer.from / p * schedule.chunks;
      const int to = transfer.to / p * schedule.chunks;
      transfer = {.from = transfer.from % p,
                  .to = transfer.to % p,
                  .first = transfer.first + from,
                  .count = transfer.count,
                  .action = transfer.action,
                  .shift = transfer.shift + to - from};
    }
  }
  return result;
}

}  // namespace dlscale::collective
