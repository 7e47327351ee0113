// Plays NCCL towards the profiler plugin.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "backend/comm/nccl/profile.hpp"
#include "backend/comm/nccl/profiler/plugin.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

using namespace nccl_profiler;

// The offsets that a C compiler gives the structures of profiler_v5.h and profiler_v4.h.
static_assert(offsetof(Event5, parent) == 8 && offsetof(Event5, rank) == 16);
static_assert(offsetof(Event5, detail) == 24 && offsetof(Event4, detail) == 24);
static_assert(offsetof(CollectiveEvent, function) == 8 && offsetof(CollectiveEvent, count) == 32);
static_assert(offsetof(CollectiveEvent, root) == 40 && offsetof(CollectiveEvent, element) == 48);
static_assert(offsetof(CollectiveEvent, channels) == 56 && offsetof(CollectiveEvent, warps) == 57);
static_assert(offsetof(CollectiveEvent, algorithm) == 64);
static_assert(offsetof(CollectiveEvent, protocol) == 72);
static_assert(offsetof(PointToPointEvent, element) == 16);
static_assert(offsetof(PointToPointEvent, count) == 24 && offsetof(PointToPointEvent, peer) == 32);
static_assert(offsetof(PointToPointEvent, channels) == 36);

/// NCCL 2.28 and later.
struct V5 {
  /// Whether NCCL tells of an operation only if its group got a handle [src/plugin/profiler.cc:
  /// ncclProfilerStartTaskEvents, tags v2.28.9-1 and v2.27.7-1].
  static constexpr bool needs_group = false;
  using Plugin = Profiler5;
  using Event = Event5;
  static constexpr const char* symbol = "ncclProfiler_v5";
  static void* init(const Plugin& plugin, int& mask, const char* name) {
    void* context = nullptr;
    EXPECT_EQ(plugin.init(&context, 99, &mask, name, 1, 2, 1, nullptr), success);
    return context;
  }
};

/// NCCL 2.27.
struct V4 {
  static constexpr bool needs_group = true;
  using Plugin = Profiler4;
  using Event = Event4;
  static constexpr const char* symbol = "ncclProfiler_v4";
  static void* init(const Plugin& plugin, int& mask, const char* name) {
    void* context = nullptr;
    EXPECT_EQ(plugin.init(&context, &mask, name, 99, 1, 2, 1, nullptr), success);
    return context;
  }
};

template <class Version>
class ProfilerTest : public testing::Test {
 protected:
  ProfilerTest() : library_(::dlopen(find_profiler().c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ != nullptr) {
      plugin_ = static_cast<const typename Version::Plugin*>(::dlsym(library_, Version::symbol));
    }
  }
  void SetUp() override { ASSERT_NE(plugin_, nullptr) << find_profiler(); }

  void* start(void* context, std::uint64_t type, const EventDetail& detail) {
    typename Version::Event event{};
    event.type = static_cast<decltype(event.type)>(type);
    event.rank = 1;
    event.detail = detail;
    void* handle = &event;
    EXPECT_EQ(plugin_->start(context, &handle, &event), success);
    return handle;
  }

  /// A group of one operation.
  void tell(void* context, std::uint64_t type, const EventDetail& detail) {
    void* group = start(context, group_event, EventDetail{});
    if (group != nullptr || !Version::needs_group) {
      EXPECT_EQ(start(context, type, detail), nullptr) << "nothing to stop";
    }
    if (group != nullptr) {
      EXPECT_EQ(plugin_->stop(group), success);
    }
  }

  void* library_;
  const typename Version::Plugin* plugin_ = nullptr;
};
using Versions = testing::Types<V5, V4>;
TYPED_TEST_SUITE(ProfilerTest, Versions);

EventDetail all_reduce(std::size_t count) {
  EventDetail detail{};
  detail.collective.function = "AllReduce";
  detail.collective.count = count;
  detail.collective.element = "ncclFloat32";
  detail.collective.channels = 24;
  detail.collective.warps = 17;
  detail.collective.algorithm = "NVLS";
  detail.collective.protocol = "SIMPLE";
  return detail;
}

template <std::size_t N>
std::string text(const std::array<char, N>& characters) {
  return characters.data();
}

