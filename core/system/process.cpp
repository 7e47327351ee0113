#include "core/system/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/output_file.hpp"

namespace dlscale {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& variables,
    const std::map<std::string, std::string>& forced,
    const std::vector<std::string>& removed = {}) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool stays = !forced.contains(name) && std::ranges::find(removed, name) == removed.end();
    if (stays) result.push_back(text);
  }
  for (const auto& [name, value] : forced) result.push_back(fmt::format("{}={}", name, value));
  for (const auto& [name, value] : variables) {
    // The user's variable has priority over our default.
    if (getenv(name.c_str()) != nullptr || forced.contains(name)) continue;
    result.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Whether a signal is ignored, as set by nohup.
bool is_ignored(int signal) {
  struct sigaction action = {};
  EXPECT(sigaction(signal, nullptr, &action) == 0);
  return action.sa_handler == SIG_IGN;
}

/// Whether heed_end_of_job() was called.
bool heeds_end_of_job() {
  struct sigaction action = {};
  EXPECT(sigaction(SIGUSR1, nullptr, &action) == 0);
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/// Blocks SIGINT, SIGTERM, SIGCHLD and, unless it is ignored, SIGHUP during its lifetime, and takes
/// them off the queue one by one. So none arrives between a check and a wait, and none ends this
/// process before its child knows.
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&awaited_);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&awaited_, signal);
    if (!is_ignored(SIGHUP)) sigaddset(&awaited_, SIGHUP);
    if (heeds_end_of_job()) sigaddset(&awaited_, SIGUSR1);
    EXPECT(pthread_sigmask(SIG_BLOCK, &awaited_, &before_) == 0);
  }
  ~SignalQueue() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  /// The previous mask, for the child.
  [[nodiscard]] const sigset_t& mask_before() const { return before_; }
  /// The next signal, or 0 if none arrives by `until`.
  [[nodiscard]] int wait(std::optional<Clock::time_point> until) const {
    for (;;) {
      int signal = 0;
      if (until) {
        const timespec left = time_until(*until);
        signal = sigtimedwait(&awaited_, nullptr, &left);
      } else {
        signal = sigwaitinfo(&awaited_, nullptr);
      }
      if (signal > 0) return signal == SIGUSR1 ? SIGTERM : signal;
      if (errno == EAGAIN) return 0;
    }
  }

 private:
  static timespec time_until(Clock::time_point time) {
    using std::chrono::nanoseconds;
    const auto left =
        std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(time - Clock::now()));
    constexpr std::int64_t second = 1'000'000'000;
    return {.tv_sec = left.count() / second, .tv_nsec = left.count() % second};
  }
  sigset_t awaited_{};
  sigset_t before_{};
};

/// Forwards signals to a child. A second signal ends it at once, so one signal must not be
/// forwarded twice: timeout(1) and some launchers signal a process and then its group.
class Messenger {
 public:
  explicit Messenger(pid_t receiver) : receiver_(receiver) {}
  /// Forwards a signal; returns false for a repetition within a second.
  bool pass_on(int signal) {
    const auto now = Clock::now();
    if (signal == last_ && now - time_ < std::chrono::seconds(1)) return false;
    last_ = signal;
    time_ = now;
    kill(receiver_, signal);
    return true;
  }

 private:
  pid_t receiver_;  ///< below 0: a whole process group
  int last_ = 0;
  Clock::time_point time_;
};

/// The exit code of a child, or 128 + the signal that ended it. Nothing if it still runs, which
/// happens only with WNOHANG in `flags`.
std::optional<int> ended_with(pid_t child, int flags) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, flags)) < 0) {
    if (errno != EINTR) throw LibraryError(fmt::format("waitpid failed: {}", std::strerror(errno)));
  }
  if (ended == 0) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Ends a child whose time is over: by SIGTERM, which our programs and launchers forward to their
