#include "backend/comm/watchdog/roster.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/fnv1a.hpp"

namespace dlscale::backend {
namespace {

/// Key from the running kernel and the network name space: ranks with the same key share local
/// sockets.
std::uint64_t node_key() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code none;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/net", none);
  return fnv1a(boot + ' ' + space.string());
}

}  // namespace

Card own_card() {
  Card card;
  card.process = ::getpid();
  card.node = node_key();
  if (::gethostname(card.host.data(), card.host.size() - 1) != 0) card.host[0] = '?';
  return card;
}

Roster exchange_cards(Communicator& communicator) {
  const Card mine = own_card();
  Roster roster(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(roster)));
  return roster;
}

std::string ranks_by_host(const Roster& roster) {
  struct Host {
    std::string name;
    std::string ranks;
  };
  std::vector<Host> hosts;
  const auto range = [](std::size_t first, std::size_t last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  };
  for (std::size_t rank = 0; rank < roster.size();) {
    const std::string name = roster[rank].host.data();
    std::size_t last = rank;
    while (last + 1 < roster.size() && roster[last + 1].host.data() == name) ++last;
    auto host = std::ranges::find(hosts, name, &Host::name);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), {name, ""});
    host->ranks += (host->ranks.empty() ? "" : ", ") + range(rank, last);
    rank = last + 1;
  }
  std::vector<std::string> texts;
  for (const Host& host : hosts) texts.push_back(fmt::format("{}: {}", host.name, host.ranks));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string describe(const Roster& roster, Rank rank) {
  const Card& card = roster.at(static_cast<std::size_t>(rank));
  return fmt::format("rank {} (process {} on node {})", rank, card.process, card.host.data());
}

std::string interruption_notice(const Roster& roster, const std::set<Rank>& interrupted) {
  std::vector<std::string> ranks;
  for (const Rank rank : interrupted) ranks.push_back(describe(roster, rank));
  return fmt::format("dlscale: {} {} interrupted; all ranks stop.", fmt::join(ranks, ", "),
                     ranks.size() == 1 ? "was" : "were");
}

std::string notice(const Roster& roster, Rank rank, Fate fate, Seconds patience,
                   const std::filesystem::path& results) {
  std::string text = "dlscale: " + describe(roster, rank);
  if (fate == Fate::failed) {
    text += " stopped because of the error it printed";
  } else if (fate == Fate::silent) {
    text += fmt::format(" has not been heard of for {:.3g} s and counts as dead", patience.si());
  } else {
    text += " died";
  }
  text += "; all ranks stop, for they would wait for it for ever.";
  if (!results.empty()) {
    text += fmt::format(" The results so far are kept in {}.", results.string());
  }
  if (fate == Fate::died) {
    text += " If it printed no reason, see dmesg: the system kills a process when memory is short.";
  }
  return text;
}

}  // namespace dlscale::backend
