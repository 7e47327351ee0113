// Faults made on purpose, for faults_test.py: loaded before the libraries of the program
// (LD_PRELOAD), these functions stand in for those of MPI, by its profiling interface
// [MPI 4.1, 15.2], and for the one by which oneDNN computes. On one rank each does what it should,
// and something that it should not.
//
//   FAULT        flip: a bit of an element of what an all-reduce of f32 gives
//                late: comes late out of each barrier, and so into what follows it
//                slow_send: waits before it sends
//                slow_compute: waits before each step that oneDNN computes
//                fail: an all-reduce gives up at once, with an error
//                fail_compute: a step that oneDNN computes does
//   FAULT_RANK   on which rank
//   FAULT_AFTER  spares the first calls (flip, fail, fail_compute)
//   FAULT_LEAST  spares calls of fewer elements, or bytes of a message (flip, fail, slow_send)
//   FAULT_MS     how long a wait is, in milliseconds
#include <dlfcn.h>
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace {

const char* setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

int number(const char* name) {
  return std::atoi(setting(name, "0"));
}

int world_rank() {
  int initialised = 0;
  int rank = -1;
  PMPI_Initialized(&initialised);
  if (initialised != 0) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

bool has_fault(const char* name) {
  return std::strcmp(setting("FAULT", ""), name) == 0 && world_rank() == number("FAULT_RANK");
}

void delay() {
  std::this_thread::sleep_for(std::chrono::milliseconds(number("FAULT_MS")));
}

/// Whether the first calls are over; counts those it is asked about.
bool is_due() {
  static std::atomic<int> calls = 0;
  return ++calls > number("FAULT_AFTER");
}

bool is_of_gradients(int count, MPI_Datatype type) {
  return type == MPI_FLOAT && count >= number("FAULT_LEAST");
}

/// Whether the result of this call is to be spoilt.
bool spoils(int count, MPI_Datatype type) {
  return has_fault("flip") && is_of_gradients(count, type) && is_due();
}

/// The highest bit of the fraction of the first element from the middle on that is not 0. Says so,
/// the first time.
void flip(void* result, int count) {
  static std::atomic<bool> said = false;
  auto* elements = static_cast<float*>(result);
  for (int i = count / 2; i < count; ++i) {
    if (std::fpclassify(elements[i]) != FP_NORMAL) continue;
    const float before = elements[i];
    std::uint32_t bits = 0;
    std::memcpy(&bits, &elements[i], sizeof(bits));
    bits ^= std::uint32_t{1} << 22U;
    std::memcpy(&elements[i], &bits, sizeof(bits));
    if (said.exchange(true)) return;
    std::fprintf(stderr, "fault: element %d was %.9g and is %.9g\n", i, static_cast<double>(before),
                 static_cast<double>(elements[i]));
    return;
  }
}

struct Pending {
  void* result = nullptr;
  int count = 0;
};
std::mutex mutex;
std::map<MPI_Request, Pending> pending;  ///< what is to be spoilt when it is complete

}  // namespace

// The names are those of the libraries.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  if (has_fault("fail") && is_of_gradients(count, type) && is_due()) return MPI_ERR_OTHER;
  const int code = PMPI_Allreduce(from, to, count, type, op, comm);
  if (spoils(count, type)) flip(to, count);
  return code;
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  const int code = PMPI_Iallreduce(from, to, count, type, op, comm, request);
  if (spoils(count, type)) {
    const std::lock_guard lock(mutex);
    pending[*request] = {to, count};
  }
  return code;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Pending due;
  {
    const std::lock_guard lock(mutex);
    if (auto found = pending.extract(*request)) due = found.mapped();
  }
  const int code = PMPI_Wait(request, status);
  if (due.result != nullptr) flip(due.result, due.count);
  return code;
}

int MPI_Barrier(MPI_Comm comm) {
  const int code = PMPI_Barrier(comm);
  if (has_fault("late")) delay();
  return code;
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (has_fault("slow_send") && count >= number("FAULT_LEAST")) delay();
  return PMPI_Send(data, count, type, to, tag, comm);
}

/// As oneDNN declares it but for the names of the types [oneDNN, dnnl_primitive_execute].
int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
  using Execute = int (*)(const void*, void*, int, const void*);
  static const auto execute =
      reinterpret_cast<Execute>(::dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  constexpr int runtime_error = 5;  // dnnl_runtime_error
  if (has_fault("fail_compute") && is_due()) return runtime_error;
  if (has_fault("slow_compute")) delay();
  return execute(primitive, stream, count, arguments);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
