#include "backend/comm/nccl/profiler/plugin.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <string_view>

// A profiler plugin for NCCL, built as a separate shared object. It keeps NCCL's report on each
// operation until the program reads it. It depends on neither NCCL nor the rest of dlscale.
namespace dlscale::nccl_profiler {
namespace {

constexpr std::size_t most_notes = 4096;
constexpr int watched = collective_event | point_to_point_event;

/// Context of one communicator.
struct Context {
  std::array<char, 64> name{};
};

/// Record shared by all communicators of the process; NCCL's interface has no other place for it.
struct Ledger {
  std::mutex mutex;
  std::deque<Note> notes;
  std::uint64_t lost = 0;
  bool on = false;
  std::atomic<int>* activation = nullptr;  ///< NCCL's mask, common to all its communicators
};

Ledger& ledger() {
  // Never destroyed: NCCL's threads may outlive the program's statics.
  static Ledger& the_one = *new Ledger;
  return the_one;
}

template <std::size_t N>
void copy_text(const char* from, std::array<char, N>& to) {
  to.fill('\0');
  if (from == nullptr) return;
  const std::string_view text(from);
  std::memcpy(to.data(), text.data(), text.size() < N ? text.size() : N - 1);
}

void note_down(Note note) {
  Ledger& book = ledger();
  const std::lock_guard lock(book.mutex);
  if (!book.on) return;
  if (book.notes.size() == most_notes) {
    book.notes.pop_front();
    ++book.lost;
  }
  book.notes.push_back(note);
}

void apply(Ledger& book) {
  if (book.activation != nullptr) {
    book.activation->store(book.on ? watched : 0, std::memory_order_relaxed);
  }
}

int init(void** context, int* activation, const char* name) {
  auto* made = new (std::nothrow) Context;
  if (made == nullptr) return 2;  // ncclSystemError: NCCL continues without the plugin
  copy_text(name, made->name);
  *context = made;
  Ledger& book = ledger();
  const std::lock_guard lock(book.mutex);
  // NCCL reads its mask by atomic loads [src/plugin/profiler.cc: ncclProfilerEventMask].
  static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);
  book.activation = reinterpret_cast<std::atomic<int>*>(activation);
  apply(book);
  return success;
}

Note start_note(const void* context, int rank, const char* function) {
  Note note;
  if (context != nullptr) note.communicator = static_cast<const Context*>(context)->name;
  note.rank = rank;
  copy_text(function, note.function);
  return note;
}

void note_collective(const void* context, int rank, const CollectiveEvent& event) {
  Note note = start_note(context, rank, event.function);
  copy_text(event.algorithm, note.algorithm);
  copy_text(event.protocol, note.protocol);
  copy_text(event.element, note.element);
  note.count = event.count;
  note.channels = event.channels;
  note.warps = event.warps;
  note_down(note);
}

void note_point_to_point(const void* context, int rank, const PointToPointEvent& event) {
  Note note = start_note(context, rank, event.function);
  copy_text(event.element, note.element);
  note.count = event.count;
  note.channels = event.channels;
  note_down(note);
}

/// Other types of events arrive too, since collectives belong to them, and are skipped. But NCCL
/// 2.27 does not report an operation whose group has no handle [src/plugin/profiler.cc, tag
/// v2.27.7-1: ncclProfilerStartTaskEvents]. So groups get one, any value that is not null.
template <class Event>
int start(void* context, void** handle, Event* event) {
  *handle = event->type == group_event ? &ledger() : nullptr;
  if (event->type == collective_event) {
    note_collective(context, event->rank, event->detail.collective);
  } else if (event->type == point_to_point_event) {
    note_point_to_point(context, event->rank, event->detail.point_to_point);
  }
  return success;
}

int init_5(void** context, std::uint64_t, int* activation, const char* name, int, int, int,
           Logger) {
  return init(context, activation, name);
}

int init_4(void** context, int* activation, const char* name, std::uint64_t, int, int, int,
           Logger) {
  return init(context, activation, name);
}

int stop(void*) {
  return success;
}

int record(void*, int, void*) {
  return success;
}

int finalize(void* context) {
  delete static_cast<Context*>(context);
  return success;
}

}  // namespace
}  // namespace dlscale::nccl_profiler

#define DLSCALE_EXPORTED extern "C" __attribute__((visibility("default")))

// NCCL defines these names. NOLINTBEGIN(readability-identifier-naming)
DLSCALE_EXPORTED const dlscale::nccl_profiler::Profiler5 ncclProfiler_v5{
    "dlscale",
    dlscale::nccl_profiler::init_5,
    dlscale::nccl_profiler::start<dlscale::nccl_profiler::Event5>,
    dlscale::nccl_profiler::stop,
    dlscale::nccl_profiler::record,
    dlscale::nccl_profiler::finalize};

DLSCALE_EXPORTED const dlscale::nccl_profiler::Profiler4 ncclProfiler_v4{
    "dlscale",
    dlscale::nccl_profiler::init_4,
    dlscale::nccl_profiler::start<dlscale::nccl_profiler::Event4>,
    dlscale::nccl_profiler::stop,
    dlscale::nccl_profiler::record,
    dlscale::nccl_profiler::finalize};
// NOLINTEND(readability-identifier-naming)

DLSCALE_EXPORTED void dlscale_nccl_profiler_watch(int on) {
  auto& book = dlscale::nccl_profiler::ledger();
  const std::lock_guard lock(book.mutex);
  book.on = on != 0;
  dlscale::nccl_profiler::apply(book);
}

DLSCALE_EXPORTED std::size_t dlscale_nccl_profiler_read(dlscale::nccl_profiler::Note* notes,
                                                        std::size_t most, std::uint64_t* lost) {
  auto& book = dlscale::nccl_profiler::ledger();
  const std::lock_guard lock(book.mutex);
  std::size_t read = 0;
  for (; read < most && !book.notes.empty(); ++read) {
    notes[read] = book.notes.front();
    book.notes.pop_front();
  }
  *lost = book.lost;
  book.lost = 0;
  return read;
}