TYPED_TEST(ProfilerTest, KeepsWhatNcclTellsOfACollective) {
  int mask = -1;
  void* context = TypeParam::init(*this->plugin_, mask, "dlscale link 7");
  Profile profile(find_profiler());
  this->tell(context, collective_event, all_reduce(1000));
  const std::vector<Note> notes = profile.read();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(text(notes[0].communicator), "dlscale link 7");
  EXPECT_EQ(text(notes[0].function), "AllReduce");
  EXPECT_EQ(text(notes[0].algorithm), "NVLS");
  EXPECT_EQ(text(notes[0].protocol), "SIMPLE");
  EXPECT_EQ(text(notes[0].element), "ncclFloat32");
  EXPECT_EQ(notes[0].count, 1000U);
  EXPECT_EQ(notes[0].channels, 24);
  EXPECT_EQ(notes[0].warps, 17);
  EXPECT_EQ(notes[0].rank, 1);
  EXPECT_TRUE(profile.read().empty());
  EXPECT_EQ(this->plugin_->finalize(context), success);
}

TYPED_TEST(ProfilerTest, KeepsWhatNcclTellsOfAMessage) {
  int mask = -1;
  void* context = TypeParam::init(*this->plugin_, mask, nullptr);
  Profile profile(find_profiler());
  EventDetail detail{};
  detail.point_to_point.function = "Send";
  detail.point_to_point.count = 5;
  detail.point_to_point.channels = 2;
  this->tell(context, point_to_point_event, detail);
  const std::vector<Note> notes = profile.read();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(text(notes[0].communicator), "");
  EXPECT_EQ(text(notes[0].function), "Send");
  EXPECT_EQ(text(notes[0].algorithm), "");
  EXPECT_EQ(notes[0].count, 5U);
  EXPECT_EQ(notes[0].channels, 2);
  EXPECT_EQ(this->plugin_->finalize(context), success);
}

TYPED_TEST(ProfilerTest, AsksForEventsOnlyWhileSomebodyWatches) {
  int mask = -1;
  void* context = TypeParam::init(*this->plugin_, mask, "c");
  EXPECT_EQ(mask, 0);
  {
    Profile profile(find_profiler());
    EXPECT_EQ(mask, collective_event | point_to_point_event);
  }
  EXPECT_EQ(mask, 0);
  this->tell(context, collective_event, all_reduce(1));
  Profile profile(find_profiler());
  EXPECT_TRUE(profile.read().empty()) << "what came meanwhile is nobody's";
  EXPECT_EQ(this->plugin_->finalize(context), success);
}

TYPED_TEST(ProfilerTest, LeavesOutOtherEventsAndLongNames) {
  int mask = -1;
  const std::string long_name(200, 'n');
  void* context = TypeParam::init(*this->plugin_, mask, long_name.c_str());
  Profile profile(find_profiler());
  for (const std::uint64_t other : {8U, 16U, 32U, 64U, 128U}) {
    this->tell(context, other, EventDetail{});
  }
  EXPECT_TRUE(profile.read().empty());
  this->tell(context, collective_event, EventDetail{});
  const std::vector<Note> notes = profile.read();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(text(notes[0].communicator), long_name.substr(0, notes[0].communicator.size() - 1));
  EXPECT_EQ(this->plugin_->stop(nullptr), success);
  EXPECT_EQ(this->plugin_->record(nullptr, 22, nullptr), success);
  EXPECT_EQ(this->plugin_->finalize(context), success);
}

TYPED_TEST(ProfilerTest, KeepsTheLatestIfNobodyReads) {
  int mask = -1;
  void* context = TypeParam::init(*this->plugin_, mask, "c");
  Profile profile(find_profiler());
  for (std::size_t i = 0; i < 5000; ++i) this->tell(context, collective_event, all_reduce(i));
  const std::vector<Note> notes = profile.read();
  ASSERT_EQ(notes.size(), 4096U);
  EXPECT_EQ(notes.front().count, 5000U - 4096U);
  EXPECT_EQ(notes.back().count, 4999U);
  EXPECT_EQ(this->plugin_->finalize(context), success);
}

TEST(Profile, IsRefusedWithTheReasonIfNcclWasNotOfferedThePlugin) {
  ASSERT_EQ(::setenv("NCCL_PROFILER_PLUGIN", "/somewhere/else.so", 1), 0);
  try {
    const Profile profile;
    FAIL() << "another plugin is set";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("set to /somewhere/else.so"), std::string::npos);
  }
  offer_profiler();
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), "/somewhere/else.so") << "the user's word";
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  offer_profiler();
  EXPECT_EQ(std::getenv("NCCL_PROFILER_PLUGIN"), find_profiler().string());
  ::unsetenv("NCCL_PROFILER_PLUGIN");
}

TEST(Profile, IsRefusedOfAnotherLibrary) {
  EXPECT_THROW(Profile("libm.so.6"), Unsupported);
  EXPECT_THROW(Profile("/nowhere/at/all.so"), Unsupported);
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
