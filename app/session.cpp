#include "app/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backend/host/host.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

/// The communicator that was named, or the one that the launcher calls for.
std::unique_ptr<backend::Communicator> connect(const SessionOptions& options) {
  if (options.comm == "auto") return backend::connect_launched(options.ranks);
  const auto backends = family<backend::CommBackend>();
  const backend::CommBackend* chosen = backends.find(options.comm);
  if (chosen == nullptr) {
    for (const Absent& absent : backends.absent) {
      if (absent.name != options.comm) continue;
      throw Unsupported(
          fmt::format("This build has no communicator \"{}\": {}. Install it and build again, or "
                      "run one rank without a launcher.",
                      options.comm, absent.reason));
    }
    throw ConfigError(
        fmt::format("\"{}\" is no communicator. Write auto, local, mpi or nccl.", options.comm));
  }
  std::unique_ptr<backend::Communicator> communicator = chosen->connect();
  backend::check_world(*communicator, options.ranks);
  return communicator;
}

/// Launchers may have bound each rank to cores of its own, as Open MPI does for two ranks: then the
/// ranks of a node see different cores, and that binding is kept.
bool bound_by_launcher(backend::Communicator& communicator, const std::vector<int>& cores) {
  const int first = cores.front();
  std::vector<int> firsts(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&first, 1)),
                          std::as_writable_bytes(std::span(firsts)));
  return std::ranges::any_of(firsts, [&](int other) { return other != first; });
}

}  // namespace

Session::Session(const SessionOptions& options) : communicator_(connect(options)) {
  const std::vector<int> cores = backend::usable_cores();
  const bool bound = bound_by_launcher(*communicator_, cores);
  const int sharers = bound ? 1 : communicator_->node_size();
  const int even_share = std::max(1, static_cast<int>(cores.size()) / sharers);
  cores_per_rank_ = options.cores_per_rank > 0 ? options.cores_per_rank : even_share;
  backend::bind_to_cores(bound ? 0 : communicator_->node_rank(), cores_per_rank_);
  if (communicator_->size() > 1) {
    watchdog_ = std::make_unique<backend::Watchdog>(*communicator_, options.results);
  }
}

Session::~Session() = default;

void Session::close() {
  if (watchdog_) watchdog_->dismiss();
  watchdog_.reset();
}

}  // namespace dlscale::app
