#pragma once
#include <optional>
#include <string>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl/exchange.hpp"
#include "core/base/units.hpp"

// Information from NCCL about an operation, besides its execution.
namespace dlscale::backend::gpu_comm {

class Link;
class Profile;
struct LinkEnd;

/// NCCL's implementation of an operation.
struct Choice {
  std::string algorithm;  ///< "RING", "TREE", "NVLS", …; empty for all_to_all
  std::string protocol;   ///< "LL", "LL128", "SIMPLE"; empty for all_to_all
  int channels = 0;
  int warps = 0;  ///< in each channel's block; 0 for all_to_all
};

/// "RING, LL128, 24 channels".
std::string to_text(const Choice& choice);

/// NCCL's choice for the exchange, which ran over `link` while `profile` existed. Nothing for a
/// single rank or for no elements: NCCL then copies or does nothing. Throws Unsupported with the
/// reason if NCCL did not load the profiler plugin.
std::optional<Choice> choice_in(Profile& profile, const Link& link, const Exchange& exchange);

struct Expectation {
  std::optional<Seconds> time = {};
  std::string unknown = {};  ///< why it is unknown, if a rank could not ask
};

/// The time that NCCL expects for the operation (ncclGroupSimulateEnd: the cost model of
/// src/graph/tuning.cc) on links like that of `end`. The time is missing for a single rank and for
/// all_to_all, whose sends and receives NCCL does not model. Collective for the ranks of `over`;
/// takes as long as making a link. Each estimate makes its own link, because NCCL leaves the simulated operation
/// in the link's plans. NCCL would run it with the next real operation, or mix it with the next
/// simulated one. A failure or signal on one rank does not keep the others from the next calls: all
/// ranks learn of it.
Expectation expected_time(Communicator& over, const LinkEnd& end, const Exchange& exchange);

}  // namespace dlscale::backend::gpu_comm
