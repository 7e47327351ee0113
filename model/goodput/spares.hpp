#pragma once

namespace dlscale::model::goodput {

/// Nodes fail at random, wait for repair, and come back; spare nodes stand in. `load` is the mean
/// number of nodes under repair if the job never waited: failures of nodes in a repair time, finite
/// and ≥ 0 (EXPECT). How repair times are spread does not count.

/// The share of time that a job waits with `spares` ≥ 0: all spares and one node more are under
/// repair, and nothing fails meanwhile. It is Erlang's loss formula for spares + 1 servers:
///   B(0) = 1,  B(k) = load B(k - 1) / (k + load B(k - 1))
/// [A. K. Erlang, 1917; derived: births stop at spares + 1]
double waiting_share(double load, int spares);

/// The fewest spares with which `share` (0 … 1, exclusive) of failed nodes find one: the number
/// under repair is a Poisson number, which must be below that of spares. [derived: M/G/∞]
int spares_for(double load, double share);

}  // namespace dlscale::model::goodput
