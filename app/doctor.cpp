// dlscale doctor: what this machine lacks, what makes it noisy, and what to do about either.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "app/doctor_findings.hpp"
#include "app/doctor_machine.hpp"
#include "app/doctor_noise.hpp"
#include "app/doctor_software.hpp"
#include "app/document_output.hpp"
#include "app/verb.hpp"
#include "backend/host/host.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

struct DoctorOptions {
  bool quick = false;
  bool strict = false;
  DocumentOutput output;
};

std::vector<FindingGroup> look(const DoctorOptions& options) {
  const MachineView view{.root = "/",
                         .cores = static_cast<int>(backend::usable_cores().size()),
                         .results = space_at(std::filesystem::current_path().string()),
                         .shared_memory = space_at("/dev/shm")};
  // The machine first, as it is before anything here works on it.
  std::vector<FindingGroup> groups{{"machine", check_machine(view)}};
  if (!options.quick) groups.push_back({"noise", judge_noise(probe_noise())});
  groups.push_back({"build", check_build(view.root)});
  groups.push_back({"launching", check_launching(options.quick ? Hello::left_out : Hello::tried)});
  groups.push_back({"tools", check_tools(view.root)});
  return groups;
}

/// Advice is no failure unless somebody says so.
ExitCode exit_code(const std::vector<FindingGroup>& groups, bool strict) {
  if (!strict) return ExitCode::ok;
  if (count_of(groups, FindingState::missing) > 0) return ExitCode::not_built;
  return count_of(groups, FindingState::warning) > 0 ? ExitCode::inconclusive : ExitCode::ok;
}

ExitCode doctor(const DoctorOptions& options) {
  const std::vector<FindingGroup> groups = look(options);
  options.output.write(findings_document(groups));
  return exit_code(groups, options.strict);
}

void declare_doctor(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<DoctorOptions>();
  verb.add_flag("--quick", options->quick,
                "Leave out what takes a second or more: the probe of noise, and the ranks that try "
                "the launcher");
  verb.add_flag("--strict", options->strict,
                "Exit code 6 if something is missing, else 3 if there is a warning");
  options->output.declare(verb);
  verb.footer(
      "Nothing is changed on the machine; the advice says what to type. Exit code 0 whatever is "
      "found, unless --strict is given.\n"
      "Example: dlscale doctor\n"
      "dlscale doctor --strict --format json -o doctor.json");
  verb.callback([options, &result] { result = doctor(*options); });
}

}  // namespace

extern const Verb doctor_verb{
    "doctor", "Say what is missing or noisy on this machine, and what to do", declare_doctor};

}  // namespace dlscale::app
