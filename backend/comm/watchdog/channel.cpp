#include "backend/comm/watchdog/channel.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

constexpr int socket_flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
/// Time for a rank to identify itself after it has connected.
constexpr Seconds greeting_time{2.0};

int milliseconds(Seconds time) {
  return static_cast<int>(std::max(0.0, time.si() * 1e3));
}

/// An abstract socket name, which needs no file (unix(7), "abstract").
struct LocalAddress {
  sockaddr_un address{};
  socklen_t length = 0;
  LocalAddress(std::uint64_t token, const char* role) {
    address.sun_family = AF_UNIX;
    const std::string name = fmt::format("dlscale-{:016x}-{}", token, role);
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Descriptor listen_locally(std::uint64_t token, int ranks) {
  Descriptor socket(check(::socket(AF_UNIX, socket_flags, 0), "socket"));
  const LocalAddress address(token, "door");
  check(::bind(socket.get(), address.get(), address.length), "bind");
  check(::listen(socket.get(), ranks), "listen");
  return socket;
}

/// An address with a port, of either family.
struct NetworkAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;  ///< 0: not an address
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

NetworkAddress network_address(const char* text, std::uint16_t port) {
  NetworkAddress address;
  auto* const six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  auto* const four = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (::inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.length = sizeof(sockaddr_in6);
  } else if (::inet_pton(AF_INET, text, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.length = sizeof(sockaddr_in);
  }
  return address;
}

/// Listens at one address of this node; nothing if that is not possible.
Descriptor try_to_listen(const char* text, int ranks) {
  const NetworkAddress address = network_address(text, 0);
  Descriptor socket(::socket(address.storage.ss_family, socket_flags, 0));
  const int on = 1;
  // The IPv6 address of all takes IPv4 as well.
  const int off = 0;
  if (socket && address.storage.ss_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, std::string_view(text) == "::" ? &off : &on,
                 sizeof(on));
  }
  const bool bound = socket && ::bind(socket.get(), address.get(), address.length) == 0;
  return bound && ::listen(socket.get(), ranks) == 0 ? std::move(socket) : Descriptor();
}

/// Listens at the first of these addresses that can be used.
Descriptor listen_at(std::initializer_list<const char*> addresses, int ranks) {
  for (const char* address : addresses) {
    if (Descriptor socket = try_to_listen(address, ranks)) return socket;
  }
  check(-1, "listen");
  return {};
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  check(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
  // The port has the same offset in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) bytes = &six->sin6_addr;
  }
  if (bytes == nullptr) return {};
  return ::inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr ? ""
                                                                                     : text.data();
}

/// Addresses of the active interfaces, loopback last.
std::vector<std::string> own_addresses() {
  ifaddrs* list = nullptr;
  check(::getifaddrs(&list), "getifaddrs");
  std::vector<std::string> outer;
  std::vector<std::string> loopback;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const std::string text = text_of(entry->ifa_addr);
    const bool inside = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    if (!text.empty()) (inside ? loopback : outer).push_back(text);
  }
  ::freeifaddrs(list);
  outer.insert(outer.end(), loopback.begin(), loopback.end());
  return outer;
}

/// Addresses of this node that the launcher itself uses between nodes, as its variables for ranks
/// say: of Open MPI, of Hydra (MPICH, Intel MPI), and of Slurm.
std::vector<std::string> used_by_launcher(const std::vector<std::string>& own) {
  std::string said;
  for (const char* variable : {"OMPI_MCA_orte_hnp_uri", "PMI_PORT", "SLURM_LAUNCH_NODE_IPADDR"}) {
    if (const char* value = std::getenv(variable); value != nullptr) said += fmt::format(" {} ", value);
  }
  std::vector<std::string> used;
  for (const std::string& address : own) {
    const std::size_t at = said.find(address);
    const bool loopback = address.starts_with("127.") || address == "::1";
    if (at == std::string::npos || loopback) continue;
    const char before = said[at - 1];
    const char behind = said[at + address.size()];
    const auto goes_on = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; };
    if (!goes_on(before) && !goes_on(behind)) used.push_back(address);
  }
  return used;
}

/// A connection in progress, or nothing if it failed at once.
Descriptor connect_to(const char* text, std::uint16_t port) {
  const NetworkAddress address = network_address(text, port);
  Descriptor socket(::socket(address.storage.ss_family, socket_flags, 0));
  const bool failed = !socket || (::connect(socket.get(), address.get(), address.length) != 0 &&
                                  errno != EINPROGRESS);
  return failed ? Descriptor() : std::move(socket);
}

