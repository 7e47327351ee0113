#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/comm/collective.hpp"
#include "backend/comm/elements.hpp"
#include "core/base/family.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace dlscale::backend {

/// How a rank waits for the others. A spinning rank answers fastest but takes a core from the
/// compute threads that share it; a sleeping one polls every few tens of microseconds.
enum class WaitPolicy { spin, sleep };

/// Facts that a library reports about a call on GPU memory.
struct CallFacts {
  std::optional<Seconds> expected = {};  ///< predicted by the library's own model, if it has one
  /// For example "RING, LL128, 24 channels"; empty if there was no choice or it is unknown.
  std::string choice = {};
  std::string unknown = {};  ///< which facts are unknown, and why; empty if none
};

/// A group of ranks that exchange data. Calls are blocking; every rank makes the same calls in the
/// same order. Errors throw LibraryError with call, code and rank. One thread at a time uses a
/// communicator; duplicate() gives another one for another thread.
class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Number of ranks on this node, and this rank's position among them.
  [[nodiscard]] virtual int node_size() const = 0;
  [[nodiscard]] virtual int node_rank() const = 0;
  /// Index of the GPU on which this rank computes, among the GPUs visible to the rank. It is
  /// independent of the choice of the node's other ranks. Default: node_rank(), unless take_gpu()
  /// set another one.
  [[nodiscard]] virtual int gpu() const { return gpu_.value_or(node_rank()); }
  void take_gpu(int number) { gpu_ = number; }
  /// "Open MPI 4.1.4", "NCCL 2.28.9", "local".
  [[nodiscard]] virtual std::string library() const = 0;
  /// The library that moves host memory, if it is a different one.
  [[nodiscard]] virtual std::string host_library() const { return library(); }

  /// Whether all_reduce() of floats, broadcast(), blocking calls of prepare(), send(), receive()
  /// and exchange() also accept memory of the rank's GPU. All messages of one exchange() are then
  /// in GPU memory. Calls return when the data is complete there. They begin at once: the work that
  /// wrote the data must be finished.
  [[nodiscard]] virtual bool takes_device_memory() const { return false; }
  /// Facts that the library reports about the call whose memory `call` names; executes it once.
  /// Nothing if the library does not report facts about its calls. Collective; may take as long as
  /// joining the ranks.
  [[nodiscard]] virtual std::optional<CallFacts> facts_of(const CollectiveCall& /*call*/) {
    return std::nullopt;
  }

  virtual void send(std::span<const std::byte> data, Rank to, int tag) = 0;
  virtual void receive(std::span<std::byte> data, Rank from, int tag) = 0;
  /// Sends and receives all messages concurrently and returns when all are done: ranks that send to
  /// each other do not block each other. Messages of one rank and tag arrive in the order of
  /// sending. Throws Unsupported, whatever the lists hold, if this communicator does not implement
  /// it.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in);
  /// As exchange(), but waited for later. `mode` is nonblocking, or persistent if the library
  /// should receive the messages once, before they travel repeatedly. If several exchanges have
  /// messages of one tag between the same ranks, both ranks start them in the same order. Not
  /// collective. The communicator outlives the returned object. Throws Unsupported as exchange()
  /// does.
  [[nodiscard]] virtual std::unique_ptr<PreparedExchange> prepare_exchange(
      std::span<const Outgoing> out, std::span<const Incoming> in, Mode mode);

  virtual void all_reduce(std::span<float> data, Reduction op) = 0;   ///< in place
  virtual void all_reduce(std::span<double> data, Reduction op) = 0;  ///< in place
  virtual void broadcast(std::span<std::byte> data, Rank root) = 0;
  /// `all` holds size() · mine.size() bytes, in rank order.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Any collective on any element type, in host memory or, where takes_device_memory(), in memory
  /// of the rank's GPU. Collective; the communicator outlives the returned object. Throws
  /// Unsupported, on all ranks alike, for operations that it does not offer.
  [[nodiscard]] virtual std::unique_ptr<PreparedCollective> prepare(const CollectiveCall& call,
                                                                    Mode mode);
  virtual void barrier() = 0;
  /// Barrier that waits as `waiting` says. Before a large all-reduce it keeps an early rank from
  /// spinning on the core that its compute threads need.
  virtual void barrier(WaitPolicy waiting) = 0;
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate() = 0;

 private:
  std::optional<int> gpu_;
};

struct CommBackend {
  std::string_view name;
  std::string_view doc;
  /// Joins the ranks with which this process was launched. The last communicator to be destroyed
  /// leaves the group cleanly, which waits for all ranks. On an error, let the exception unwind
  /// past it: it then leaves without waiting.
  std::unique_ptr<Communicator> (*connect)();
  /// Why connect() cannot work on this machine, empty if it can; null if it always works.
  std::string (*obstacle)() = nullptr;
  /// Why connect() cannot work for the ranks of `launched` together, empty if it can; null where
  /// obstacle() suffices. Collective, with the same answer on every rank.
  std::string (*obstacle_among)(Communicator& launched) = nullptr;
  /// Index of the GPU for this rank of `launched`, among those visible to it: node rank modulo
  /// their number. Nothing if a rank sees no GPU. Collective; null for backends without GPUs.
  std::optional<int> (*gpu_among)(Communicator& launched) = nullptr;
};

/// The backend that the environment implies: "mpi" under mpirun, mpiexec or srun, else "local". No
/// side effects.
std::string_view launched_backend();

/// Connects by launched_backend() and calls check_world(). Throws Unsupported if several ranks were
/// launched and this build cannot join them.
std::unique_ptr<Communicator> connect_launched(int expected);

struct Connection {
  std::unique_ptr<Communicator> communicator;
  std::string name;  ///< name in the family
  std::string why;   ///< why this one; empty if there was no choice
};

/// Connects with the best available communicator for gradients in that memory
/// (backend/comm/connect.hpp) and calls check_world(). Throws as connect_launched() does.
Connection connect_best(int expected, DataPlace gradients);

/// Compares the size of `communicator` with the launcher's environment variables and, if `expected`
/// > 0, with the user's number. On a mismatch throws LibraryError, which names the MPI of this
/// build, the detected launcher, and the command to type.
void check_world(const Communicator& communicator, int expected);

/// If gradients are in GPU memory and there are several ranks, gives each rank its own GPU by
/// `backend`. If `backend` is null, each keeps the GPU of its position on the node. Collective.
void take_gpus(Communicator& ranks, DataPlace gradients, const CommBackend* backend);
/// As above, with the backend of this build that supports GPUs.
void take_gpus(Communicator& ranks, DataPlace gradients);

/// Prepares a blocking collective and executes it.
void carry_out(Communicator& ranks, const CollectiveCall& call);

/// `threads` communicators of one group inside this process, for tests: thread i uses rank i.
/// all_reduce adds in rank order, so its result is the same for every run and rank.
std::vector<std::unique_ptr<Communicator>> local_group(int threads);

}  // namespace dlscale::backend

namespace dlscale {
template <>
Family<backend::CommBackend> family<backend::CommBackend>();
}  // namespace dlscale
