#include "backend/comm/watchdog/rank_table.hpp"

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

RankInfo own_rank_info() {
  RankInfo info;
  info.process = ::getpid();
  info.node = node_key();
  if (::gethostname(info.host.data(), info.host.size() - 1) != 0) info.host[0] = '?';
  return info;
}

RankTable exchange_rank_info(Communicator& communicator) {
  const RankInfo mine = own_rank_info();
  RankTable rank_table(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(rank_table)));
  return rank_table;
}

std::string ranks_by_host(const RankTable& rank_table) {
  struct Host {
    std::string name;
    std::string ranks;
  };
  std::vector<Host> hosts;
  const auto range = [](std::size_t first, std::size_t last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  };
  for (std::size_t rank = 0; rank < rank_table.size();) {
    const std::string name = rank_table[rank].host.data();
    std::size_t last = rank;
    while (last + 1 < rank_table.size() && rank_table[last + 1].host.data() == name) ++last;
    auto host = std::ranges::find(hosts, name, &Host::name);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), {name, ""});
    host->ranks += (host->ranks.empty() ? "" : ", ") + range(rank, last);
    rank = last + 1;
  }
  std::vector<std::string> texts;
  for (const Host& host : hosts) texts.push_back(fmt::format("{}: {}", host.name, host.ranks));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string describe(const RankTable& rank_table, Rank rank) {
  const RankInfo& info = rank_table.at(static_cast<std::size_t>(rank));
  return fmt::format("rank {} (process {} on node {})", rank, info.process, info.host.data());
}

std::string interruption_notice(const RankTable& rank_table, const std::set<Rank>& interrupted) {
  std::vector<std::string> ranks;
  for (const Rank rank : interrupted) ranks.push_back(describe(rank_table, rank));
  return fmt::format("dlscale: {} {} interrupted; all ranks stop.", fmt::join(ranks, ", "),
                     ranks.size() == 1 ? "was" : "were");
}

std::string notice(const RankTable& rank_table, Rank rank, RankState state, Seconds patience,
                   const std::filesystem::path& results) {
  std::string text = "dlscale: " + describe(rank_table, rank);
  if (state == RankState::failed) {
    text += " stopped because of the error it printed";
  } else if (state == RankState::silent) {
    text += fmt::format(" has not been heard of for {:.3g} s and counts as dead", patience.si());
  } else {
    text += " died";
  }
  text += "; all ranks stop, for they would wait for it for ever.";
  if (!results.empty()) {
    text += fmt::format(" The results so far are kept in {}.", results.string());
  }
  if (state == RankState::died) {
    text += " If it printed no reason, see dmesg: the system kills a process when memory is short.";
  }
  return text;
}

}  // namespace dlscale::backend
