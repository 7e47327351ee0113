#include "report/validation/run_networks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "report/validation/validate.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

namespace fs = std::filesystem;

/// A folder with networks, and runs of them.
class RunsOfNetworks : public testing::Test {
 protected:
  RunsOfNetworks() { fs::create_directories(folder_); }
  RunsOfNetworks(const RunsOfNetworks&) = delete;
  RunsOfNetworks& operator=(const RunsOfNetworks&) = delete;
  ~RunsOfNetworks() override { fs::remove_all(folder_); }

  /// Writes a network called "own" with a layer of so many outputs; returns the path.
  [[nodiscard]] std::string write(const std::string& file, int outputs) const {
    std::ofstream(folder_ / file) << "network: own\ninput: {channels: 3, height: 8, width: 8}\n"
                                     "layers:\n  - {name: fc, kind: fully_connected, outputs: "
                                  << outputs
                                  << "}\n  - {name: loss, kind: softmax_cross_entropy}\n";
    return (folder_ / file).string();
  }

  /// A file with a run of what is in `source` now.
  [[nodiscard]] static ResultFile run_of(const std::string& source, const std::string& path) {
    const Network network = load_network(source);
    Measurement run = samples::e2e({network.name()}, {});
    run.network = TrainedNetwork{source, fingerprint(network)};
    ResultFile file = samples::file("e2e", {run});
    file.path = path;
    return file;
  }

  /// As files were before they said what was trained.
  [[nodiscard]] static ResultFile old_run_of(const std::string& source, const std::string& path) {
    ResultFile file = samples::file("e2e", {samples::e2e({source}, {})});
    file.path = path;
    return file;
  }

  [[nodiscard]] static Validation judge(const std::vector<ResultFile>& files) {
    return validate(model::nominal_machine(load_cluster("p40x16")), files);
  }

  /// The message of the ConfigError that judging meets.
  [[nodiscard]] static std::string refused(const std::vector<ResultFile>& files) {
    try {
      (void)judge(files);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

 private:
  fs::path folder_ = fs::temp_directory_path() / ("dlscale_networks_" + std::to_string(getpid()));
};

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

TEST_F(RunsOfNetworks, AreFoundByTheirFileAndToldByTheirName) {
  const Validation validation = judge({run_of(write("own.yaml", 10), "a.jsonl")});
  ASSERT_EQ(validation.runs.size(), 1U);
  EXPECT_EQ(validation.runs.front().run.network, "own");
  EXPECT_EQ(validation.not_judged, 0);
  EXPECT_EQ(validation.networks.at("own")->classes(), 10);
}

TEST_F(RunsOfNetworks, AreNotJudgedByANetworkThatWasEditedSince) {
  const ResultFile stale = run_of(write("own.yaml", 10), "results/stale.jsonl");
  const std::string source = write("own.yaml", 11);
  const std::string alone = refused({stale});
  EXPECT_TRUE(says(alone, "results/stale.jsonl is of another network than \"own\" is now"));
  EXPECT_TRUE(says(alone, source));
  EXPECT_TRUE(says(alone, stale.measurements.front().network->fingerprint));

  const Validation validation = judge({stale, run_of("alexnet", "b.jsonl")});
  ASSERT_EQ(validation.runs.size(), 1U);
  EXPECT_EQ(validation.runs.front().run.network, "alexnet");
  EXPECT_EQ(validation.not_judged, 1);
  EXPECT_EQ(exit_code(validation, {1e9, 1e9}), ExitCode::inconclusive);
  EXPECT_TRUE(says(validation.notes.front(), "left out: results/stale.jsonl"));
}

TEST_F(RunsOfNetworks, AreJudgedWhereOnlyNamesAndCommentsWereEdited) {
  const std::string source = write("own.yaml", 10);
  const ResultFile file = run_of(source, "a.jsonl");
  std::ofstream(source, std::ios::app) << "# a comment\n";
  EXPECT_EQ(judge({file}).runs.size(), 1U);
}

TEST_F(RunsOfNetworks, AreNotJudgedWhereTheFileIsGone) {
  const std::string source = write("own.yaml", 10);
  const ResultFile lost = run_of(source, "lost.jsonl");
  fs::remove(source);
  EXPECT_TRUE(says(refused({lost}), "the run of own in lost.jsonl cannot be predicted: " + source));
  EXPECT_EQ(judge({lost, run_of("alexnet", "b.jsonl")}).not_judged, 1);
}

TEST_F(RunsOfNetworks, OfOneNameCountAsTheOneThatIsStillThere) {
  const ResultFile stale = run_of(write("a.yaml", 10), "stale.jsonl");
  (void)write("a.yaml", 9);
  const ResultFile good = run_of(write("b.yaml", 11), "good.jsonl");
  const Validation validation = judge({stale, good});
  ASSERT_EQ(validation.runs.size(), 1U);
  EXPECT_EQ(validation.networks.at("own")->classes(), 11);
  EXPECT_TRUE(says(validation.notes.front(), "stale.jsonl"));
}

TEST_F(RunsOfNetworks, OfOlderFilesAreTakenAtTheirWord) {
  const std::string source = write("own.yaml", 10);
  const Validation validation =
      judge({old_run_of("alexnet", "a.jsonl"), old_run_of(source, "b.jsonl")});
  EXPECT_EQ(validation.runs.size(), 2U);
  EXPECT_EQ(validation.not_judged, 0);
  EXPECT_TRUE(says(refused({old_run_of("nosuchnet", "c.jsonl")}), "c.jsonl"));
}

}  // namespace
}  // namespace dlscale::report
