#include "app/doctor_software.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/child_process.hpp"
#include "app/launcher_settings.hpp"
#include "app/obstacle.hpp"
#include "backend/comm/launch.hpp"
#include "backend/host/topology.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"
#include "core/own_command.hpp"
#include "report/figures.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using report::counted;

std::string first_line_of(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A file for what a child says, gone when this is.
class ChildLog {
 public:
  explicit ChildLog(std::string_view name)
      : path_(fs::temp_directory_path() / fmt::format("dlscale-doctor-{}-{}", getpid(), name)) {}
  ~ChildLog() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  ChildLog(const ChildLog&) = delete;
  ChildLog& operator=(const ChildLog&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream stream(path_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  fs::path path_;
};

struct Told {
  ChildExit exit;
  std::string text;
};

/// What a program says, if it can be started and ends in time.
std::optional<Told> ask(std::string_view name, const std::vector<std::string>& command,
                        double limit_s,
                        const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  const ChildLog log(name);
  try {
    const ChildExit exit =
        run_child(command, variables,
                  {.variables = {}, .log = log.path(), .timeout_s = limit_s, .signals = {}});
    return Told{exit, log.text()};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Parts of the build that are for GPUs, which nothing needs where there is none.
bool is_for_gpus(std::string_view name) {
  return name.starts_with("cuda") || name == "nccl" || name == "mpi_cuda" || name == "mpi_staged";
}

Finding unusable(std::string name, const std::string& found, std::string advice, bool needed) {
  if (!needed) return {std::move(name), FindingState::ok, found + "; no GPU here either", ""};
  return {std::move(name), FindingState::missing, found, std::move(advice)};
}

template <class Member>
void add_family(std::vector<Finding>& findings, const std::string& kind, int gpus) {
  const auto members = family<Member>();
  for (const Member* member : members.members) {
    const std::string name = fmt::format("{} {}", kind, member->name);
    const std::string reason = obstacle(*member);
    if (reason.empty()) {
      findings.push_back({name, FindingState::ok, "built", ""});
      continue;
    }
    findings.push_back(
        unusable(name, "built, but not usable here: " + reason,
                 "What asks for it by name is refused (exit code 6). The reason says "
                 "what to mend.",
                 gpus > 0 || !is_for_gpus(member->name)));
  }
  for (const Absent& absent : members.absent) {
    findings.push_back(unusable(fmt::format("{} {}", kind, absent.name),
                                fmt::format("not in this build: {}", absent.reason),
                                "Install it (scripts/setup does on Debian and Ubuntu) and "
                                "configure and build again; without it what asks for it by name is "
                                "refused (exit code 6).",
                                gpus > 0 || !is_for_gpus(absent.name)));
  }
}

/// Far longer than any launcher takes that works.
constexpr double hello_limit_s = 30;

Finding hello_of_ranks(const std::string& launcher) {
  const std::string name = "launcher";
  const std::vector<std::string> command{
      launcher, DLSCALE_MPIEXEC_RANKS, "2", own_program().string(), "__hello", "2"};
  const auto told = ask("hello", command, hello_limit_s, launcher_settings());
  const std::string by_hand = fmt::format(
      "Without it nothing runs on several ranks. Try by hand: {} {} 2 hostname; and "
      "see that it is of the MPI that this program was built with.",
      launcher, DLSCALE_MPIEXEC_RANKS);
  if (!told) {
    return {name, FindingState::missing, fmt::format("{} cannot be started", launcher), by_hand};
  }
  if (told->exit.timed_out) {
    return {name, FindingState::missing,
            fmt::format("{}: two ranks did not end within {:.0f} s", launcher, hello_limit_s),
            by_hand};
  }
  if (told->exit.code != 0) {
    return {name, FindingState::missing,
            fmt::format("{}: two ranks {}: {}", launcher, describe(told->exit),
                        telling_line(told->text)),
            by_hand};
  }
  const std::size_t answer = told->text.rfind("2 ranks by ");
  const std::string said =
      answer == std::string::npos ? "two ranks met" : first_line_of(told->text.substr(answer));
  return {name, FindingState::ok, fmt::format("{}: {}", launcher, said), ""};
}

Finding launcher(Hello hello) {
  const std::string name = "launcher";
  const std::string program = DLSCALE_MPIEXEC;
  if (program.empty()) {
    return {name, FindingState::missing, "this build has no MPI",
            "Nothing runs on several ranks but by NCCL. Install libopenmpi-dev and openmpi-bin, or "
            "libmpich-dev and mpich, and configure and build again."};
  }
  const auto launch = backend::detect_launch([](const char* value) { return std::getenv(value); });
  if (launch) {
    return {name, FindingState::warning,
            fmt::format("not tried: this process was started by {} itself", launch->launcher),
            "Start dlscale doctor by itself, once on each machine."};
  }
  if (std::getenv("DLSCALE_RENDEZVOUS") != nullptr) {
    return {name, FindingState::warning, "not tried: DLSCALE_RENDEZVOUS is set",
            "Ranks would meet by that file. Unset it to try the launcher."};
  }
  if (hello == Hello::left_out)
    return {name, FindingState::unavailable, program + " was not tried (--quick)", ""};
  return hello_of_ranks(program);
}

/// Open MPI counts cores as places for ranks unless it is told otherwise (mpirun(1), "slots").
Finding slots() {
  const backend::Topology topology = backend::read_topology();
  std::set<int> cores;
  for (const backend::HardwareThread& thread : topology.threads) cores.insert(thread.core);
  const auto threads = static_cast<int>(topology.threads.size());
  const auto places = static_cast<int>(cores.size());
  const std::string found =
      fmt::format("{}, {}", counted(places, "core"), counted(threads, "hardware thread"));
  if (threads == places) return {"places for ranks", FindingState::ok, found, ""};
  return {"places for ranks", FindingState::ok,
          found + fmt::format("; Open MPI starts at most {} by hand unless told "
                              "--use-hwthread-cpus or --oversubscribe (dlscale run tells it)",
                              counted(places, "rank")),
          ""};
}

Finding user() {
  if (geteuid() != 0) return {"user", FindingState::ok, "not root", ""};
  const bool allowed = std::getenv("OMPI_ALLOW_RUN_AS_ROOT") != nullptr &&
                       std::getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != nullptr;
  if (allowed) return {"user", FindingState::ok, "root, and Open MPI is told that it may", ""};
  return {"user", FindingState::warning, "root",
          "Open MPI's mpirun refuses root, unless dlscale run starts it. Work as another user, or, "
          "in a container, export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1."};
}

Finding gpus_and_driver(const fs::path& root) {
  const int gpus = nvidia_gpus(root);
  std::ifstream version(root / "proc/driver/nvidia/version");
  std::string driver;
  std::getline(version, driver);
  const std::string count = counted(gpus, "GPU") + " of NVIDIA";
  if (!driver.empty()) {
    constexpr std::string_view mark = "NVRM version: ";
    if (driver.starts_with(mark)) driver.erase(0, mark.size());
    return {"GPUs", FindingState::ok, gpus > 0 ? fmt::format("{}, {}", count, driver) : driver, ""};
  }
  if (gpus == 0) return {"GPUs", FindingState::ok, "none of NVIDIA here", ""};
  return {"GPUs", FindingState::missing, count + ", without a driver",
          "No backend reaches them. Install NVIDIA's driver, or hand the GPUs on to the container "
          "(docker run --gpus all)."};
}

/// Generous: the first import after a start reads a hundred files.
constexpr double tool_limit_s = 30;

Finding matplotlib() {
  const std::vector<std::string> command{"python3", "-c",
                                         "import matplotlib; print(matplotlib.__version__)"};
  const auto told = ask("matplotlib", command, tool_limit_s);
  if (told && told->exit.code == 0) {
    return {"matplotlib", FindingState::ok, first_line_of(told->text), ""};
  }
  return {"matplotlib", FindingState::missing,
          told ? "python3 cannot import it" : "there is no python3",
          "Reports have tables without the figures that it draws: apt install python3-matplotlib."};
}

Finding git() {
  const auto told = ask("git", {"git", "--version"}, tool_limit_s);
  if (told && told->exit.code == 0) {
    return {"git", FindingState::ok, first_line_of(told->text), ""};
  }
  return {"git", FindingState::missing, "it cannot be started",
          "dlscale gate --base-commit, dlscale history bisect and histories in a branch need it: "
          "apt install git."};
}

Finding configurations() {
  try {
    return {"configurations", FindingState::ok, config_root().string(), ""};
  } catch (const Error& error) {
    return {"configurations", FindingState::missing, "not found", error.what()};
  }
}

Finding plots() {
  const fs::path folder = report::plots_root();
  std::error_code error;
  if (fs::is_directory(folder, error)) {
    return {"scripts of figures", FindingState::ok, folder.string(), ""};
  }
  return {"scripts of figures", FindingState::missing, folder.string() + " is no folder",
          "Reports have no figures of matplotlib. Set DLSCALE_PLOTS to the folder plots/ of the "
          "source."};
}

std::string word_in(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

}  // namespace

int nvidia_gpus(const fs::path& root) {
  int count = 0;
  std::error_code absent;
  for (const auto& device : fs::directory_iterator(root / "sys/bus/pci/devices", absent)) {
    // Class 03 of the PCI Code and ID Assignment Specification: display controllers, of which 0302
    // have no display.
    const bool nvidia = word_in(device.path() / "vendor") == "0x10de";
    if (nvidia && word_in(device.path() / "class").starts_with("0x03")) ++count;
  }
  return count;
}

std::string telling_line(const std::string& output) {
  constexpr std::string_view own = "dlscale: ";
  std::istringstream lines(output);
  std::string first;
  std::string error;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(own)) return line.substr(own.size());
    const bool words = line.find_first_not_of("-= \t") != std::string::npos;
    if (first.empty() && words) first = line;
    if (error.empty() && line.find("rror") != std::string::npos) error = line;
  }
  if (!error.empty()) return error;
  return first.empty() ? "it said nothing" : first;
}

std::vector<Finding> check_build(const fs::path& root) {
  std::vector<Finding> findings;
  const int gpus = nvidia_gpus(root);
  add_family<backend::ComputeBackend>(findings, "backend", gpus);
  add_family<backend::CommBackend>(findings, "communicator", gpus);
  return findings;
}

std::vector<Finding> check_launching(Hello hello) {
  return {launcher(hello), slots(), user()};
}

std::vector<Finding> check_tools(const fs::path& root) {
  return {gpus_and_driver(root), matplotlib(), git(), configurations(), plots()};
}

}  // namespace dlscale::app
