#include "core/config/system_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/config/config_path.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view slurm = R"(system: test
doc: of a test
scheduler: slurm
launcher: srun
partitions:
  - name: debug
    nodes: 3
    cores_per_node: 8
    devices_per_node: 4
    max_jobs: 2
    time_limit: "1:00:00"
    access: [--account=physics, "-C fast"]
    launcher_options: [--mpi=pmix]
    prepare: [module load mpi]
    environment: {OMP_PROC_BIND: "true"}
  - name: long
)";

constexpr std::string_view alone = R"(system: alone
scheduler: none
launcher: mpirun
partitions:
  - {name: here}
)";

std::string system_file_refusal(std::string_view text, std::string_view from, std::string_view to) {
  return test::error_after(text, from, to,
                           [](const std::string& file) { return load_system(file); });
}

TEST(SystemFile, SaysHowProgramsAreStarted) {
  const System system =
      test::load_text(slurm, [](const std::string& file) { return load_system(file); });
  EXPECT_EQ(system.name, "test");
  EXPECT_EQ(system.scheduler, Scheduler::slurm);
  EXPECT_EQ(system.launcher, Launcher::srun);
  const Partition& debug = find_partition(system, "");
  EXPECT_EQ(debug.name, "debug");
  EXPECT_EQ(debug.nodes, 3);
  EXPECT_EQ(debug.cores_per_node, 8);
  EXPECT_EQ(debug.devices_per_node, 4);
  EXPECT_EQ(debug.max_jobs, 2);
  EXPECT_EQ(debug.time_limit, "1:00:00");
  EXPECT_THAT(debug.access, ElementsAre("--account=physics", "-C fast"));
  EXPECT_THAT(debug.launcher_options, ElementsAre("--mpi=pmix"));
  EXPECT_THAT(debug.prepare, ElementsAre("module load mpi"));
  EXPECT_EQ(debug.environment.at("OMP_PROC_BIND"), "true");
  EXPECT_EQ(find_partition(system, "long").nodes, 1);
  EXPECT_THAT(test::config_error([&] { (void)find_partition(system, "lnog"); }),
              HasSubstr("Did you mean \"long\"?"));
}

TEST(SystemFile, IsRefusedWithPlaceAndAdvice) {
  EXPECT_THAT(system_file_refusal(slurm, "scheduler: slurm", "scheduler: slurn"),
              AllOf(HasSubstr("small.yaml"), HasSubstr("slurm")));
  EXPECT_THAT(system_file_refusal(slurm, "launcher: srun", "launcher: aprun"), HasSubstr("aprun"));
  EXPECT_THAT(system_file_refusal(slurm, "launcher: srun", "launcher: \"sr\\nun\""),
              AllOf(HasSubstr("srun"), Not(HasSubstr("\n"))));
  EXPECT_THAT(system_file_refusal(slurm, "launcher: srun", "launcher: flux"),
              HasSubstr("the launcher of another scheduler than slurm"));
  EXPECT_THAT(system_file_refusal(slurm, "nodes: 3", "nodes: 0"), HasSubstr("nodes"));
  EXPECT_THAT(system_file_refusal(slurm, "nodes: 3", "nodes: 1e99"), HasSubstr("nodes"));
  EXPECT_THAT(system_file_refusal(slurm, "max_jobs", "most_jobs"), HasSubstr("most_jobs"));
  EXPECT_THAT(system_file_refusal(slurm, "name: long", "name: debug"),
              HasSubstr("another partition"));
  EXPECT_THAT(system_file_refusal(slurm, "--account=physics", "account"),
              HasSubstr("not an option"));
  EXPECT_THAT(system_file_refusal(slurm, "[--mpi=pmix]", "['--mpi pmix']"),
              HasSubstr("more than one word"));
  EXPECT_THAT(system_file_refusal(slurm, "OMP_PROC_BIND", "2BAD"),
              HasSubstr("not the name of an environment"));
  EXPECT_THAT(system_file_refusal(slurm, "  - name: long\n", "    hostfile: hosts\n"),
              HasSubstr("of no use where a scheduler"));
}

TEST(SystemFile, PutsNoLineOfItsOwnIntoAScript) {
  EXPECT_THAT(system_file_refusal(slurm, "name: debug", "name: \"debug\\n#SBATCH --uid=0\""),
              HasSubstr("line break"));
  EXPECT_THAT(system_file_refusal(slurm, "module load mpi", "\"a\\nb\""), HasSubstr("line break"));
  EXPECT_THAT(system_file_refusal(slurm, "\"true\"", "\"a\\nb\""), HasSubstr("line break"));
}

TEST(SystemFile, RefusesWhatHasNoEffectWithoutAScheduler) {
  for (const std::string key : {"access: [-x]", "max_jobs: 2", "time_limit: '1'", "prepare: [a]"}) {
    EXPECT_THAT(system_file_refusal(alone, "name: here", "name: here, " + key),
                HasSubstr("no effect"))
        << key;
  }
  EXPECT_THAT(system_file_refusal(alone, "name: here", "name: here, nodes: 2"),
              HasSubstr("hostfile"));
  EXPECT_THAT(system_file_refusal(alone, "partitions:\n  - {name: here}", "partitions: []"),
              HasSubstr("empty"));
}

TEST(SystemFile, AllThatComeWithTheProgramAreRead) {
  const auto names = config_names("systems");
  EXPECT_THAT(names, ::testing::IsSupersetOf({"flux", "hostfile", "local", "pbs", "slurm"}));
  for (const std::string& name : names) {
    const System system = load_system(name);
    EXPECT_EQ(system.name, name);
    EXPECT_FALSE(system.doc.empty()) << name;
  }
}

}  // namespace
}  // namespace dlscale
