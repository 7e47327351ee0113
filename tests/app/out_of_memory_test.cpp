#include <gtest/gtest.h>

#include <string>

#include "core/system/output.hpp"

#ifdef __has_feature  // Clang's way; GCC defines the macro itself.
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <cstddef>

// Of the address sanitizer, whose header GCC leaves out.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*,
                                                                  std::size_t),
                                                         void (*)(const volatile void*));
#endif

namespace dlscale::app {
namespace {

#ifdef __SANITIZE_ADDRESS__
bool counting = false;
int allocations = 0;

void count_one(const volatile void* /*memory*/, std::size_t /*bytes*/) {
  if (counting) ++allocations;
}
void count_none(const volatile void* /*memory*/) {}

/// How often `say` asks for memory.
template <class Say>
int allocations_of(const Say& say) {
  allocations = 0;
  counting = true;
  say();
  counting = false;
  return allocations;
}

TEST(OutOfMemory, IsSaidWithoutAnAllocation) {
  ASSERT_GT(__sanitizer_install_malloc_and_free_hooks(count_one, count_none), 0);
  EXPECT_GT(allocations_of([] { EXPECT_EQ(std::string(100, 'x').size(), 100U); }), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(allocations_of(say_out_of_memory), 0);
  testing::internal::GetCapturedStderr();
}
#endif

TEST(OutOfMemory, IsSaidInOneSentence) {
  testing::internal::CaptureStderr();
  say_out_of_memory();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "dlscale: there is not enough memory for what was asked for. Choose smaller sizes, "
            "batches or layers, or fewer ranks.\n");
}

/// More memory would not help.
TEST(TooLarge, IsSaidInASentenceOfItsOwn) {
  testing::internal::CaptureStderr();
  say_too_large();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "dlscale: what was asked for is larger than the memory of any machine. Choose smaller "
            "sizes, batches or layers.\n");
}

}  // namespace
}  // namespace dlscale::app
