#include "backend/comm/watchdog/watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend {
namespace {

/// Interval between checks for signals, before and after one arrived.
constexpr Seconds look_again{0.1};
constexpr Seconds look_soon{0.02};
/// Maximum delay of the message about a death after the signal that the launcher sends because of
/// it. On one node the message arrives first; from another node it takes time.
constexpr Seconds news_travel{0.3};

/// Time within which a user's signal reaches all its target ranks. A launcher that signals the
/// others because one has left does so later: a leaving rank first waits for news_travel.
constexpr Seconds signal_travel{0.2};

template <class TimePoint>
bool passed(TimePoint since, Seconds time) {
  return std::chrono::duration<double>(TimePoint::clock::now() - since).count() >= time.si();
}

/// Blocks signals in this thread: they belong to the threads that do the work.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Watch::Watch(Setting setting, std::vector<Peer> peers)
    : setting_(std::move(setting)),
      wake_(check(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
  const Clock::time_point now = Clock::now();
  for (Peer& peer : peers) peers_.push_back({std::move(peer), RankState::well, now});
  last_beat_ = now;
  const WithoutSignals inherited;
  thread_ = std::jthread([this] { run(); });
}

Watch::~Watch() {
  leave(RankState::done);
}

void Watch::leave(RankState state) {
  if (!thread_.joinable()) return;
  leaving_ = state;
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
  thread_.join();
}

void Watch::run() {
  while (!over_) {
    wait_for_events();
    for (Watched& watched : peers_) listen_to(watched);
    std::erase_if(peers_, [](const Watched& watched) { return watched.peer.channel.ended(); });
    beat();
    look_at_signals();
    if (signalled_at_ && passed(*signalled_at_, signal_travel)) report_interruption();
    follow();
    depart();
  }
}

void Watch::wait_for_events() {
  std::vector<pollfd> events;
  for (const Watched& watched : peers_) {
    events.push_back({watched.peer.channel.descriptor(), POLLIN, 0});
  }
  // While departing, the thread checks only the clock.
  if (!asked_to_leave_at_) events.push_back({wake_.get(), POLLIN, 0});
  const Seconds longest = signalled_at_ || asked_to_leave_at_ ? look_soon : look_again;
  const double timeout = std::min(longest.si(), setting_.options.heartbeat.si());
  ::poll(events.data(), events.size(), static_cast<int>(timeout * 1e3));
}

void Watch::listen_to(Watched& watched) {
  for (const StatusMessage& message : watched.peer.channel.receive()) {
    if (message.token == setting_.token && is_possible(message, setting_.rank_table.size())) {
      hear(watched, message);
    }
  }
  const bool unexplained = watched.state == RankState::well;
  if (watched.peer.channel.ended() && unexplained) return learn(watched.peer.rank, RankState::died);
  if (watched.peer.channel.kind() == Channel::Kind::tcp && unexplained &&
      passed(watched.heard, setting_.options.patience)) {
    learn(watched.peer.rank, RankState::silent);
  }
}

void Watch::hear(Watched& watched, const StatusMessage& message) {
  watched.heard = Clock::now();
  if (message.state == RankState::well) return;
  if (message.state == RankState::signalled)
    return note_signal(message.rank, static_cast<int>(message.signal));
  if (message.state == RankState::interrupted) loss_signal_ = static_cast<int>(message.signal);
  if (message.rank == watched.peer.rank) watched.state = message.state;
  if (message.state != RankState::done) learn(message.rank, message.state);
}

void Watch::beat() {
  if (!passed(last_beat_, setting_.options.heartbeat)) return;
  last_beat_ = Clock::now();
  for (const Watched& watched : peers_) {
    if (watched.peer.channel.kind() == Channel::Kind::tcp) {
      watched.peer.channel.send({setting_.token, setting_.me, RankState::well});
    }
  }
}

/// Records the first failure as the cause. What follows it are consequences: a failure or an
/// interrupt may follow from a death whose message took longer. A death or failure well after a
/// signal follows from the signal: the launcher then sends SIGKILL, and ranks miss those that have
/// left.
void Watch::learn(Rank rank, RankState state) {
  if (leaving_ == RankState::done) return;
  const bool death = state == RankState::died || state == RankState::silent;
  if (loss_ != RankState::well && (!death || passed(lost_at_, news_travel))) return;
  if (state != RankState::interrupted && signal_at_ && passed(*signal_at_, news_travel)) return;
  lost_ = rank;
  loss_ = state;
  lost_at_ = Clock::now();
  if (is_hub()) tell_all({setting_.token, rank, state, loss_signal_});
  if (!death) return;
  report();
  end_process(static_cast<int>(ExitCode::wrong_result));
}

/// A signal to one rank counts for all: none can continue without it.
void Watch::note_signal(Rank rank, int signal) {
  const bool caused = loss_ != RankState::well && loss_ != RankState::interrupted;
  if (caused || signalled_.contains(rank)) return;
  signalled_.insert(rank);
  if (!signalled_at_) signalled_at_ = Clock::now();
  if (rank != setting_.me) follow_signal(signal);
  if (is_hub() || rank == setting_.me)
    tell_all({setting_.token, rank, RankState::signalled, signal});
}

void Watch::look_at_signals() {
  const int own = own_signal();
  const bool comes_of_others = signalled_at_ && passed(*signalled_at_, signal_travel);
  if (own != 0 && !comes_of_others) note_signal(setting_.me, own);
  const int signal = pending_signal();
  if (signal == 0) return;
  if (!signal_at_) signal_at_ = Clock::now();
  const bool caused_by_failure = loss_ == RankState::failed;
  if (caused_by_failure || leaving_at_ || !passed(*signal_at_, setting_.options.grace)) return;
  tell_all(own_news(RankState::interrupted));
  report_interruption();
  end_process(static_cast<int>(Interrupted(signal).code()));
}

/// Another rank left early: this rank does the same, by itself if it can.
void Watch::follow() {
  if (leaving_at_) return;
  if (loss_ == RankState::interrupted && passed(lost_at_, news_travel) && pending_signal() == 0) {
    follow_signal(loss_signal_);
  }
  if (loss_ == RankState::failed && passed(lost_at_, setting_.options.grace)) {
    report();
    end_process(static_cast<int>(ExitCode::wrong_result));
  }
}

void Watch::depart() {
  const RankState state = leaving_;
  if (state == RankState::well) return;
  if (!asked_to_leave_at_) asked_to_leave_at_ = Clock::now();
  // First reports the interrupted ranks: their messages may arrive after that of the interruption.
  if (is_hub() && pending_signal() != 0 && !passed(*asked_to_leave_at_, signal_travel)) return;
  if (!leaving_at_) {
    leaving_at_ = Clock::now();
    // Rank 0 keeps forwarding messages for a while, so it says good-bye last.
    if (!is_hub() || state == RankState::done) tell_all(own_news(state));
  }
  if (state != RankState::done && !passed(*leaving_at_, news_travel)) return;
  if (state == RankState::interrupted && loss_ == RankState::failed) {
    if (is_hub()) tell_all(own_news(state));
    report();
    end_process(static_cast<int>(ExitCode::wrong_result));
  }
  if (is_hub() && state != RankState::done) tell_all(own_news(state));
  over_ = true;
}

void Watch::tell_all(const StatusMessage& message) const {
  for (const Watched& watched : peers_) {
    if (watched.peer.rank != message.rank) watched.peer.channel.send(message);
  }
}

StatusMessage Watch::own_news(RankState state) const {
  return {setting_.token, setting_.me, state, pending_signal()};
}

/// Reports once, before a rank has left, because a launcher may then end this one. Rank 0 reports
/// for all. If every rank received a signal, it does not name any.
void Watch::report_interruption() {
  if (reported_ || !is_hub() || (loss_ != RankState::well && loss_ != RankState::interrupted))
    return;
  if (signalled_.empty() || signalled_.size() == setting_.rank_table.size()) return;
  reported_ = true;
  const std::string text = interruption_notice(setting_.rank_table, signalled_) + '\n';
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// Rank 0 reports for all. If it is the lost one, one rank on each node does.
void Watch::report() {
  if (!is_hub() && (lost_ != 0 || !claim_.take(setting_.token))) return;
  const std::string text =
      notice(setting_.rank_table, lost_, loss_, setting_.options.patience, setting_.results) + '\n';
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  // The claim ends with this process: the others must have asked by then.
  if (!is_hub()) std::this_thread::sleep_for(std::chrono::duration<double>(news_travel.si()));
}

/// Does not call std::exit: its destructors would wait for the hanging threads. Result files are on
/// disk channel by channel. The buffer of standard output is flushed unless a thread is using it.
void Watch::end_process(int code) const {
  if (::ftrylockfile(stdout) == 0) {
    ::fflush_unlocked(stdout);
    ::funlockfile(stdout);
  }
  ::_exit(code);
}

}  // namespace dlscale::backend
