#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "backend/comm/launch.hpp"
#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/communicator.hpp"
#include "backend/comm/nccl/device.hpp"
#include "backend/comm/nccl/profile.hpp"
#include "backend/comm/nccl/rendezvous.hpp"
#include "core/error.hpp"

namespace dlscale::backend {
namespace {

using namespace gpu_comm;

const char* from_environment(const char* name) {
  return std::getenv(name);
}

std::unique_ptr<Communicator> connect_host() {
  const Family<CommBackend> backends = family<CommBackend>();
  if (const CommBackend* host = backends.find(launched_backend())) return host->connect();
  const std::optional<Launch> launch = detect_launch(from_environment);
  if (launch && launch->size == 1) return backends.find("local")->connect();
  throw Unsupported(
      "A launcher started this program, but this build has no MPI, by which its ranks could find "
      "each other. Install libopenmpi-dev or libmpich-dev and build again, or name a file that all "
      "ranks share in DLSCALE_RENDEZVOUS, with DLSCALE_RANK and DLSCALE_WORLD.");
}

std::vector<Seat> gather_seats(Communicator& host) {
  const Seat mine = look_around();
  std::vector<Seat> seats(static_cast<std::size_t>(host.size()));
  host.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(seats)));
  return seats;
}

/// The ranks that a launcher started, or one rank alone.
std::unique_ptr<Communicator> connect_launched_ranks() {
  std::unique_ptr<Communicator> host = connect_host();
  const std::vector<Seat> seats = gather_seats(*host);
  const Place place = assign(seats).at(static_cast<std::size_t>(host->rank()));
  return std::make_unique<NcclCommunicator>(std::move(host), place.device);
}

std::vector<Seat> read_seats(const Gathering& gathering) {
  std::vector<Seat> seats(gathering.cards.size());
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    EXPECT(gathering.cards[rank].size() == sizeof(Seat));
    std::memcpy(&seats[rank], gathering.cards[rank].data(), sizeof(Seat));
  }
  return seats;
}

/// Ranks that found each other by a file. Nothing but NCCL is between them, so it carries what is
/// in the host's memory as well.
std::unique_ptr<Communicator> connect_by_file(const RendezvousSetting& setting) {
  const Seat mine = look_around();
  std::vector<std::byte> word;
  if (setting.rank == 0 && mine.visible > 0) {
    const LinkId id = new_link_id(0);
    word.assign(id.begin(), id.end());
  }
  Rendezvous rendezvous(setting);
  const Gathering gathering = rendezvous.meet(std::as_bytes(std::span(&mine, 1)), word);
  const Place place = assign(read_seats(gathering)).at(static_cast<std::size_t>(setting.rank));
  LinkId id{};
  EXPECT(gathering.word.size() == id.size());
  std::memcpy(id.data(), gathering.word.data(), id.size());
  auto host = make_carried({place.device, setting.rank, setting.world}, id, place.node_rank,
                           place.node_size);
  return std::make_unique<NcclCommunicator>(std::move(host), place.device);
}

std::unique_ptr<Communicator> connect() {
  offer_profiler();
  if (const auto setting = rendezvous_setting(from_environment)) return connect_by_file(*setting);
  return connect_launched_ranks();
}

std::string obstacle() {
  const Seat seat = look_around();
  return seat.visible > 0 ? std::string() : std::string(seat.reason.data());
}

std::string obstacle_among(Communicator& launched) {
  try {
    static_cast<void>(assign(gather_seats(launched)));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Who has none is told so by what it would compute with.
std::optional<int> gpu_among(Communicator& launched) {
  const std::vector<Seat> seats = gather_seats(launched);
  if (!all_see_gpus(seats)) return std::nullopt;
  return assign(seats).at(static_cast<std::size_t>(launched.rank())).device;
}

}  // namespace

extern const CommBackend nccl{
    .name = "nccl",
    .doc = "between GPUs, one a rank, of the ranks that mpirun or a file brings together",
    .connect = connect,
    .obstacle = obstacle,
    .obstacle_among = obstacle_among,
    .gpu_among = gpu_among,
};

}  // namespace dlscale::backend
