#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "bench/comm/traffic/test_numbers.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// Where the result of a collective goes: elsewhere, or over what was given.
enum class Placement { out_of_place, in_place };

/// What the ranks of one cell do with messages of one size.
struct Message {
  std::string collective;  ///< or a pattern of messages between two ranks: traffic_names()
  std::size_t bytes = 0;   ///< of a whole message, as core/results/bandwidths.hpp counts; 0 of a barrier
  backend::ElementType type = backend::ElementType::f32;
  backend::Reduction op = backend::Reduction::sum;
  backend::Mode mode = backend::Mode::blocking;
  std::string algorithm = "library";  ///< or one of core/collective for the collective
  int segments = 1;                   ///< for an algorithm that reads them
  int servers = 1;                    ///< the same; on the ranks, as collective::colocated() says
  Placement placement = Placement::in_place;
  Rank root = 0;  ///< of a reduce or broadcast
};

/// When a rank was at work in a call, by the clock of its host.
struct Stay {
  std::chrono::steady_clock::time_point entry;
  std::chrono::steady_clock::time_point exit;
};

/// Traffic between the ranks of a communicator, which outlives it. All calls are made by all ranks.
class Traffic {
 public:
  Traffic() = default;
  virtual ~Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  /// Bytes of memory that this rank works on at once, at least one.
  [[nodiscard]] virtual std::size_t memory() const = 0;
  /// Writes numbers of which the result is known. `memory` is of that size, here and below.
  virtual void write_numbers(std::span<std::byte> memory) const = 0;
  /// Before once(): the memory to work on from now on. Throws Unsupported, on all ranks alike, for
  /// what the communicator does not offer.
  virtual void use(std::span<std::byte> memory) = 0;
  /// After the last once() with that memory, before it is given back. Memory that comes next may
  /// lie where it lay on one rank and elsewhere on another, and preparing anew is for all or none.
  virtual void leave() {}
  /// Does it. Returns the time on this rank for what bytes_moved() counts: own_time(), or how long
  /// it took divided by parts().
  Seconds once();
  /// Whether line_up() brings the ranks that it involves together, more closely than a barrier
  /// does.
  [[nodiscard]] virtual bool lines_up() const { return false; }
  /// Before once(), instead of meeting: those ranks begin together.
  virtual void line_up() {}
  /// The two parts of once(), of collectives alone. Where they do not block, others may begin
  /// between them, which all ranks begin in the same order and finish in that order.
  virtual void begin();
  virtual void finish();
  /// When the last once() began and ended on this rank.
  [[nodiscard]] const Stay& stay() const { return stay_; }
  /// How often once() does what bytes_moved() counts.
  [[nodiscard]] virtual double parts() const { return 1; }
  /// Whether that rank does anything.
  [[nodiscard]] virtual bool involves(Rank /*rank*/) const { return true; }
  /// What is wrong with the result of write_numbers() and once().
  [[nodiscard]] virtual Mismatch compare(std::span<const std::byte> memory) const = 0;
  /// Nothing for a barrier.
  [[nodiscard]] virtual std::optional<Bytes> bytes_moved() const = 0;
  /// What the algorithm that does it makes of that on the busiest rank, if it is known.
  [[nodiscard]] virtual std::optional<Work> algorithmic_work() const { return std::nullopt; }
  /// Bytes that it works on beside memory().
  [[nodiscard]] virtual std::size_t memory_beside() const { return 0; }
  /// What does it, in words.
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// After use(): what the library says of it, which carries it out once. Nothing where it says
  /// nothing. Collective.
  [[nodiscard]] virtual std::optional<backend::CallFacts> facts() { return std::nullopt; }

 private:
  virtual void carry_out() = 0;
  /// Of the last carry_out(), where this rank is to be timed alone and not with those it waited
  /// for.
  [[nodiscard]] virtual std::optional<Seconds> own_time() const { return std::nullopt; }

  Stay stay_;
};

/// The names of all collectives, and "sendrecv", "bandwidth", "bidirectional", "pairs",
/// "barrier".
std::vector<std::string> traffic_names();

/// The collective of that name, if it is one.
std::optional<backend::Collective> collective_named(std::string_view name);

/// Throws Unsupported, on all ranks alike, where no result could be told to be right, and where the
/// algorithm does not fit these ranks.
std::unique_ptr<Traffic> make_traffic(backend::Communicator& ranks, const Message& message);

/// The same between memories of `device`, which has some of its own and outlives it: use() takes
/// memory of the device, all else numbers of the host. Collectives by the library, as training
/// calls them; where the communicator takes memory of the host only, with the copies that training
/// makes of what it sends. Messages between two ranks, which training does not send, where the
/// communicator takes memory of devices. Throws Unsupported, on all ranks alike, for the rest.
/// Collective.
std::unique_ptr<Traffic> make_device_traffic(backend::Communicator& ranks, const Message& message,
                                             backend::ComputeDevice& device);

/// What carries memory of devices between ranks, in words.
std::string device_library(const backend::Communicator& ranks);

/// Whether that is "bandwidth" or "bidirectional".
bool sends_windows(std::string_view name);

/// Messages under way at once when bandwidth is measured: 64, as osu_bw has it, or as many as
/// 64 MiB hold; at least two.
std::size_t window(std::size_t message_bytes);

/// How a collective is called: prepared once for the memory that it is to work on, or by the very
/// calls of train/exchange/exchange.hpp and train/exchange/carriages.hpp, which prepare every message anew where they
/// prepare it at all. So it is for gradients in memory of a device, and for what is copied to the
/// host to be sent.
enum class Calls { prepared, of_training };

/// Parts of make_traffic() and make_device_traffic(); `place` is where use() takes memory.
std::unique_ptr<Traffic> make_collective_traffic(backend::Communicator& ranks,
                                                 backend::Collective collective,
                                                 const Message& message, backend::DataPlace place,
                                                 Calls calls);
std::unique_ptr<Traffic> make_pair_traffic(backend::Communicator& ranks, const Message& message,
                                           backend::DataPlace place);
std::unique_ptr<Traffic> make_all_pairs_traffic(backend::Communicator& ranks,
                                                const Message& message, backend::DataPlace place);
/// What carries memory of that place, in words.
std::string library_of(const backend::Communicator& ranks, backend::DataPlace place);

/// Of "pairs": whom a rank meets in each round, nobody where that is the rank itself. Every two
/// ranks meet in one round, and in a round no rank meets two. Round-robin tournament by the circle
/// method.
std::vector<Rank> partners(Rank rank, int ranks);

}  // namespace dlscale::bench
