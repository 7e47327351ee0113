#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/system/output_file.hpp"

namespace dlscale::backend {

/// Returns the result of a system call. Throws LibraryError, which names the call, if it is below
/// 0.
int check(int result, const char* call);

/// State of a rank as reported to the others.
enum class RankState : std::uint32_t {
  well,
  signalled,    ///< received a signal and will leave
  done,         ///< left in good order
  interrupted,  ///< leaves because of a signal
  failed,       ///< leaves because of an error that it printed
  died,         ///< its process ended without a message
  silent,       ///< sent nothing for too long
};

/// Message on a connection: a heartbeat (RankState::well) or the state of a rank. All ranks run the
/// same program on one kind of machine, so its bytes are sent as they are in memory.
struct StatusMessage {
  std::uint64_t token = 0;  ///< token of the job; other processes do not know it
  Rank rank = 0;
  RankState state = RankState::well;
  std::int64_t signal = 0;  ///< for RankState::signalled and interrupted
};

/// Whether a job of `ranks` ranks can have sent it; messages are not checked in transit.
[[nodiscard]] bool is_possible(const StatusMessage& message, std::size_t ranks);

/// A connection between two watchdogs. Never blocks.
class Channel {
 public:
  enum class Kind { local, tcp };
  Channel(Descriptor socket, Kind kind) : socket_(std::move(socket)), kind_(kind) {}
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] Kind kind() const { return kind_; }
  /// Drops a message that does not fit the socket's buffer: the other side has stopped reading.
  void send(const StatusMessage& message) const;
  /// All messages that have arrived. Sets ended().
  std::vector<StatusMessage> receive();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  Descriptor socket_;
  Kind kind_;
  std::array<std::byte, sizeof(StatusMessage)> partial_{};
  std::size_t filled_ = 0;
  bool ended_ = false;
};

/// Endpoint of rank 0. A plain type for a broadcast.
struct ListenerAddress {
  std::uint64_t token = 0;
  std::uint16_t port = 0;
  std::uint16_t address_count = 0;
  std::array<std::array<char, 46>, 8> addresses{};  ///< IPv4 and IPv6 as text, loopback last
};

/// From where ranks connect. Ranks of one node need no address that others can reach.
enum class Reach { this_node, network };

/// Accepts the connections of the other ranks.
class Listener {
 public:
  /// Listens on loopback alone if all ranks are on this node; else at the address that the launcher
  /// uses, or at all if it names none or several. Throws LibraryError naming the call that failed.
  Listener(int ranks, Reach reach);
  [[nodiscard]] const ListenerAddress& address() const { return address_; }
  /// The next rank that has connected and identified itself, or nothing after `timeout`.
  std::optional<std::pair<Rank, Channel>> next(Seconds timeout);

 private:
  std::optional<std::pair<Rank, Channel>> greet(const Descriptor& listener,
                                                Channel::Kind kind) const;
  ListenerAddress address_;
  Descriptor local_;
  Descriptor tcp_;
};

/// Connects to rank 0 and identifies this rank; nothing if rank 0 cannot be reached.
std::optional<Channel> call_local(const ListenerAddress& listener, Rank me);
std::optional<Channel> call_tcp(const ListenerAddress& listener, Rank me, Seconds timeout);

/// True for the first process on this node that asks, among processes that live at the same time:
/// that one reports for all.
class ReporterClaim {
 public:
  bool take(std::uint64_t token);

 private:
  Descriptor held_;
};

}  // namespace dlscale::backend
