#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "core/base/error.hpp"
#include "suite/launch/allocation.hpp"
#include "suite/launch/batch_script.hpp"
#include "suite/launch/launch_command.hpp"
#include "suite/launch/slurm.hpp"
#include "tests/core/support.hpp"

namespace dlscale::suite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const Words program{"/opt/dlscale", "bench", "comm"};

LaunchPlace place(Launcher launcher) {
  LaunchPlace place;
  place.launcher = launcher;
  place.partition.name = "debug";
  place.partition.nodes = 4;
  place.mpi_launcher = "/usr/bin/mpirun";
  return place;
}

TEST(LaunchCommand, RepeatsToSrunHowManyCoresARankHas) {
  LaunchPlace slurm = place(Launcher::srun);
  slurm.partition.launcher_options = {"--mpi=pmix"};
  const LaunchShape shape{.nodes = 2, .ranks_per_node = 4, .gpus_per_rank = 1, .threads = 8};
  EXPECT_THAT(launch_command(slurm, shape, program, {}),
              ElementsAre("srun", "--nodes=2", "--ntasks=8", "--ntasks-per-node=4",
                          "--cpus-per-task=8", "--kill-on-bad-exit=1", "--gpus-per-task=1",
                          "--mpi=pmix", "/opt/dlscale", "bench", "comm"));
}

TEST(LaunchCommand, IsThatOfEachLauncher) {
  const LaunchShape shape{.nodes = 2, .ranks_per_node = 3, .threads = 2};
  const std::map<std::string, std::string> variables{{"A", "1"}, {"PATH", ""}};
  EXPECT_THAT(launch_command(place(Launcher::flux), shape, program, variables),
              ElementsAre("flux", "run", "--nodes=2", "--ntasks=6", "--cores-per-task=2",
                          "/opt/dlscale", "bench", "comm"));
  EXPECT_THAT(
      launch_command(place(Launcher::mpiexec), shape, program, variables),
      ElementsAre("/usr/bin/mpirun", "-n", "6", "-ppn", "3", "/opt/dlscale", "bench", "comm"));
  LaunchPlace hosts = place(Launcher::mpirun);
  hosts.partition.hostfile = "hosts.txt";
  EXPECT_THAT(
      launch_command(hosts, shape, program, variables),
      ElementsAre("/usr/bin/mpirun", "-n", "6", "--hostfile", "hosts.txt", "--map-by", "ppr:3:node",
                  "-x", "A=1", "-x", "PATH", "/opt/dlscale", "bench", "comm"));
}

TEST(LaunchCommand, NeedsNoLauncherForOneRankOfThisMachine) {
  EXPECT_EQ(launch_command(place(Launcher::mpirun), {}, program, {}), program);
  EXPECT_THAT(launch_command(place(Launcher::srun), {}, program, {}).front(), "srun");
  LaunchPlace no_mpi = place(Launcher::mpirun);
  no_mpi.mpi_launcher.clear();
  EXPECT_EQ(launch_command(no_mpi, {}, program, {}), program);
  EXPECT_THROW(launch_command(no_mpi, {.ranks_per_node = 2}, program, {}), Unsupported);
}

TEST(LaunchShape, IsHeldAgainstThePartition) {
  Partition partition;
  partition.name = "debug";
  partition.nodes = 2;
  partition.cores_per_node = 8;
  partition.devices_per_node = 4;
  EXPECT_EQ(
      shape_problem(partition, {.nodes = 2, .ranks_per_node = 4, .gpus_per_rank = 1, .threads = 2}),
      "");
  EXPECT_THAT(shape_problem(partition, {.nodes = 3}), HasSubstr("has 2 nodes"));
  EXPECT_THAT(shape_problem(partition, {.ranks_per_node = 3, .threads = 3}),
              HasSubstr("8 cores a node, not 9"));
  EXPECT_THAT(shape_problem(partition, {.ranks_per_node = 5, .gpus_per_rank = 1}),
              HasSubstr("4 GPUs a node, not 5"));
  EXPECT_NE(shape_problem(partition, {.ranks_per_node = 1000000, .threads = 1000000}), "");
}

System system_of(Scheduler scheduler) {
  System system;
  system.name = "test";
  system.scheduler = scheduler;
  return system;
}

BatchJob job() {
  return {.name = "dlscale-a-2",
          .nodes = 2,
          .cores_per_node = 8,
          .gpus_per_node = 4,
          .node = "",
          .log = "/results/a.log",
          .command = {"/opt/dlscale", "run", "my suite.yaml", "--nodes", "2"},
          .options = {}};
}

