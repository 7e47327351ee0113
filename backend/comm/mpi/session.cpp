#include "backend/comm/mpi/session.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <sstream>

#include <fmt/format.h>
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::shared_ptr<MpiSession> MpiSession::join() {
  // MPI itself exists once per process; this is its handle, not our own global state.
  static std::mutex mutex;
  static std::weak_ptr<MpiSession> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<MpiSession> session = current.lock();
  if (!session) {
    session = std::shared_ptr<MpiSession>(new MpiSession);
    current = session;
  }
  return session;
}

MpiSession::MpiSession() {
  int finalised = 0;
  check(MPI_Finalized(&finalised), "MPI_Finalized", 0);
  if (finalised != 0) {
    throw LibraryError(
        "MPI was left by this process before, and MPI can be joined only once. Keep one "
        "communicator until the end.");
  }
  int initialised = 0;
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&initialised), "MPI_Initialized", 0);
  if (initialised == 0) {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread", 0);
    initialised_here_ = true;
  } else {
    check(MPI_Query_thread(&provided), "MPI_Query_thread", 0);
  }
  if (provided < MPI_THREAD_MULTIPLE) {
    throw Unsupported(
        "This MPI library lets only one thread call it (no MPI_THREAD_MULTIPLE), but gradients "
        "travel on a thread of their own. Use an Open MPI or MPICH built with thread support.");
  }
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", 0);
}

MpiSession::~MpiSession() {
  if (initialised_here_ && healthy_ && std::uncaught_exceptions() == 0) MPI_Finalize();
}

void MpiSession::check(int code, const char* call, Rank rank) {
  if (code == MPI_SUCCESS) return;
  healthy_ = false;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw LibraryError(
      fmt::format("{} failed on rank {} with code {} ({}). The work since the last written result "
                  "is lost; start again.",
                  call, rank, code, std::string_view(text.data(), length)));
}

std::string short_library_name(std::string_view text) {
  // "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\n…", "MVAPICH2 Version      :\t2.3.7"
  std::istringstream words(std::string(text.substr(0, text.find_first_of("\n,"))));
  std::string name;
  for (std::string word; words >> word;) {
    if (word == "Version" || word == "Version:" || word == ":") continue;
    if (word.size() > 1 && word[0] == 'v' && is_digit(word[1])) word.erase(0, 1);
    name += (name.empty() ? "" : " ") + word;
    if (is_digit(word[0])) break;
  }
  return name;
}

bool mpi_takes_device_memory() {
// Open MPI declares the query and this macro in mpi-ext.h [MPIX_Query_cuda_support(3)]; MPICH
// declares it in mpi.h since version 4.
#if defined(MPIX_CUDA_AWARE_SUPPORT) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace dlscale::backend
