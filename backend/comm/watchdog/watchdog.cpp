#include "backend/comm/watchdog/watchdog.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/watchdog/rank_table.hpp"
#include "backend/comm/watchdog/watch.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend {
namespace {

/// Timeout for reaching rank 0 at one of its addresses, and for rank 0 to accept that rank.
constexpr Seconds connection_time{3.0};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Reach reach_of(const RankTable& rank_table) {
  const auto is_here = [&](const RankInfo& info) { return info.node == rank_table.front().node; };
  return std::ranges::all_of(rank_table, is_here) ? Reach::this_node : Reach::network;
}

bool may_use_local_socket(const RankTable& rank_table, Rank rank, const WatchdogOptions& options) {
  return options.link == WatchdogOptions::Link::automatic &&
         rank_table[static_cast<std::size_t>(rank)].node == rank_table.front().node;
}

std::optional<Channel> call(const ListenerAddress& address, const RankTable& rank_table, Rank me,
                            const WatchdogOptions& options) {
  if (may_use_local_socket(rank_table, me, options)) return call_local(address, me);
  return call_tcp(address, me, connection_time);
}

/// Accepts the ranks that have called; `called` marks them.
std::vector<Watch::Peer> let_in(Listener& listener, const std::vector<std::uint8_t>& called) {
  std::vector<std::optional<Channel>> lines(called.size());
  auto missing = std::count(called.begin() + 1, called.end(), std::uint8_t{1});
  while (missing > 0) {
    std::optional<std::pair<Rank, Channel>> accepted = listener.next(connection_time);
    if (!accepted) break;
    const auto rank = static_cast<std::size_t>(accepted->first);
    if (rank >= lines.size() || lines[rank]) continue;
    lines[rank] = std::move(accepted->second);
    --missing;
  }
  std::vector<Watch::Peer> peers;
  for (std::size_t rank = 1; rank < lines.size(); ++rank) {
    if (lines[rank]) peers.push_back({static_cast<Rank>(rank), std::move(*lines[rank])});
  }
  return peers;
}

void warn_of_strangers(const RankTable& rank_table, const std::vector<std::uint8_t>& admitted) {
  for (std::size_t rank = 1; rank < admitted.size(); ++rank) {
    if (admitted[rank] != 0) continue;
    fmt::print(stderr,
               "dlscale: warning: {} cannot reach rank 0, so if it dies the others may wait for it "
               "for ever. Allow TCP connections between the nodes.\n",
               describe(rank_table, static_cast<Rank>(rank)));
  }
}

/// MPICH's launcher with -disable-auto-cleanup leaves the ranks alone when one dies, but sends them
/// this signal. Unless ignored, it ends a process before it can report the death.
void ignore_signal_of_launcher() {
  struct sigaction now = {};
  if (sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
    std::signal(SIGUSR1, SIG_IGN);
  }
}

struct Connected {
  std::uint64_t token = 0;
  std::vector<Watch::Peer> peers;
};

Connected connect_all(Communicator& communicator, const RankTable& rank_table,
                      const WatchdogOptions& options) {
  const Rank me = communicator.rank();
  std::optional<Listener> listener;
  if (me == 0) listener.emplace(communicator.size(), reach_of(rank_table));
  ListenerAddress address = listener ? listener->address() : ListenerAddress{};
  communicator.broadcast(bytes_of(address), 0);

  std::optional<Channel> channel;
  if (me != 0) channel = call(address, rank_table, me, options);
  std::uint8_t reached = channel ? 1 : 0;
  std::vector<std::uint8_t> present(rank_table.size());
  communicator.all_gather(bytes_of(reached), std::as_writable_bytes(std::span(present)));

  Connected connected{address.token, {}};
  if (listener) {
    connected.peers = let_in(*listener, present);
    std::fill(present.begin(), present.end(), std::uint8_t{0});
    for (const Watch::Peer& peer : connected.peers)
      present[static_cast<std::size_t>(peer.rank)] = 1;
    warn_of_strangers(rank_table, present);
  }
  communicator.broadcast(std::as_writable_bytes(std::span(present)), 0);
  // A connection that rank 0 does not know leads to another process.
  if (channel && present[static_cast<std::size_t>(me)] != 0) {
    connected.peers.push_back({0, std::move(*channel)});
  }
  return connected;
}

}  // namespace

struct Watchdog::Impl {
  Communicator* communicator = nullptr;
  int exceptions_before = std::uncaught_exceptions();
  std::optional<Watch> watch;
};

Watchdog::Watchdog(Communicator& communicator, std::filesystem::path results,
                   WatchdogOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->communicator = &communicator;
  if (communicator.size() == 1) return;
  ignore_signal_of_launcher();
  RankTable rank_table = exchange_rank_info(communicator);
  Connected connected = connect_all(communicator, rank_table, options);
  impl_->watch.emplace(Watch::Setting{std::move(rank_table), communicator.rank(), connected.token,
                                      std::move(results), options},
                       std::move(connected.peers));
}

Watchdog::~Watchdog() {
  if (!impl_->watch) return;
  const bool unwinding = std::uncaught_exceptions() > impl_->exceptions_before;
  if (pending_signal() != 0) {
    impl_->watch->leave(RankState::interrupted);
  } else {
    impl_->watch->leave(unwinding ? RankState::failed : RankState::done);
  }
}

void Watchdog::dismiss() {
  if (!impl_->watch) return;
  impl_->communicator->barrier();
  impl_->watch.reset();
}

}  // namespace dlscale::backend