/// ranks, then by SIGKILL. A child that ignores the signals it was sent gets SIGKILL, too.
class Deadline {
 public:
  Deadline(pid_t child, const ChildOptions& options)
      : child_(child),
        time_to_end_(seconds(options.time_to_end_s)),
        time_to_heed_(seconds(options.time_to_heed_s)) {
    if (options.timeout_s) next_ = Clock::now() + seconds(*options.timeout_s);
  }
  [[nodiscard]] std::optional<Clock::time_point> next() const {
    if (!next_) return kill_;
    return kill_ ? std::min(*next_, *kill_) : *next_;
  }
  [[nodiscard]] bool passed() const { return passed_; }
  [[nodiscard]] bool signalled() const { return kill_.has_value(); }
  void look() {
    const auto now = Clock::now();
    if (kill_ && now >= *kill_) {
      kill(-child_, SIGKILL);
      kill_ = now + time_to_end_;
    }
    if (!next_ || now < *next_) return;
    kill(-child_, passed_ ? SIGKILL : SIGTERM);
    next_ = now + time_to_end_;
    passed_ = true;
  }
  /// Records that the child was sent a signal. After a second one, the user has waited long enough.
  void note_signal() {
    constexpr std::chrono::seconds soon(2);
    const auto now = Clock::now();
    kill_ = kill_ ? std::min(*kill_, now + soon) : now + time_to_heed_;
  }
  /// Time until which the rest of the child's process group may end by itself.
  [[nodiscard]] Clock::time_point end_of_group() const {
    return passed_ ? *next_ : std::min(*kill_, Clock::now() + time_to_end_);
  }

 private:
  pid_t child_;
  Clock::duration time_to_end_;  ///< time to end by itself and to write its data
  Clock::duration time_to_heed_;
  std::optional<Clock::time_point> next_;  ///< next step of a timeout
  std::optional<Clock::time_point> kill_;  ///< kill time of a child that ignores signals
  bool passed_ = false;
};

/// Ends the rest of a child's process group, such as the program of a shell that ignores SIGTERM.
/// Until `until` it may end by itself.
void end_group(pid_t group, Clock::time_point until) {
  constexpr timespec a_moment{.tv_sec = 0, .tv_nsec = 20'000'000};
  while (kill(-group, 0) == 0) {
    if (Clock::now() >= until) {
      kill(-group, SIGKILL);
      return;
    }
    nanosleep(&a_moment, nullptr);
  }
}

/// Keeps the end of a log that has grown beyond what anybody reads, with a line about the rest. The
/// child appends to it meanwhile.
void cut_log(const std::filesystem::path& path) {
  constexpr off_t most = 1024 * 1024 * 1024;
  constexpr off_t kept = 64 * 1024 * 1024;
  const Descriptor log(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  struct stat file = {};
  if (!log || ::fstat(log.get(), &file) != 0) return;
  if (!S_ISREG(file.st_mode) || file.st_size <= most) return;
  std::string end(static_cast<std::size_t>(kept), '\0');
  const ssize_t got = ::pread(log.get(), end.data(), end.size(), file.st_size - kept);
  if (got <= 0 || ::ftruncate(log.get(), 0) != 0) return;
  end.resize(static_cast<std::size_t>(got));
  (void)write_all(log.get(),
                  fmt::format("... {} bytes are left out here ...\n{}", file.st_size - got, end));
}

/// Looks at the logs of a child now and then, so that one that prints without end fills no disk.
class LogWatch {
 public:
  explicit LogWatch(const ChildOptions& options) : options_(options) {}
  [[nodiscard]] std::optional<Clock::time_point> next() const {
    return options_.log.empty() ? std::nullopt : std::optional(next_);
  }
  void look() {
    if (options_.log.empty() || Clock::now() < next_) return;
    next_ = Clock::now() + pause;
    cut();
  }
  void cut() const {
    for (const auto& log : {options_.log, options_.error_log}) {
      if (!log.empty()) cut_log(log);
    }
  }

 private:
  static constexpr std::chrono::seconds pause{2};
  const ChildOptions& options_;
  Clock::time_point next_ = Clock::now() + pause;
};

std::optional<Clock::time_point> earlier(std::optional<Clock::time_point> a,
                                         std::optional<Clock::time_point> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

ChildExit wait_for(pid_t child, const SignalQueue& queue, const ChildOptions& options) {
  const bool all = options.signals == ChildOptions::Signals::to_group;
  Messenger messenger(all ? -child : child);
  Deadline deadline(child, options);
  LogWatch logs(options);
  const auto pass_on = [&](int signal) {
    if (messenger.pass_on(signal)) deadline.note_signal();
  };
  if (const int signal = pending_signal(); signal != 0) pass_on(signal);
  for (;;) {
    if (const auto code = ended_with(child, WNOHANG)) {
      if (deadline.passed() || deadline.signalled()) end_group(child, deadline.end_of_group());
      logs.cut();
      return {.code = *code, .timed_out = deadline.passed()};
    }
    const int signal = queue.wait(earlier(deadline.next(), logs.next()));
    deadline.look();
    logs.look();
    if (signal == 0 || signal == SIGCHLD) continue;
    remember_signal(signal);
    pass_on(signal);
  }
}

/// Redirects the streams of a child, unless they are those of this process.
class Streams {
 public:
  Streams() { posix_spawn_file_actions_init(&actions_); }
  ~Streams() { posix_spawn_file_actions_destroy(&actions_); }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  /// Gives the child no input, and its output and errors to these descriptors.
  void redirect(int output, int errors) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Descriptor open_log(const std::filesystem::path& log) {
  Descriptor file(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file) return file;
  throw ConfigError(
      fmt::format("{} cannot be written ({}). Choose another place with -o, or free space there.",
                  log.string(), std::strerror(errno)));
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw LibraryError(fmt::format("pipe2 failed: {}", std::strerror(errno)));
    }
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  Descriptor reader;
  Descriptor writer;
};

/// Reads some bytes; returns whether there may be more.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(descriptor, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

/// Reads both pipes at once, since a program that fills an unread pipe would wait forever.
void read_both(const Pipe& out, const Pipe& errors, ProgramOutput& result) {
  std::array open{pollfd{out.reader.get(), POLLIN, 0}, pollfd{errors.reader.get(), POLLIN, 0}};
  std::array texts{&result.text, &result.errors};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const bool ready = open[i].fd >= 0 && open[i].revents != 0;
      if (ready && !read_some(open[i].fd, *texts[i])) open[i].fd = -1;
      open[i].revents = 0;
    }
  }
}

