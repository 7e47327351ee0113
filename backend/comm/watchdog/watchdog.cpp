#include "backend/comm/watchdog/watchdog.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/watchdog/roster.hpp"
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

bool may_use_local_socket(const Roster& roster, Rank rank, const WatchdogOptions& options) {
  return options.link == WatchdogOptions::Link::automatic &&
         roster[static_cast<std::size_t>(rank)].node == roster.front().node;
}

std::optional<Line> call(const Invitation& invitation, const Roster& roster, Rank me,
                         const WatchdogOptions& options) {
  if (may_use_local_socket(roster, me, options)) return call_local(invitation, me);
  return call_tcp(invitation, me, connection_time);
}

/// Accepts the ranks that have called; `called` marks them.
std::vector<Watch::Peer> let_in(Door& door, const std::vector<std::uint8_t>& called) {
  std::vector<std::optional<Line>> lines(called.size());
  auto missing = std::count(called.begin() + 1, called.end(), std::uint8_t{1});
  while (missing > 0) {
    std::optional<std::pair<Rank, Line>> guest = door.next(connection_time);
    if (!guest) break;
    const auto rank = static_cast<std::size_t>(guest->first);
    if (rank >= lines.size() || lines[rank]) continue;
    lines[rank] = std::move(guest->second);
    --missing;
  }
  std::vector<Watch::Peer> peers;
  for (std::size_t rank = 1; rank < lines.size(); ++rank) {
    if (lines[rank]) peers.push_back({static_cast<Rank>(rank), std::move(*lines[rank])});
  }
  return peers;
}

void warn_of_strangers(const Roster& roster, const std::vector<std::uint8_t>& admitted) {
  for (std::size_t rank = 1; rank < admitted.size(); ++rank) {
    if (admitted[rank] != 0) continue;
    fmt::print(stderr,
               "dlscale: warning: {} cannot reach rank 0, so if it dies the others may wait for it "
               "for ever. Allow TCP connections between the nodes.\n",
               describe(roster, static_cast<Rank>(rank)));
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

Connected connect_all(Communicator& communicator, const Roster& roster,
                      const WatchdogOptions& options) {
  const Rank me = communicator.rank();
  std::optional<Door> door;
  if (me == 0) door.emplace(communicator.size());
  Invitation invitation = door ? door->invitation() : Invitation{};
  communicator.broadcast(bytes_of(invitation), 0);

  std::optional<Line> line;
  if (me != 0) line = call(invitation, roster, me, options);
  std::uint8_t reached = line ? 1 : 0;
  std::vector<std::uint8_t> present(roster.size());
  communicator.all_gather(bytes_of(reached), std::as_writable_bytes(std::span(present)));

  Connected connected{invitation.token, {}};
  if (door) {
    connected.peers = let_in(*door, present);
    std::fill(present.begin(), present.end(), std::uint8_t{0});
    for (const Watch::Peer& peer : connected.peers)
      present[static_cast<std::size_t>(peer.rank)] = 1;
    warn_of_strangers(roster, present);
  }
  communicator.broadcast(std::as_writable_bytes(std::span(present)), 0);
  // A connection that rank 0 does not know leads to another process.
  if (line && present[static_cast<std::size_t>(me)] != 0) {
    connected.peers.push_back({0, std::move(*line)});
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
  Roster roster = exchange_cards(communicator);
  Connected connected = connect_all(communicator, roster, options);
  impl_->watch.emplace(Watch::Setting{std::move(roster), communicator.rank(), connected.token,
                                      std::move(results), options},
                       std::move(connected.peers));
}

Watchdog::~Watchdog() {
  if (!impl_->watch) return;
  const bool unwinding = std::uncaught_exceptions() > impl_->exceptions_before;
  if (pending_signal() != 0) {
    impl_->watch->leave(Fate::interrupted);
  } else {
    impl_->watch->leave(unwinding ? Fate::failed : Fate::done);
  }
}

void Watchdog::dismiss() {
  if (!impl_->watch) return;
  impl_->communicator->barrier();
  impl_->watch.reset();
}

}  // namespace dlscale::backend
