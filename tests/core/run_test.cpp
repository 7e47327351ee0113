#include "core/run/run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/config/config_path.hpp"
#include "core/system/build_info.hpp"
#include "core/system/environment.hpp"
#include "core/text/near_words.hpp"
#include "core/text/suggest.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;

Run valid_run() {
  Run run;
  run.network = "resnet50";
  return run;
}

TEST(Run, NamesAreReadBack) {
  for (const DType dtype : all_dtypes) {
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  for (const Schedule schedule : all_schedules) {
    EXPECT_EQ(parse_schedule(schedule_name(schedule)), schedule);
  }
  for (const Synchronisation synchronisation : all_synchronisations) {
    EXPECT_EQ(parse_synchronisation(synchronisation_name(synchronisation)), synchronisation);
  }
  for (const Callers callers : all_callers) {
    EXPECT_EQ(parse_callers(callers_name(callers)), callers);
  }
  for (const Transport transport : all_transports) {
    EXPECT_EQ(parse_transport(transport_name(transport)), transport);
  }
  expect_contains(config_error([] { (void)parse_callers("node"); }), "Did you mean \"nodes\"?");
  EXPECT_EQ(config_error([] { (void)parse_launch("x"); }),
            "\"x\" is not a way to launch kernels. Allowed: eager, graph.");
  expect_contains(config_error([] { (void)parse_schedule("waitfree"); }),
                  "Did you mean \"wait_free\"?");
  expect_contains(config_error([] { (void)parse_dtype(""); }), "Allowed: f32, tf32, bf16, f16.");
  for (const InputCopy copy : {InputCopy::on_path, InputCopy::ahead}) {
    EXPECT_EQ(parse_input_copy(input_copy_name(copy)), copy);
  }
  for (const Launch launch : {Launch::eager, Launch::graph}) {
    EXPECT_EQ(parse_launch(launch_name(launch)), launch);
  }
  for (const Normalisation normalisation : {Normalisation::host, Normalisation::device}) {
    EXPECT_EQ(parse_normalisation(normalisation_name(normalisation)), normalisation);
  }
  expect_contains(config_error([] { (void)parse_normalisation("gpu"); }), "host, device");
  expect_contains(config_error([] { (void)parse_launch("graphs"); }), "Did you mean \"graph\"?");
  expect_contains(config_error([] { (void)parse_input_copy("on-path"); }),
                  "Did you mean \"on_path\"?");
}

TEST(Run, FieldsOutOfRangeAreNamed) {
  check(valid_run());
  const auto error = [](int dlscale::Run::*field, int value) {
    dlscale::Run run = valid_run();
    run.*field = value;
    return config_error([&] { check(run); });
  };
  EXPECT_EQ(error(&dlscale::Run::batch, 0), "batch is 0. Write a whole number from 1 to 65536.");
  expect_contains(error(&dlscale::Run::batch, -8), "batch is -8");
  expect_contains(error(&dlscale::Run::ranks, 0), "ranks is 0");
  expect_contains(error(&dlscale::Run::ranks_per_node, 0), "ranks_per_node");
  expect_contains(error(&dlscale::Run::prefetch, 0), "prefetch");
  expect_contains(error(&dlscale::Run::loader_threads, 1 << 30), "loader_threads");
  expect_contains(error(&dlscale::Run::compute_threads, 0), "compute_threads");
  expect_contains(error(&dlscale::Run::cores_per_rank, 0), "cores_per_rank");
  expect_contains(config_error([] { check(dlscale::Run{}); }), "network is empty");
}

TEST(Suggestion, DistanceCountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("rigth", "right"), 1);
  EXPECT_EQ(edit_distance("ReLU", "relu"), 0);
  EXPECT_EQ(edit_distance("relu", std::string(1'000'000, 'u')), 1'000'000);  // of a damaged file
}

TEST(Suggestion, IsMadeOnlyForANearWord) {
  const std::vector<std::string> words{"stride", "pad", "kernel"};
  EXPECT_EQ(suggestion("strid", words), "Did you mean \"stride\"? Allowed: stride, pad, kernel.");
  EXPECT_EQ(suggestion("colour", words), "Allowed: stride, pad, kernel.");
  EXPECT_EQ(suggestion("x", std::vector<std::string>{}), "None is allowed here.");
}

TEST(Suggestion, KnowsAWordWrittenOtherwise) {
  const std::vector<std::string> words{"p40x16",    "dgx_a100", "dgx_h100",      "p3_16xlarge",
                                       "piz_daint", "resnet50", "resnet50_v1.5", "h200x8"};
  for (const auto& [word, meant] :
       {std::pair("P40-x16", "p40x16"), std::pair("x16-p40", "p40x16"),
        std::pair("DGX-A100", "dgx_a100"), std::pair("a100_dgx", "dgx_a100"),
        std::pair("dgxh100", "dgx_h100"), std::pair("p3.16xlarge", "p3_16xlarge"),
        std::pair("PizDaint", "piz_daint"), std::pair("ResNet-50", "resnet50"),
        std::pair("resnet50v1.5", "resnet50_v1.5")}) {
    EXPECT_EQ(near_words(word, words), std::vector<std::string>{meant}) << word;
  }
  EXPECT_EQ(near_words("A100", words), std::vector<std::string>{"dgx_a100"});
  for (const char* other : {"resnet101", "h100x8", "V100", "100"}) {
    EXPECT_EQ(near_words(other, words), std::vector<std::string>{}) << other;
  }
  EXPECT_EQ(near_words("mobilenet", std::vector<std::string>{"googlenet"}),
            std::vector<std::string>{});
}

