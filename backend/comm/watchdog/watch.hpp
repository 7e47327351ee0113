#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "backend/comm/watchdog.hpp"
#include "backend/comm/watchdog/line.hpp"
#include "backend/comm/watchdog/roster.hpp"

namespace dlscale::backend {

/// The thread behind a Watchdog. Rank 0 has a line to every other rank and passes news on; the
/// others have a line to rank 0.
class Watch {
 public:
  struct Peer {
    Rank rank;
    Line line;
  };
  struct Setting {
    Roster roster;
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

  /// Tells the others why this rank leaves, and ends the thread. After anything but Fate::done
  /// it first waits a little for news of a death, which may be the true reason; on such news it
  /// does not return but ends the process.
  void leave(Fate fate);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    Peer peer;
    Fate fate = Fate::well;
    Clock::time_point heard;
  };

  void run();
  void wait_for_events();
  void listen_to(Watched& watched);
  void hear(Watched& watched, const News& news);
  void beat();
  void learn(Rank rank, Fate fate);
  void look_at_signals();
  void note_signal(Rank rank, int signal);
  void follow();
  void depart();
  void tell_all(const News& news) const;
  [[nodiscard]] bool is_hub() const { return setting_.me == 0; }
  void report();
  void report_interruption();
  [[nodiscard]] News own_news(Fate fate) const;
  [[noreturn]] void end_process(int code) const;

  Setting setting_;
  std::vector<Watched> peers_;
  Descriptor wake_;
  std::atomic<Fate> leaving_ = Fate::well;

  // Of the thread alone:
  bool over_ = false;
  Rank lost_ = 0;
  Fate loss_ = Fate::well;  ///< of rank lost_, the first that went wrong
  Clock::time_point lost_at_;
  int loss_signal_ = 0;  ///< why, of Fate::interrupted
  std::optional<Clock::time_point> signal_at_;
  std::set<Rank> signalled_;  ///< those that a signal reached, not because others left
  std::optional<Clock::time_point> signalled_at_;  ///< when the first of them was known
  bool reported_ = false;                          ///< whom a signal reached
  std::optional<Clock::time_point> asked_to_leave_at_;
  std::optional<Clock::time_point> leaving_at_;
  Clock::time_point last_beat_;
  ReporterClaim claim_;

  std::jthread thread_;
};

}  // namespace dlscale::backend
