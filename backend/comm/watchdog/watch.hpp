#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "backend/comm/watchdog/watchdog.hpp"
#include "backend/comm/watchdog/channel.hpp"
#include "backend/comm/watchdog/rank_table.hpp"

namespace dlscale::backend {

/// The thread behind a Watchdog. Rank 0 has a connection to every other rank and forwards messages;
/// the others have one to rank 0.
class Watch {
 public:
  struct Peer {
    Rank rank;
    Channel channel;
  };
  struct Setting {
    RankTable rank_table;
    Rank me = 0;
    std::uint64_t token = 0;
    std::filesystem::path results;
    WatchdogOptions options;
  };

  /// Throws LibraryError naming the call that failed.
  Watch(Setting setting, std::vector<Peer> peers);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Reports to the others why this rank leaves, and ends the thread. Unless `state` is
  /// RankState::done, it first waits a little for the message of a death, which may be the true
  /// cause. On such a message it ends the process and does not return.
  void leave(RankState state);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    Peer peer;
    RankState state = RankState::well;
    Clock::time_point heard;
  };

  void run();
  void wait_for_events();
  void listen_to(Watched& watched);
  void hear(Watched& watched, const StatusMessage& message);
  void beat();
  void learn(Rank rank, RankState state);
  void look_at_signals();
  void note_signal(Rank rank, int signal);
  void follow();
  void depart();
  void tell_all(const StatusMessage& message) const;
  [[nodiscard]] bool is_hub() const { return setting_.me == 0; }
  void report();
  void report_interruption();
  [[nodiscard]] StatusMessage own_news(RankState state) const;
  [[noreturn]] void end_process(int code) const;

  Setting setting_;
  std::vector<Watched> peers_;
  Descriptor wake_;
  std::atomic<RankState> leaving_ = RankState::well;

  // Used by the thread alone:
  bool over_ = false;
  Rank lost_ = 0;
  RankState loss_ = RankState::well;  ///< state of rank lost_, the first one that failed
  Clock::time_point lost_at_;
  int loss_signal_ = 0;  ///< the signal, for RankState::interrupted
  std::optional<Clock::time_point> signal_at_;
  std::set<Rank> signalled_;  ///< ranks that received a signal, not because others left
  std::optional<Clock::time_point> signalled_at_;  ///< when the first of them became known
  bool reported_ = false;  ///< whether the signalled ranks have been reported
  std::optional<Clock::time_point> asked_to_leave_at_;
  std::optional<Clock::time_point> leaving_at_;
  Clock::time_point last_beat_;
  ReporterClaim claim_;

  std::jthread thread_;
};

}  // namespace dlscale::backend
