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
#include "core/system/descriptor.hpp"

namespace dlscale::backend {

/// What a call of the system returned. Throws LibraryError, naming the call, if that is below 0.
int check(int result, const char* call);

/// What is said of a rank.
enum class Fate : std::uint32_t {
  well,
  signalled,    ///< a signal came there; it will leave
  done,         ///< left in good order
  interrupted,  ///< leaves because of a signal
  failed,       ///< leaves because of an error that it printed
  died,         ///< its process is gone without a word
  silent,       ///< nothing was heard of it for too long
};

/// What goes over a line: a sign of life (Fate::well) or news of a rank. All ranks run the same
/// program on one kind of machine, so it travels as it lies in memory.
struct News {
  std::uint64_t token = 0;  ///< of the job; strangers do not know it
  Rank rank = 0;
  Fate fate = Fate::well;
  std::int64_t signal = 0;  ///< of Fate::signalled and interrupted
};

/// Whether a rank of so many can have sent it: it is not checked on its way.
[[nodiscard]] bool is_possible(const News& news, std::size_t ranks);

/// A connection between two watchdogs. Never blocks.
class Line {
 public:
  enum class Kind { local, tcp };
  Line(Descriptor socket, Kind kind) : socket_(std::move(socket)), kind_(kind) {}
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] Kind kind() const { return kind_; }
  /// News that does not fit the socket's buffer is dropped: the other side has stopped reading.
  void send(const News& news) const;
  /// All that has arrived. Sets ended().
  std::vector<News> receive();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  Descriptor socket_;
  Kind kind_;
  std::array<std::byte, sizeof(News)> partial_{};
  std::size_t filled_ = 0;
  bool ended_ = false;
};

/// Where rank 0 can be reached. Plain bytes, for a broadcast.
struct Invitation {
  std::uint64_t token = 0;
  std::uint16_t port = 0;
  std::uint16_t address_count = 0;
  std::array<std::array<char, 46>, 8> addresses{};  ///< IPv4 and IPv6 as text, loopback last
};

/// Listens for the other ranks.
class Door {
 public:
  /// Throws LibraryError naming the call that failed.
  explicit Door(int ranks);
  [[nodiscard]] const Invitation& invitation() const { return invitation_; }
  /// The next rank that has come in and said who it is, or nothing if none did within `timeout`.
  std::optional<std::pair<Rank, Line>> next(Seconds timeout);

 private:
  std::optional<std::pair<Rank, Line>> greet(const Descriptor& listener, Line::Kind kind) const;
  Invitation invitation_;
  Descriptor local_;
  Descriptor tcp_;
};

/// Connects to rank 0 and says who calls; nothing if it cannot be reached.
std::optional<Line> call_local(const Invitation& invitation, Rank me);
std::optional<Line> call_tcp(const Invitation& invitation, Rank me, Seconds timeout);

/// True for the first process on this node to ask, of those that ask within the life of the others:
/// who reports for all.
class ReporterClaim {
 public:
  bool take(std::uint64_t token);

 private:
  Descriptor held_;
};

}  // namespace dlscale::backend