TEST(Suggestion, KnowsTheWordsOfOtherTools) {
  const std::vector<std::string> words{"f16",    "bf16",      "f32",      "table", "markdown",
                                       "json",   "csv",       "cuda",     "mpi",   "pytorch_ddp",
                                       "onednn", "wait_free", "googlenet"};
  for (const auto& [word, meant] :
       {std::pair("half", "f16"), std::pair("FP16", "f16"), std::pair("bfloat16", "bf16"),
        std::pair("float", "f32"), std::pair("md", "markdown"), std::pair("yaml", "json"),
        std::pair("txt", "table"), std::pair("gpu", "cuda"), std::pair("gloo", "mpi"),
        std::pair("ddp", "pytorch_ddp"), std::pair("mkl-dnn", "onednn"),
        std::pair("WFBP", "wait_free"), std::pair("inception-v1", "googlenet")}) {
    EXPECT_EQ(near_words(word, words), std::vector<std::string>{meant}) << word;
  }
}

/// Sets a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  Variable(Variable&&) = delete;
  Variable& operator=(Variable&&) = delete;

 private:
  const char* name_;
};

/// `text` with every digit (of base 16) written as d.
std::string pattern_of(std::string text) {
  for (char& c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) c = 'd';
  }
  return text;
}

TEST(Environment, RecordsWhatChangesResultsAndNoSecrets) {
  const Variable threads("OMP_NUM_THREADS", "2");
  const Variable secret("MY_PASSWORD", "hunter2");
  const Variable setting("OMPI_MCA_btl", "self,vader");
  const Variable cluster("DLSCALE_CLUSTER", "ours");
  const Variable folder("DLSCALE_CONFIGS", "/home/ann/configs");
  const Variable internal("OMPI_MCA_orte_hnp_uri", "1.0;tcp://192.0.2.1:1");
  const Environment environment = capture_environment();
  EXPECT_EQ(environment.variables.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(environment.variables.at("OMPI_MCA_btl"), "self,vader");
  EXPECT_FALSE(environment.variables.contains("OMPI_MCA_orte_hnp_uri"));
  EXPECT_EQ(environment.variables.at("DLSCALE_CLUSTER"), "ours");
  EXPECT_FALSE(environment.variables.contains("DLSCALE_CONFIGS"));
  EXPECT_FALSE(environment.variables.contains("MY_PASSWORD"));
  for (const auto& [name, value] : environment.variables) EXPECT_NE(value, "hunter2") << name;
}

TEST(Environment, DescribesThisMachine) {
  const Environment environment = capture_environment();
  EXPECT_EQ(pattern_of(environment.date), "dddd-dd-ddTdd:dd:ddZ");
  EXPECT_EQ(pattern_of(environment.host_hash), std::string(16, 'd'));
  EXPECT_EQ(environment.affinity.find_first_not_of("0123456789-,"), std::string::npos);
  EXPECT_FALSE(environment.affinity.empty());
  EXPECT_GE(environment.cores, 1);
  EXPECT_GT(environment.memory_bytes, 1e8);
  EXPECT_FALSE(environment.cpu.empty());
  EXPECT_EQ(environment.kernel.rfind("Linux", 0), 0U);
  EXPECT_FALSE(environment.governor.empty());
  EXPECT_FALSE(environment.load.empty());
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  EXPECT_EQ(environment.host_hash.find(name), std::string::npos);
}

TEST(Environment, KnowsHowItWasBuilt) {
  const BuildInfo build = build_info();
  EXPECT_FALSE(build.compiler.empty());
  EXPECT_NE(build.flags.find("-Wall"), std::string::npos);
#ifdef __SANITIZE_ADDRESS__
  EXPECT_NE(build.flags.find("-fsanitize="), std::string::npos);
#endif
  EXPECT_TRUE(build.commit == "unknown" || pattern_of(build.commit) == std::string(40, 'd'));
  EXPECT_EQ(capture_environment().commit, build.commit);
}

TEST(ConfigPath, VariableChoosesTheFolder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "networks");
  const auto file = folder.write("networks/mine.yaml", "");
  const Variable root("DLSCALE_CONFIGS", folder.path().c_str());
  EXPECT_EQ(config_root(), folder.path());
  EXPECT_EQ(find_config("networks", "mine"), file);
  EXPECT_EQ(config_names("networks"), std::vector<std::string>{"mine"});
  EXPECT_TRUE(config_names("clusters").empty());
  expect_contains(config_error([] { (void)find_config("clusters", "x"); }), "There is: nothing");
}

TEST(ConfigPath, VariableThatIsNoFolderIsRefused) {
  const Variable root("DLSCALE_CONFIGS", "/no/such/folder");
  expect_contains(config_error([] { (void)config_root(); }),
                  "DLSCALE_CONFIGS is \"/no/such/folder\"");
}

TEST(Interrupt, FirstSignalIsRememberedAndTheSecondEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interrupt_once = [] {
    install_signal_handlers();
    throw_if_interrupted();  // nothing yet
    (void)raise(SIGINT);
    try {
      throw_if_interrupted();
    } catch (const Interrupted& error) {
      std::exit(static_cast<int>(error.code()));
    }
  };
  EXPECT_EXIT(interrupt_once(), testing::ExitedWithCode(130), "");
  EXPECT_EXIT(
      {
        install_signal_handlers();
        (void)raise(SIGTERM);
        if (pending_signal() == SIGTERM) (void)raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(Errors, CarryTheExitCodeOfTheirKind) {
  EXPECT_EQ(ConfigError("x").code(), ExitCode::bad_input);
  EXPECT_EQ(WrongResult("x").code(), ExitCode::wrong_result);
  EXPECT_EQ(Unsupported("x").code(), ExitCode::not_built);
  EXPECT_EQ(static_cast<int>(Interrupted(SIGTERM).code()), 143);
}

}  // namespace
}  // namespace dlscale
