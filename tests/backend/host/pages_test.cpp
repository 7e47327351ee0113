#include "backend/host/pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "backend/host/core_clock.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

TEST(PagedMemory, BeginsAtAPageAndIsZero) {
  const PagedMemory memory(10000, PageSize::small);
  EXPECT_EQ(memory.bytes(), 10000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % page_bytes(PageSize::small), 0U);
  for (std::size_t i = 0; i < memory.bytes(); ++i) ASSERT_EQ(memory.data()[i], std::byte{0});
}

TEST(PagedMemory, IsHugeOrRefused) {
  try {
    const PagedMemory memory(std::size_t{3} << 20, PageSize::huge);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % page_bytes(PageSize::huge), 0U);
    EXPECT_EQ(memory.data()[(std::size_t{3} << 20) - 1], std::byte{0});
  } catch (const Unsupported& reason) {
    EXPECT_NE(std::string(reason.what()).find("huge"), std::string::npos);
  }
}

TEST(PagedMemory, RefusesMoreThanThereIs) {
  EXPECT_THROW(PagedMemory(std::size_t{1} << 60, PageSize::small), ConfigError);
  EXPECT_THROW(PagedMemory(0, PageSize::small), std::logic_error);
}

TEST(CoreClock, IsThatOfAProcessor) {
  EXPECT_GT(core_clock_hertz(), 1e6);
  EXPECT_LT(core_clock_hertz(), 1e11);
}

}  // namespace
}  // namespace dlscale::backend
