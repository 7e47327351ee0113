#include "app/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backend/host/host.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

const backend::CommBackend& choose_backend(const std::string& name) {
  const auto backends = family<backend::CommBackend>();
  const std::string wanted = name == "auto" ? std::string(backend::launched_backend()) : name;
  if (const auto* found = backends.find(wanted)) return *found;
  for (const Absent& absent : backends.absent) {
    if (absent.name == wanted) {
      throw Unsupported(
          fmt::format("This build has no communicator \"{}\": {}. Install it and build again, or "
                      "run one rank without a launcher.",
                      wanted, absent.reason));
    }
  }
  throw ConfigError(fmt::format("\"{}\" is no communicator. Write auto, local or mpi.", wanted));
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

Session::Session(const SessionOptions& options)
    : communicator_(choose_backend(options.comm).connect()) {
  check_world(*communicator_, options.ranks);
  const std::vector<int> cores = backend::usable_cores();
  const int usable = static_cast<int>(cores.size());
  if (bound_by_launcher(*communicator_, cores)) {
    if (options.cores_per_rank > usable) {
      throw ConfigError(
          fmt::format("--cores-per-rank is {}, but the launcher bound this rank to {} core(s). "
                      "Launch with mpirun --bind-to none.",
                      options.cores_per_rank, usable));
    }
    cores_per_rank_ = usable;
  } else {
    const int even_share = std::max(1, usable / communicator_->node_size());
    cores_per_rank_ = options.cores_per_rank > 0 ? options.cores_per_rank : even_share;
    backend::bind_to_cores(communicator_->node_rank(), cores_per_rank_);
  }
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