TEST(BatchScript, OfSlurmHandsTheSchedulersSignalToTheProgram) {
  Partition partition;
  partition.name = "gpu";
  partition.time_limit = "1:00:00";
  partition.access = {"--account=physics"};
  partition.prepare = {"module load mpi"};
  partition.environment = {{"A", "it's"}};
  EXPECT_EQ(batch_script(system_of(Scheduler::slurm), partition, job()),
            "#!/bin/bash\n"
            "#SBATCH --job-name=dlscale-a-2\n"
            "#SBATCH --partition=gpu\n"
            "#SBATCH --nodes=2\n"
            "#SBATCH --ntasks-per-node=8\n"
            "#SBATCH --cpus-per-task=1\n"
            "#SBATCH --output=/results/a.log\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --no-requeue\n"
            "#SBATCH --signal=B:TERM@30\n"
            "#SBATCH --gpus-per-node=4\n"
            "#SBATCH --time=1:00:00\n"
            "#SBATCH --account=physics\n"
            "set -e\n"
            "export A='it'\\''s'\n"
            "module load mpi\n"
            "exec /opt/dlscale run 'my suite.yaml' --nodes 2\n");
}

TEST(BatchScript, ItsShellReadsBackWhatWasTyped) {
  Partition partition;
  partition.name = "gpu";
  partition.environment = {{"X", "{a,b}"}};
  BatchJob braces = job();
  braces.command = {"/opt/dlscale", "run", "--name", "allreduce.{1,9}2"};
  EXPECT_THAT(batch_script(system_of(Scheduler::slurm), partition, braces),
              HasSubstr("export X='{a,b}'\nexec /opt/dlscale run --name 'allreduce.{1,9}2'\n"));
}

TEST(BatchScript, OfOtherSchedulersHasTheirDirectives) {
  Partition partition;
  partition.name = "work";
  partition.time_limit = "30m";
  const std::string flux = batch_script(system_of(Scheduler::flux), partition, job());
  EXPECT_THAT(flux, HasSubstr("# flux: --nodes=2\n# flux: --exclusive\n"));
  EXPECT_THAT(flux, HasSubstr("# flux: --queue=work\n"));
  const std::string pbs = batch_script(system_of(Scheduler::pbs), partition, job());
  EXPECT_THAT(pbs, HasSubstr("#PBS -l select=2:ncpus=8:mpiprocs=8:ngpus=4\n"));
  EXPECT_THAT(pbs, HasSubstr("#PBS -l walltime=30m\n"));
  EXPECT_THAT(pbs, HasSubstr("cd \"$PBS_O_WORKDIR\"\n"));
  EXPECT_THAT(submission(Scheduler::pbs, "a.sh"), ElementsAre("qsub", "a.sh"));
}

TEST(BatchScript, KeepsTogetherWhatHasSpacesAndLeavesNoPatternInIt) {
  BatchJob spaced = job();
  spaced.log = "/my results/50%/it's #1/a.log";
  Partition partition;
  partition.name = "gpu";
  const auto script = [&](Scheduler scheduler) {
    return batch_script(system_of(scheduler), partition, spaced);
  };
  EXPECT_THAT(script(Scheduler::slurm),
              HasSubstr("#SBATCH \"--output=/my results/50%%/it's #1/a.log\"\n"));
  EXPECT_THAT(script(Scheduler::flux),
              HasSubstr("# flux: \"--output=/my results/50%/it's #1/a.log\"\n"));
  EXPECT_THAT(script(Scheduler::pbs), HasSubstr("#PBS -o \"/my results/50%/it's #1/a.log\"\n"));
  spaced.log = "/a \"b\"/c.log";
  EXPECT_THAT(script(Scheduler::slurm), HasSubstr("#SBATCH '--output=/a \"b\"/c.log'\n"));
}

TEST(BatchScript, RefusesWhatASchedulerWouldReadOtherwise) {
  const auto refused = [](Scheduler scheduler, const std::string& log) {
    BatchJob odd = job();
    odd.log = log;
    Partition partition;
    partition.name = "gpu";
    EXPECT_THROW(static_cast<void>(batch_script(system_of(scheduler), partition, odd)), ConfigError)
        << log;
  };
  for (const Scheduler scheduler : {Scheduler::slurm, Scheduler::flux, Scheduler::pbs}) {
    refused(scheduler, "/a\\b.log");
    refused(scheduler, "/a\n#SBATCH --account=other");
    refused(scheduler, "/it's \"a\".log");
  }
  refused(Scheduler::pbs, "/a:b.log");
  refused(Scheduler::flux, "/{{id}}/a.log");
}

