#include "suite/launch/job_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "suite/launch/allocation.hpp"
#include "suite/launch/batch_script.hpp"
#include "tests/core/support.hpp"

namespace dlscale::suite {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

TEST(JobOptions, AreLinesOfTheScheduler) {
  const Words options{"time=01:00:00", "account=phys", "exclusive", "C=gpu", "comment=a b"};
  EXPECT_THAT(job_option_lines(Scheduler::slurm, options),
              ElementsAre("#SBATCH --time=01:00:00", "#SBATCH --account=phys",
                          "#SBATCH --exclusive", "#SBATCH -C gpu", "#SBATCH --comment='a b'"));
  EXPECT_THAT(job_option_lines(Scheduler::flux, Words{"time-limit=30m", "t=30m"}),
              ElementsAre("# flux: --time-limit=30m", "# flux: -t 30m"));
  EXPECT_THAT(job_option_lines(Scheduler::pbs, Words{"walltime=01:00:00", "A=physics", "h"}),
              ElementsAre("#PBS -l walltime=01:00:00", "#PBS -A physics", "#PBS -h"))
      << "PBS has no options of several letters";
}

TEST(JobOptions, StandAsTheyAreBehindADashOrANumberSign) {
  EXPECT_THAT(
      job_option_lines(Scheduler::slurm,
                       Words{"--account=a --qos=\"b c\"", "-C gpu", "#DW jobdw capacity=1GB",
                             "dependency=afterok:7", "mail-user=a=b@example.org"}),
      ElementsAre("#SBATCH --account=a --qos=\"b c\"", "#SBATCH -C gpu", "#DW jobdw capacity=1GB",
                  "#SBATCH --dependency=afterok:7", "#SBATCH --mail-user=a=b@example.org"));
}

std::string refusal(Scheduler scheduler, const std::string& option) {
  return test::config_error([&] { (void)job_option_lines(scheduler, Words{option}); });
}

TEST(JobOptions, AreRefusedWithWhatToWrite) {
  const Scheduler slurm = Scheduler::slurm;
  EXPECT_THAT(refusal(slurm, ""), HasSubstr("-J is empty"));
  EXPECT_THAT(refusal(slurm, "  "), HasSubstr("-J is empty"));
  EXPECT_THAT(refusal(slurm, "time=1\n#SBATCH --account=other"), HasSubstr("line break"));
  EXPECT_THAT(refusal(slurm, "--time=1\nrm -r x"), HasSubstr("line break"));
  EXPECT_THAT(refusal(slurm, "time 01:00"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal(slurm, "=1"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal(slurm, "time="), HasSubstr("no value"));
  EXPECT_THAT(refusal(slurm, "comment=it's \"a\""), HasSubstr("beginning with a dash"));
  EXPECT_THAT(refusal(slurm, "comment=a\\b"), HasSubstr("backslash"));
  EXPECT_THAT(refusal(Scheduler::pbs, "exclusive"), HasSubstr("walltime=01:00:00"));
}

TEST(JobOptions, LeaveToDlscaleWhatItCountsUpon) {
  for (const char* option : {"nodes=4", "N=4", "--nodes=4", "--account=a -N4", "#SBATCH -N 4",
                             "node=4", "--nod=4", "-HN4"}) {
    EXPECT_THAT(refusal(Scheduler::slurm, option), HasSubstr("Choose cells with --nodes"))
        << option;
  }
  EXPECT_THAT(refusal(Scheduler::slurm, "partition=a"), HasSubstr("--partition"));
  EXPECT_THAT(refusal(Scheduler::flux, "queue=a"), HasSubstr("--partition"));
  EXPECT_THAT(refusal(Scheduler::pbs, "-q a"), HasSubstr("--partition"));
  EXPECT_THAT(refusal(Scheduler::pbs, "-l walltime=1,select=2"), HasSubstr("--nodes"));
  EXPECT_THAT(refusal(Scheduler::slurm, "output=a.log"), HasSubstr("with -o"));
  EXPECT_THAT(refusal(Scheduler::slurm, "array=1-3"), HasSubstr("the same cells"));
  EXPECT_THAT(refusal(Scheduler::slurm, "signal=USR1@10"), HasSubstr("SIGTERM"));
  EXPECT_THAT(refusal(Scheduler::slurm, "ntasks=9"), HasSubstr("how many ranks"));
  EXPECT_THAT(refusal(Scheduler::pbs, "J=1-3"), HasSubstr("the same cells"));
  EXPECT_EQ(job_option_lines(Scheduler::slurm, Words{"nodelist=n1", "q=high"}).size(), 2U)
      << "other options than those";
}

System system(Scheduler scheduler) {
  System system;
  system.name = "test";
  system.scheduler = scheduler;
  return system;
}

std::string script(Scheduler scheduler, const Words& access, const Words& options) {
  Partition partition;
  partition.name = "gpu";
  partition.time_limit = "0:30:00";
  partition.access = access;
  return batch_script(system(scheduler), partition,
                      {.name = "a",
                       .nodes = 2,
                       .node = "",
                       .log = "/a.log",
                       .command = {"dlscale", "run"},
                       .options = options});
}

TEST(BatchScript, PutsOptionsOfTheCommandLineLastSoThatTheyWin) {
  EXPECT_THAT(script(Scheduler::slurm, {"--account=site"}, {"time=1:00:00", "account=phys"}),
              EndsWith("#SBATCH --time=0:30:00\n#SBATCH --account=site\n"
                       "#SBATCH --time=1:00:00\n#SBATCH --account=phys\nset -e\n"
                       "exec dlscale run\n"))
      << "sbatch takes the last of two";
  EXPECT_THAT(script(Scheduler::flux, {}, {"time-limit=1h"}),
              HasSubstr("# flux: --time-limit=0:30:00\n# flux: --time-limit=1h\nset -e\n"));
}

TEST(BatchScript, OfPbsHasAnOptionOnceThatTheCommandLineSets) {
  const std::string text = script(Scheduler::pbs, {"-A site", "-l mem=4gb", "-m n"},
                                  {"walltime=1:00:00", "place=excl", "-A phys", "mem=8gb"});
  EXPECT_THAT(text, HasSubstr("#PBS -o /a.log\n#PBS -m n\n#PBS -l walltime=1:00:00\n"
                              "#PBS -l place=excl\n#PBS -A phys\n#PBS -l mem=8gb\nset -e\n"));
  for (const char* replaced : {"0:30:00", "place=scatter", "site", "4gb"}) {
    EXPECT_THAT(text, Not(HasSubstr(replaced)));
  }
  const std::string error = test::config_error(
      [] { (void)script(Scheduler::pbs, {"-l mem=4gb,file=1gb"}, {"mem=8gb"}); });
  EXPECT_THAT(error, HasSubstr("an entry of its own"));
}

TEST(Allocation, KnowsByWhatTheJobWasSubmitted) {
  const auto found = [](const char* options) {
    return find_allocation([&](const char* name) -> const char* {
      if (std::string(name) == "SLURM_JOB_ID") return "7";
      return std::string(name) == job_options_variable ? options : nullptr;
    });
  };
  EXPECT_THAT(found(R"(["time=1:00:00", "a \"b\""])")->options,
              ElementsAre("time=1:00:00", "a \"b\""));
  EXPECT_TRUE(found(nullptr)->options.empty());
  EXPECT_THAT(test::config_error([&] { (void)found("time=1"); }), HasSubstr("Unset it"));
  EXPECT_THAT(test::config_error([&] { (void)found("[1]"); }), HasSubstr("Unset it"));
}

}  // namespace
}  // namespace dlscale::suite
