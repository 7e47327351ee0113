#pragma once
#include <optional>
#include <string>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl/exchange.hpp"
#include "core/base/units.hpp"

// What NCCL tells of an operation beside doing it.
namespace dlscale::backend::gpu_comm {

class Link;
class Profile;
struct LinkEnd;

/// How NCCL does an operation.
struct Choice {
  std::string algorithm;  ///< "RING", "TREE", "NVLS", …; empty for sends and receives
  std::string protocol;   ///< "LL", "LL128", "SIMPLE"; empty for sends and receives
  int channels = 0;
  int warps = 0;  ///< of each channel's block; 0 for sends and receives
};

/// "RING, LL128, 24 channels".
std::string to_text(const Choice& choice);

/// What NCCL chose for the exchange, which was done over `link` while `profile` was there. Nothing
/// for a rank alone or no elements: NCCL then copies or does nothing. Throws Unsupported, saying
/// why, if NCCL did not load the profiler plugin.
std::optional<Choice> choice_in(Profile& profile, const Link& link, const Exchange& exchange);

struct Expectation {
  std::optional<Seconds> time = {};
  std::string unknown = {};  ///< why it is not known, where a rank could not ask
};

/// What NCCL expects the operation to take (ncclGroupSimulateEnd: the cost model of
/// src/graph/tuning.cc) on links as that of `end`. No time for a rank alone and for sends and
/// receives, for which it has none. Collective for the ranks of `over`, and takes as long as making
/// a link: each estimate has one of its own, because NCCL leaves what it simulated in the link's
/// plans, to be run with the next real operation and mixed up with the next simulated one. What
/// fails on one rank, a signal among it, keeps none from the calls that follow: all learn of it.
Expectation expected_time(Communicator& over, const LinkEnd& end, const Exchange& exchange);

}  // namespace dlscale::backend::gpu_comm
