#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "core/cluster/device_file.hpp"
#include "core/config/csv_table.hpp"
#include "core/network/network.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/kernels/memory.hpp"

namespace dlscale::model::cold {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

/// Trainings on one GPU that others published: they ran, whatever they needed.
TEST(ColdMemory, RefusesNoPublishedTraining) {
  constexpr std::array<CsvColumn, 7> columns{
      {{"network"}, {"tokens"}, {"share"}, {"device"}, {"dtype"}, {"batch"}, {"attention"}}};
  const CsvTable table(std::string(DLSCALE_SOURCE_DIR) + "/tests/data/cold_ways.csv",
                       "published trainings", columns);
  ASSERT_GT(table.size(), 200U);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const double tokens = table.number(row, "tokens", 1e6) * table.number(row, "share", 1);
    TrainingRun run;
    run.dtype = parse_dtype(table.text(row, "dtype"));
    run.batch = static_cast<int>(table.number(row, "batch", most_images_per_rank));
    const Network network =
        load_network_for(table.text(row, "network"), static_cast<int>(std::lround(tokens)));
    Cluster cluster;
    cluster.device = nominal_device(load_device_sheet(table.text(row, "device")), Seconds(1e-6));
    MemoryTraits traits;
    traits.fused_attention = table.text(row, "attention") == "fused";
    Notes notes;
    EXPECT_NO_THROW(check_memory(as_run(network, run), cluster, run, notes, traits))
        << table.text(row, "network") << ", " << run.batch << " on " << cluster.device.name;
  }
}

}  // namespace
}  // namespace dlscale::model::cold
