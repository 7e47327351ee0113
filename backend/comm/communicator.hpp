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
#include "backend/comm/messages.hpp"
#include "core/base/family.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace dlscale::backend {

/// How a rank waits for the others. A spinning rank answers fastest but takes a core from the
/// compute threads that share it; a sleeping one polls every few tens of microseconds.
enum class Waiting { spin, sleep };

/// What a library says of itself about a call on memory of GPUs.
struct CallFacts {
  std::optional<Seconds> expected = {};  ///< its time by the library's own model, if that has one
  std::string choice = {};   ///< "RING, LL128, 24 channels"; empty where none was made or is known
  std::string unknown = {};  ///< what of it is not known, and why; empty if nothing
};

/// A group of ranks that exchange data. Calls are blocking; every rank makes the same calls in the
/// same order. Errors throw LibraryError with call, code and rank. One thread at a time uses a
/// communicator; duplicate() gives another one for another thread.
class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Ranks on this node, and this rank's place among them.
  [[nodiscard]] virtual int node_size() const = 0;
  [[nodiscard]] virtual int node_rank() const = 0;
  /// Number of the GPU on which this rank is to compute, if it does, of those that it sees: its
  /// own, whatever the others of the node take. That of its place on the node, unless it took
  /// another.
  [[nodiscard]] virtual int gpu() const { return gpu_.value_or(node_rank()); }
  void take_gpu(int number) { gpu_ = number; }
  /// "Open MPI 4.1.4", "NCCL 2.28.9", "local".
  [[nodiscard]] virtual std::string library() const = 0;
  /// What carries memory of the host, if that is another.
  [[nodiscard]] virtual std::string host_library() const { return library(); }

  /// Whether all_reduce() of floats, broadcast(), blocking calls of prepare() and send(), receive()
  /// and exchange() also take memory of the rank's GPU; of one exchange() all of it there. They
  /// return when the data is complete there, and begin when the caller calls: what wrote it must be
  /// done.
  [[nodiscard]] virtual bool takes_device_memory() const { return false; }
  /// What the library says of such a call, of which `call` has the memory; carries it out once.
  /// Nothing where it does not say anything of its calls. Collective, and may take as long as
  /// joining the ranks.
  [[nodiscard]] virtual std::optional<CallFacts> facts_of(const CollectiveCall& /*call*/) {
    return std::nullopt;
  }

  virtual void send(std::span<const std::byte> data, Rank to, int tag) = 0;
  virtual void receive(std::span<std::byte> data, Rank from, int tag) = 0;
  /// Sends and receives all of them at once and returns when all are done: ranks that send to each
  /// other do not wait for each other. Messages of one rank and tag arrive in the order in which
  /// they were sent. Throws Unsupported, whatever the lists hold, if this communicator cannot.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in);
  /// The same, but waited for later: nonblocking, or persistent if the library is to be given the
  /// messages before, once for all times that they travel. Of several with messages of one tag
  /// between the same ranks, both ranks start them in the same order. Not collective. The
  /// communicator outlives what it returns. Throws Unsupported as exchange() does.
  [[nodiscard]] virtual std::unique_ptr<PreparedExchange> prepare_exchange(
      std::span<const Outgoing> out, std::span<const Incoming> in, Mode mode);

  virtual void all_reduce(std::span<float> data, Reduction op) = 0;   ///< in place
  virtual void all_reduce(std::span<double> data, Reduction op) = 0;  ///< in place
  virtual void broadcast(std::span<std::byte> data, Rank root) = 0;
  /// `all` holds size() · mine.size() bytes, in rank order.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Any collective of any elements, in memory of the host or, where takes_device_memory(), of the
  /// rank's GPU. Collective itself; the communicator outlives what it returns. Throws Unsupported,
  /// on all ranks alike, for what it does not offer.
  [[nodiscard]] virtual std::unique_ptr<PreparedCollective> prepare(const CollectiveCall& call,
                                                                    Mode mode);
  virtual void barrier() = 0;
  /// Returns once every rank has called it, waiting as `waiting` says. Before a large all-reduce
  /// it keeps a rank that is early from spinning on the core its compute threads need.
  virtual void meet(Waiting waiting) = 0;
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate() = 0;

 private:
  std::optional<int> gpu_;
};

struct CommBackend {
  std::string_view name;
  std::string_view doc;
  /// Joins the ranks this process was launched with. The last communicator to go leaves them in
  /// good order, which waits for all of them; on an error let the exception unwind past it, and it
  /// leaves without waiting.
  std::unique_ptr<Communicator> (*connect)();
  /// Why connect() cannot work on this machine, empty if it can; null where nothing can be missing.
  std::string (*obstacle)() = nullptr;
  /// Why connect() cannot work for the ranks of `launched` together, empty if it can; null where
  /// obstacle() tells all. Collective, with the same answer on every rank.
  std::string (*obstacle_among)(Communicator& launched) = nullptr;
  /// The GPU that this rank of `launched` takes, of those that it sees: its number on the node
  /// modulo their number; nothing if a rank sees none. Collective; null for backends without GPUs.
  std::optional<int> (*gpu_among)(Communicator& launched) = nullptr;
};

/// The backend the environment calls for: "mpi" under mpirun, mpiexec or srun, else "local". No
/// side effects.
std::string_view launched_backend();

/// Connects by launched_backend() and calls check_world(). Throws Unsupported if several ranks were
/// launched and this build cannot join them.
std::unique_ptr<Communicator> connect_launched(int expected);

struct Connection {
  std::unique_ptr<Communicator> communicator;
  std::string name;  ///< of the family
  std::string why;   ///< why this one; empty where there was nothing to choose
};

/// Connects by the best communicator there is for gradients in such memory
/// (backend/comm/choose.hpp), and calls check_world(). Throws what connect_launched() does.
Connection connect_best(int expected, DataPlace gradients);

/// Compares the size of `communicator` with what the launcher set in the environment and, if
/// `expected` > 0, with what the user asked for. On a mismatch throws LibraryError that says which
/// MPI this build uses, which launcher was seen, and the command to type.
void check_world(const Communicator& communicator, int expected);

/// Where gradients lie in memory of GPUs, has each of several ranks take one of its own, as
/// `backend` has it, which may be null: then it stays that of its place on the node. Collective.
void take_gpus(Communicator& ranks, DataPlace gradients, const CommBackend* backend);
/// As the backend of this build that knows of GPUs has it.
void take_gpus(Communicator& ranks, DataPlace gradients);

/// Prepares a blocking one and carries it out.
void carry_out(Communicator& ranks, const CollectiveCall& call);

/// `threads` communicators of one group inside this process, for tests: rank i is used by thread i.
/// all_reduce adds in rank order, so its result is the same for every run and rank.
std::vector<std::unique_ptr<Communicator>> local_group(int threads);

}  // namespace dlscale::backend

namespace dlscale {
template <>
Family<backend::CommBackend> family<backend::CommBackend>();
}  // namespace dlscale