std::optional<Allocation> allocation(const std::map<std::string, std::string>& variables) {
  return find_allocation([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Allocation, IsFoundInWhatSchedulersSet) {
  EXPECT_FALSE(allocation({}));
  const auto slurm = allocation(
      {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_JOB_NODELIST", "node[1-3]"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->job, "7");
  EXPECT_EQ(slurm->nodes, 3);
  EXPECT_EQ(slurm->names, "node[1-3]");
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "-3"}})->nodes, 0);
  const test::TemporaryFolder folder;
  const auto file = folder.write("nodes", "b\na\nb\n\n");
  const auto pbs = allocation({{"PBS_NODEFILE", file.string()}, {"PBS_JOBID", "9.server"}});
  ASSERT_TRUE(pbs);
  EXPECT_EQ(pbs->nodes, 2);
  EXPECT_EQ(pbs->names, "a,b");
  EXPECT_EQ(allocation({{"FLUX_URI", "local:///run/flux"}})->scheduler, Scheduler::flux);
}

TEST(Slurm, NamesNodesThatCannotBeUsed) {
  const auto nodes = parse_nodes(
      "node1|idle|none\nnode1|idle|none\nnode2|mix|none\nnode3|down*|Not responding\n"
      "node4|drng|bad disk\nnode5|idle*|none\nnode6|alloc|none\nnode7|idle~|none\n\ngarbage\n");
  ASSERT_EQ(nodes.size(), 7U);
  EXPECT_TRUE(nodes[0].usable());
  EXPECT_TRUE(nodes[1].usable());
  EXPECT_TRUE(nodes[5].usable());
  EXPECT_TRUE(nodes[6].usable()) << "asleep, and woken for a job";
  EXPECT_EQ(unusable_text(nodes),
            "node3 (down*: Not responding), node4 (drng: bad disk), node5 (idle*)");
  EXPECT_EQ(lost_text(nodes), "node3 (down*: Not responding), node5 (idle*)")
      << "what runs on a draining node goes on";
}

TEST(Slurm, JobsAreReadFromWhatItsProgramsPrint) {
  const SlurmJob waits =
      parse_job("JobId=7 JobName=a JobState=PENDING Reason=Resources Dependency=(null)\n");
  EXPECT_EQ(waits, (SlurmJob{"PENDING", "Resources"}));
  EXPECT_FALSE(waits.ended());
  EXPECT_TRUE(parse_job("JobId=7 JobState=CANCELLED Reason=None").ended());
  const auto in_state = [](const std::string& state) {
    return parse_job("JobId=7 JobState=" + state + " Reason=None Requeue=1");
  };
  for (const char* state : {"REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "STOPPED"}) {
    EXPECT_FALSE(in_state(state).ended()) << state;
  }
  for (const char* state : {"COMPLETED", "NODE_FAIL", "PREEMPTED", "TIMEOUT", "OUT_OF_MEMORY",
                            "BOOT_FAIL", "DEADLINE", "REVOKED"}) {
    EXPECT_TRUE(in_state(state).ended()) << state;
  }
  EXPECT_TRUE(parse_nodes("n1|plnd|none\n")[0].usable()) << "kept for a larger job";
  EXPECT_FALSE(parse_nodes("n1|plnd|none\n")[0].idle());
  EXPECT_TRUE(SlurmJob{}.ended()) << "of a job that is not known any more";
  EXPECT_EQ(parse_submission("17\n"), "17");
  EXPECT_EQ(parse_submission("17;cluster\n"), "17");
  EXPECT_EQ(parse_submission("welcome to the site\n17\n"), "17");
  EXPECT_EQ(parse_submission("Submitted batch job 17\n"), "17");
  EXPECT_EQ(parse_submission("sbatch: default account\nSubmitted batch job 17 on cluster x\n"), "17");
  EXPECT_EQ(parse_submission("17\r\n"), "17");
  EXPECT_EQ(parse_submission("Submitted batch job\n"), "");
  EXPECT_EQ(parse_submission("sbatch: error\n"), "");
  EXPECT_EQ(parse_submission(""), "");
}

TEST(Patience, GrowsToAMinuteAndHasAnEnd) {
  Patience patience;
  EXPECT_TRUE(patience.is_new());
  std::vector<long long> pauses;
  long long all = 0;
  while (const auto pause = patience.next_pause()) {
    EXPECT_FALSE(patience.is_new());
    pauses.push_back(pause->count());
    all += pause->count();
  }
  ASSERT_GE(pauses.size(), 8U);
  EXPECT_EQ(pauses[0], 1);
  EXPECT_EQ(pauses[3], 8);
  EXPECT_EQ(pauses.back(), 60);
  EXPECT_GE(all, 600);
  EXPECT_LT(all, 700);
}

}  // namespace
}  // namespace dlscale::suite
