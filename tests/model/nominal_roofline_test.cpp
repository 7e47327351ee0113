// Networks under the roofline of a data sheet.
#include "model/roofline/nominal/nominal_roofline.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model {
namespace {

NominalPlacement placed(const Network& network, const std::string& device, DType dtype) {
  Run run;
  run.batch = 32;
  run.dtype = dtype;
  return place_network(network, nominal_device(load_device_sheet(device), sheet::fitted_launch),
                       run, sheet::traits_for(network, dtype, {}), sheet::nominal_constants());
}

TEST(NominalRoofline, HasTheCeilingsOfTheDataSheet) {
  const Network network = load_network("vgg16");
  const NominalRoofline plain = placed(network, "gtx_980", DType::f32).roofline;
  EXPECT_DOUBLE_EQ(plain.peak.si(), 4.98e12);
  EXPECT_DOUBLE_EQ(plain.memory.si(), 224e9);
  ASSERT_TRUE(plain.shared.has_value());
  EXPECT_DOUBLE_EQ(plain.shared->si(), 16 * 128 * 1216e6);
  const NominalRoofline tensor = placed(network, "v100_sxm2_16gb", DType::f16).roofline;
  EXPECT_GT(tensor.peak, tensor.core_peak);
}

TEST(NominalRoofline, IsNotExceededByModelledTimes) {
  for (const std::string name : {"vgg16", "resnet50", "mobilenet_v2", "bert_base"}) {
    const Network network = load_network(name);
    for (const auto& [device, dtype] :
         {std::pair("gtx_980", DType::f32), std::pair("v100_sxm2_16gb", DType::f16),
          std::pair("h100_sxm5_80gb", DType::bf16), std::pair("p100_sxm2_16gb", DType::f16)}) {
      for (const NominalStep& step : placed(network, device, dtype).steps) {
        const NominalWork& work = step.work;
        EXPECT_GE(work.time, work.bounds.arithmetic) << name << network.layer(step.layer).name;
        EXPECT_GE(work.time, work.bounds.memory) << name << network.layer(step.layer).name;
        EXPECT_LE(work.executed, work.declared) << name << network.layer(step.layer).name;
      }
    }
  }
}

TEST(NominalRoofline, AddsUpToTheStepTimesOfPredictions) {
  const Network network = load_network("resnet50");
  const Device device = nominal_device(load_device_sheet("gtx_980"), sheet::fitted_launch);
  struct Run run;
  run.batch = 32;
  sheet::StepTimes times(network, device, run, sheet::traits_for(network, DType::f32, {}),
                         sheet::nominal_constants());
  Seconds sum;
  for (const auto& steps : {forward_steps(network), backward_steps(network)}) {
    for (const Step step : steps) sum += times.time(step);
  }
  const NominalPlacement found = placed(network, "gtx_980", DType::f32);
  EXPECT_DOUBLE_EQ((found.total() - found.update).si(), sum.si());
  EXPECT_GT(found.update, Seconds());
}

}  // namespace
}  // namespace dlscale::model
