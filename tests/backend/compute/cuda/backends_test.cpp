// Links all of the backends of GPUs, whether or not a program of this build has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/device_probes.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

extern const ComputeBackend cuda;
extern const ComputeBackend cuda_nchw;

namespace {

TEST(BackendsOfGpus, OpenADeviceOrSayWhyThereIsNone) {
  for (const ComputeBackend* backend : {&cuda, &cuda_nchw}) {
    EXPECT_TRUE(backend->has_own_memory());
    try {
      EXPECT_EQ(backend->open({})->name(), backend->name);
      EXPECT_NE(backend->open_probes({}), nullptr);
    } catch (const Unsupported& error) {
      using testing::HasSubstr;
      EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("NVIDIA driver"), HasSubstr("NVIDIA GPU"),
                                               HasSubstr("This build has no kernels for")));
    }
  }
}

}  // namespace
}  // namespace dlscale::backend
