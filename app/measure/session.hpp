#pragma once
#include <memory>
#include <string>

#include "backend/comm/communicator.hpp"
#include "backend/comm/watchdog.hpp"
#include "core/base/signal_thread.hpp"

namespace dlscale::app {

/// How the ranks of this process are joined and bound, as asked for on the command line.
struct SessionOptions {
  std::string comm = "auto";  ///< auto, or a member of the family of communicators
  backend::DataPlace gradients = backend::DataPlace::host;
  int ranks = 0;              ///< how many the user expects; 0 = as launched
  int cores_per_rank = 0;     ///< 0 = an even share of the node
  std::string results;        ///< named if a rank dies
  std::string set_elsewhere;  ///< options that the command line does not name
  double patience_s = backend::WatchdogOptions{}.patience.si();  ///< see WatchdogOptions
};

/// The ranks this process runs with: connected, counted, bound to their cores and watched. They
/// handle signals on no thread that computes: make one before anything is computed.
class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] backend::Communicator& communicator() { return *connection_.communicator; }
  /// What joins the ranks, as the family calls it.
  [[nodiscard]] const std::string& communicator_name() const { return connection_.name; }
  [[nodiscard]] int cores_per_rank() const { return cores_per_rank_; }
  /// Which ranks each node has: "n1: 0-3, n2: 4-7".
  [[nodiscard]] const std::string& ranks_by_host() const { return ranks_by_host_; }
  /// All ranks leave in good order. Collective.
  void close();

 private:
  SignalThread signals_;  ///< first: libraries that join ranks start threads
  backend::Connection connection_;
  std::unique_ptr<backend::Watchdog> watchdog_;
  int cores_per_rank_ = 1;
  std::string ranks_by_host_;
};

}  // namespace dlscale::app