bool ready(int descriptor, short events, Seconds timeout) {
  pollfd waiting{descriptor, events, 0};
  return ::poll(&waiting, 1, milliseconds(timeout)) == 1;
}

bool connected(const Descriptor& socket, Seconds timeout) {
  if (!socket || !ready(socket.get(), POLLOUT, timeout)) return false;
  int error = 0;
  socklen_t length = sizeof(error);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

std::uint64_t random_token() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

int check(int result, const char* call) {
  if (result >= 0) return result;
  throw LibraryError(
      fmt::format("{} failed for the watchdog of the ranks: {}.{}", call, std::strerror(errno),
                  errno == EMFILE ? " Allow each process more open files (ulimit -n)." : ""));
}

bool is_possible(const StatusMessage& message, std::size_t ranks) {
  return message.rank >= 0 && static_cast<std::size_t>(message.rank) < ranks &&
         message.state <= RankState::silent;
}

void Channel::send(const StatusMessage& message) const {
  // A broken connection is detected when it is read.
  (void)::send(socket_.get(), &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::vector<StatusMessage> Channel::receive() {
  std::vector<StatusMessage> arrived;
  while (!ended_) {
    const ssize_t got =
        ::recv(socket_.get(), partial_.data() + filled_, partial_.size() - filled_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      ended_ = true;
      break;
    }
    filled_ += static_cast<std::size_t>(got);
    if (filled_ < partial_.size()) continue;
    StatusMessage message;
    std::memcpy(&message, partial_.data(), sizeof(message));
    arrived.push_back(message);
    filled_ = 0;
  }
  return arrived;
}

Listener::Listener(int ranks, Reach reach) {
  address_.token = random_token();
  local_ = listen_locally(address_.token, ranks);
  std::vector<std::string> addresses = own_addresses();
  if (reach == Reach::this_node) {
    addresses = {"127.0.0.1"};
  } else if (const auto used = used_by_launcher(addresses); used.size() == 1) {
    addresses = used;
  }
  tcp_ = addresses.size() == 1 ? listen_at({addresses.front().c_str()}, ranks)
                               : listen_at({"::", "0.0.0.0"}, ranks);
  address_.port = port_of(tcp_);
  for (const std::string& address : addresses) {
    if (address_.address_count == address_.addresses.size()) break;
    std::copy(address.begin(), address.end(), address_.addresses[address_.address_count++].begin());
  }
}

std::optional<std::pair<Rank, Channel>> Listener::next(Seconds timeout) {
  std::array<pollfd, 2> sockets{pollfd{local_.get(), POLLIN, 0}, pollfd{tcp_.get(), POLLIN, 0}};
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout.si());
  for (;;) {
    const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
    if (::poll(sockets.data(), sockets.size(), milliseconds(Seconds(left.count()))) <= 0) return {};
    std::optional<std::pair<Rank, Channel>> accepted;
    if (sockets[0].revents != 0) accepted = greet(local_, Channel::Kind::local);
    if (!accepted && sockets[1].revents != 0) accepted = greet(tcp_, Channel::Kind::tcp);
    if (accepted) return accepted;
  }
}

std::optional<std::pair<Rank, Channel>> Listener::greet(const Descriptor& listener,
                                                        Channel::Kind kind) const {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket || !ready(socket.get(), POLLIN, greeting_time)) return {};
  Channel channel(std::move(socket), kind);
  const std::vector<StatusMessage> hello = channel.receive();
  if (hello.empty() || hello.front().token != address_.token) return {};
  return std::pair(hello.front().rank, std::move(channel));
}

std::optional<Channel> call_local(const ListenerAddress& listener, Rank me) {
  Descriptor socket(::socket(AF_UNIX, socket_flags, 0));
  const LocalAddress address(listener.token, "door");
  if (!socket || ::connect(socket.get(), address.get(), address.length) != 0) return {};
  Channel channel(std::move(socket), Channel::Kind::local);
  channel.send({listener.token, me, RankState::well});
  return channel;
}

std::optional<Channel> call_tcp(const ListenerAddress& listener, Rank me, Seconds timeout) {
  for (const auto& address : std::span(listener.addresses).first(listener.address_count)) {
    Descriptor socket = connect_to(address.data(), listener.port);
    if (!connected(socket, timeout)) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    Channel channel(std::move(socket), Channel::Kind::tcp);
    channel.send({listener.token, me, RankState::well});
    return channel;
  }
  return {};
}

bool ReporterClaim::take(std::uint64_t token) {
  held_ = Descriptor(::socket(AF_UNIX, socket_flags, 0));
  const LocalAddress address(token, "reporter");
  return held_ && ::bind(held_.get(), address.get(), address.length) == 0;
}

}  // namespace dlscale::backend
