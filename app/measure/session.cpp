#include "app/measure/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/connect.hpp"
#include "backend/comm/launch.hpp"
#include "backend/comm/same_settings.hpp"
#include "backend/comm/watchdog/rank_table.hpp"
#include "backend/host/host.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {
namespace {

/// Throws ConfigError under a launcher with several ranks, which "local" cannot join.
void refuse_launcher() {
  const auto launch = backend::detect_launch([](const char* name) { return std::getenv(name); });
  if (!launch || launch->size <= 1) return;
  throw ConfigError(
      fmt::format("--comm local is for one rank by itself, but {} started {} ({}={}), and each "
                  "would measure alone. Leave --comm out, or start one without the launcher.",
                  launch->launcher, launch->size, launch->variable, launch->size));
}

/// The named communicator, or the best for the launcher's ranks. MPI is called after its treatment
/// of GPU memory if there is any.
backend::Connection connect(const SessionOptions& options) {
  if (options.comm == "auto") return backend::connect_best(options.ranks, options.gradients);
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
        fmt::format("\"{}\" is not a communicator. Write auto, local, mpi, mpi_cuda, mpi_staged or "
                    "nccl.",
                    options.comm));
  }
  if (options.comm == "local") refuse_launcher();
  backend::Connection connection{chosen->connect(), options.comm, ""};
  backend::check_world(*connection.communicator, options.ranks);
  if (options.comm != "nccl") take_gpus(*connection.communicator, options.gradients);
  if (options.comm == "mpi" && options.gradients == backend::DataPlace::device) {
    connection.name = connection.communicator->takes_device_memory() ? "mpi_cuda" : "mpi_staged";
  }
  return connection;
}

/// Prints the chosen communicator if there was a choice.
void announce(const backend::Connection& connection) {
  if (connection.why.empty() || connection.communicator->rank() != 0) return;
  fmt::print(stderr, "dlscale: the ranks are joined by {}: {}\n", connection.name, connection.why);
}

/// Whether the launcher bound each rank to its own cores, as Open MPI does for two ranks. The ranks
/// of a node then see different cores, and the binding is kept. Other nodes may have other cores.
bool bound_by_launcher(backend::Communicator& communicator, const backend::RankTable& rank_table,
                       const std::vector<int>& cores) {
  const int first = cores.front();
  std::vector<int> firsts(rank_table.size());
  communicator.all_gather(std::as_bytes(std::span(&first, 1)),
                          std::as_writable_bytes(std::span(firsts)));
  const std::uint64_t node = rank_table.at(static_cast<std::size_t>(communicator.rank())).node;
  for (std::size_t i = 0; i < rank_table.size(); ++i) {
    if (rank_table[i].node == node && firsts[i] != first) return true;
  }
  return false;
}

/// The ranks of the launcher, which all have the same settings; null without a launcher of several.
/// They are asked before anything that settings decide, such as the communicator.
std::unique_ptr<backend::Communicator> agreed_ranks(const SessionOptions& options) {
  const auto launch = backend::detect_launch([](const char* name) { return std::getenv(name); });
  if (options.comm == "local" || !launch || launch->size <= 1) return nullptr;
  auto ranks = backend::connect_launched(options.ranks);
  backend::expect_same_settings(*ranks, options.settings);
  return ranks;
}

/// Sets the watchdog so that several heartbeats are due before a rank counts as dead.
backend::WatchdogOptions watching(const SessionOptions& options) {
  backend::WatchdogOptions watching;
  watching.patience = Seconds(options.patience_s);
  watching.heartbeat = std::min(watching.heartbeat, watching.patience / 5);
  return watching;
}

}  // namespace

Session::Session(const SessionOptions& options)
    : launched_(agreed_ranks(options)), connection_(connect(options)) {
  announce(connection_);
  backend::Communicator& ranks = communicator();
  const std::vector<int> cores = backend::usable_cores();
  const backend::RankTable rank_table = backend::exchange_rank_info(ranks);
  ranks_by_host_ = backend::ranks_by_host(rank_table);
  const bool bound = bound_by_launcher(ranks, rank_table, cores);
  const int sharers = bound ? 1 : ranks.node_size();
  const int even_share = std::max(1, static_cast<int>(cores.size()) / sharers);
  cores_per_rank_ = options.cores_per_rank > 0 ? options.cores_per_rank : even_share;
  backend::bind_to_cores(bound ? 0 : ranks.node_rank(), cores_per_rank_);
  if (ranks.size() > 1) {
    watchdog_ = std::make_unique<backend::Watchdog>(ranks, options.results, watching(options));
  }
}

Session::~Session() = default;

void Session::close() {
  if (watchdog_) watchdog_->dismiss();
  watchdog_.reset();
}

}  // namespace dlscale::app
