#include <algorithm>
#include <vector>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"

namespace dlscale::collective {
namespace {

/// In turn t of p ranks and S servers, rank w meets server (w + t) mod max(p, S), if it exists: so
/// each meets only one at a time. In one pass over all turns each rank meets each server.
struct Turns {
  int ranks = 1;
  int servers = 1;
  [[nodiscard]] int count() const { return std::max(ranks, servers); }
  /// The server that a rank meets, or -1.
  [[nodiscard]] int server(int turn, Rank rank) const {
    const int met = (rank + turn) % count();
    return met < servers ? met : -1;
  }
};

/// Each server has one part of the message, in segments. In pass i, ranks push segment i of all
/// parts, which servers sum, and pull segment i - 1.
Schedule parameter_server_schedule(const Settings& settings) {
  const int p = settings.p;
  const int k = settings.segments;
  const int S = settings.servers;
  EXPECT(p >= 1 && k >= 1 && S >= 1);
  const Turns turns{p, S};
  Schedule result{p, S * k, {}};
  result.helpers = S;
  std::vector<bool> begun(static_cast<std::size_t>(S * k));
  for (int pass = 0; pass <= k; ++pass) {
    for (int turn = 0; turn < turns.count(); ++turn) {
      Round round;
      for (Rank rank = 0; rank < p; ++rank) {
        const int server = turns.server(turn, rank);
        if (server < 0) continue;
        const int slot = server * k + pass;
        if (pass < k) {
          const auto action = begun[slot] ? Transfer::Action::add : Transfer::Action::copy;
          round.push_back({rank, p + server, slot, 1, action});
          begun[slot] = true;
        }
        if (pass > 0) round.push_back({p + server, rank, slot - 1, 1, Transfer::Action::copy});
      }
      result.rounds.push_back(round);
    }
  }
  return result;
}

/// T = (k + 1) M (α + m/(kS) β) + k (M - 1) m/(kS) γ with M = max(p, S). Pushing a segment takes
/// the slower of all ranks of S servers and all servers of p ranks; pulling it overlaps pushing the
/// next one   [derived; 2 p m β with S = 1 and k = 1, as in Paleo]. For p = 1 nothing is added.
Seconds parameter_server_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double M = std::max(settings.p, settings.servers);
  const double k = settings.segments;
  const Bytes c = m / (k * settings.servers);
  const double adding = settings.p == 1 ? 0 : k * (M - 1);
  return (k + 1) * M * (alpha + c * beta) + adding * c * gamma;
}

}  // namespace

extern const Algorithm all_reduce_parameter_server{
    "parameter_server",
    "ranks push to servers, which add, and pull from them; a part of the message on each server",
    Collective::all_reduce,
    parameter_server_schedule,
    parameter_server_cost,
    Outflow::every_rank,
    Traits{.segments = true, .servers = true}};

}  // namespace dlscale::collective