/// How a child starts: signals that keep_standard_streams() ignores have their default actions.
class StartAttributes {
 public:
  StartAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~StartAttributes() { posix_spawnattr_destroy(&attributes_); }
  StartAttributes(const StartAttributes&) = delete;
  StartAttributes& operator=(const StartAttributes&) = delete;
  /// Puts the child into its own process group, with the mask of signals. A terminal sends Ctrl-C
  /// to a whole group, so the child would get the signal twice, from the terminal and from here. A
  /// second one ends our programs and MPI's launcher at once, before results are on disk.
  void lead_own_group(const sigset_t& mask) {
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setsigmask(&attributes_, &mask);
  }
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// Starts a child; returns 0 or errno.
int start(pid_t& child, std::vector<std::string> words, std::vector<std::string> environment,
          const Streams& streams, const StartAttributes& attributes) {
  return posix_spawnp(&child, words.front().c_str(), streams.get(), attributes.get(),
                      pointers(words).data(), pointers(environment).data());
}

}  // namespace

void heed_end_of_job() {
  struct sigaction action = {};
  action.sa_handler = [](int) { remember_signal(SIGTERM); };
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
}

ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables,
                    const ChildOptions& options) {
  EXPECT(!command.empty());
  Streams streams;
  Descriptor log;
  Descriptor error_log;
  if (!options.log.empty()) {
    log = open_log(options.log);
    if (!options.error_log.empty()) error_log = open_log(options.error_log);
    streams.redirect(log.get(), error_log ? error_log.get() : log.get());
  }
  const SignalQueue queue;
  StartAttributes attributes;
  attributes.lead_own_group(queue.mask_before());
  pid_t child = 0;
  const int error =
      start(child, command, merged_environment(variables, options.variables), streams, attributes);
  if (error != 0) {
    throw ConfigError(fmt::format("{} cannot be started ({}). Install it or correct the path.",
                                  command.front(), std::strerror(error)));
  }
  return wait_for(child, queue, options);
}

ProgramOutput run_program(const std::vector<std::string>& command,
                          const ProgramEnvironment& environment) {
  EXPECT(!command.empty());
  Pipe out;
  Pipe errors;
  Streams streams;
  streams.redirect(out.writer.get(), errors.writer.get());
  pid_t child = 0;
  const int error =
      start(child, command, merged_environment({}, environment.variables, environment.removed),
            streams, StartAttributes());
  if (error != 0) return {ProgramOutput::not_started, "", std::strerror(error)};
  (void)out.writer.close();
  (void)errors.writer.close();
  ProgramOutput result;
  read_both(out, errors, result);
  result.code = *ended_with(child, 0);
  return result;
}

ExitCode exit_code_of(const ChildExit& child) {
  const bool ours = child.code <= static_cast<int>(ExitCode::not_built) ||
                    child.code == static_cast<int>(ExitCode::interrupted) ||
                    child.code == static_cast<int>(ExitCode::terminated);
  return ours ? static_cast<ExitCode>(child.code) : ExitCode::wrong_result;
}

std::string describe(const ChildExit& child) {
  const int signal = child.code - 128;
  if (signal <= 0 || signal >= NSIG) return fmt::format("ended with exit code {}", child.code);
  return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
}

}  // namespace dlscale
