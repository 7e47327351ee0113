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

/// Destination of a collective's result: other memory, or over the input.
enum class Placement { out_of_place, in_place };

/// The collective or pattern that one cell measures, with its message size.
struct Message {
  std::string collective;  ///< or a pattern of point-to-point messages: traffic_names()
  /// Size of a whole message, as core/results/bandwidths.hpp counts; 0 for a barrier.
  std::size_t bytes = 0;
  backend::ElementType type = backend::ElementType::f32;
  backend::Reduction op = backend::Reduction::sum;
  backend::Mode mode = backend::Mode::blocking;
  std::string algorithm = "library";  ///< or one of core/collective for the collective
  int segments = 1;                   ///< for an algorithm that reads it
  int servers = 1;  ///< likewise; servers run on the ranks, see collective::colocated()
  Placement placement = Placement::in_place;
  Rank root = 0;  ///< for a reduce or broadcast
};

/// When a rank was in a call, by its host's clock.
struct Stay {
  std::chrono::steady_clock::time_point entry;
  std::chrono::steady_clock::time_point exit;
};

/// Traffic between the ranks of a communicator, which must outlive it. All calls are collective.
class Traffic {
 public:
  Traffic() = default;
  virtual ~Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  /// Bytes of this rank's working memory, at least one.
  [[nodiscard]] virtual std::size_t memory() const = 0;
  /// Writes input data whose result is known. `memory` has that size, here and below.
  virtual void write_numbers(std::span<std::byte> memory) const = 0;
  /// Sets the memory to work on, before once(). Throws Unsupported on all ranks if the communicator
  /// does not support the message.
  virtual void use(std::span<std::byte> memory) = 0;
  /// Releases the memory after its last once(), before it is freed. Memory allocated next may reuse
  /// the address on one rank and not on another, but either all ranks or none must prepare anew.
  virtual void leave() {}
  /// Runs once. Returns this rank's time for the bytes that bytes_moved() counts: own_time(), or
  /// the elapsed time divided by parts().
  Seconds once();
  /// Whether line_up() synchronises the ranks that it involves more closely than a barrier.
  [[nodiscard]] virtual bool lines_up() const { return false; }
  /// Synchronises those ranks before once(), instead of a barrier.
  virtual void line_up() {}
  /// When the last once() began and ended on this rank.
  [[nodiscard]] const Stay& stay() const { return stay_; }
  /// How many times once() moves the bytes of bytes_moved().
  [[nodiscard]] virtual double parts() const { return 1; }
  /// Whether that rank takes part.
  [[nodiscard]] virtual bool involves(Rank /*rank*/) const { return true; }
  /// Compares the result of write_numbers() and once() with the known one.
  [[nodiscard]] virtual Mismatch compare(std::span<const std::byte> memory) const = 0;
  /// Bytes moved; empty for a barrier.
  [[nodiscard]] virtual std::optional<Bytes> bytes_moved() const = 0;
  /// Work of the algorithm on the busiest rank, if it is known.
  [[nodiscard]] virtual std::optional<Work> algorithmic_work() const { return std::nullopt; }
  /// Bytes of working memory besides memory().
  [[nodiscard]] virtual std::size_t memory_beside() const { return 0; }
  /// Name of the implementation.
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// Facts that the library reports about the call, which runs it once. Call it after use(). Empty
  /// where the library reports nothing. Collective.
  [[nodiscard]] virtual std::optional<backend::CallFacts> facts() { return std::nullopt; }

 private:
  virtual void carry_out() = 0;
  /// Time of the last carry_out() for a rank that is timed without the ranks it waited for; else
  /// empty.
  [[nodiscard]] virtual std::optional<Seconds> own_time() const { return std::nullopt; }

  Stay stay_;
};

/// The names of all collectives, and "sendrecv", "bandwidth", "bidirectional", "pairs", "barrier".
std::vector<std::string> traffic_names();

/// The collective with that name; empty for a pattern.
std::optional<backend::Collective> collective_named(std::string_view name);

/// Throws Unsupported on all ranks if no result can be checked, or if the algorithm does not fit
/// the number of ranks.
std::unique_ptr<Traffic> make_traffic(backend::Communicator& ranks, const Message& message);

/// Traffic between memories of `device`, which has its own and must outlive it. use() takes device
/// memory; all other calls take host memory. Collective.
///
/// Collectives are those of the library, called as in training. If the communicator takes only host
/// memory, they include training's staging copies. Point-to-point messages, which training does not
/// send, need a communicator that takes device memory. Throws Unsupported on all ranks for the
/// rest.
std::unique_ptr<Traffic> make_device_traffic(backend::Communicator& ranks, const Message& message,
                                             backend::ComputeDevice& device);

/// Name of the library that moves device memory between ranks.
std::string device_library(const backend::Communicator& ranks);

/// Whether `name` is "bandwidth" or "bidirectional".
bool sends_windows(std::string_view name);

/// Number of messages in flight for a bandwidth test: 64, as in osu_bw, or as many as fit in 64
/// MiB; at least two.
std::size_t window(std::size_t message_bytes);

/// How a collective is called. prepared: set up once for its memory. of_training: by the calls of
/// train/exchange/gradient_reducer.hpp, which prepare each message
/// anew if at all. Training uses the latter for gradients in device memory and for staging copies.
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
/// Name of the library that moves memory of that place.
std::string library_of(const backend::Communicator& ranks, backend::DataPlace place);

/// Partner of a rank in each round of "pairs"; the rank itself where it pauses. Every two ranks
/// meet in exactly one round, and each rank has at most one partner a round. Round-robin tournament
/// by the circle method.
std::vector<Rank> partners(Rank rank, int ranks);

}  // namespace dlscale::bench
