#pragma once
#include <string>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// A failed NCCL call.
struct Failure {
  std::string call;
  int code = 0;        ///< ncclResult_t
  std::string text;    ///< ncclGetErrorString
  std::string detail;  ///< ncclGetLastError; may be empty
  Rank rank = 0;
};

/// Whether `code` may result from the death of another rank.
bool may_be_a_death(int code);

/// Names call, code, rank, NCCL's text and the remedy for this code.
LibraryError error_of(const Failure& failure);

}  // namespace dlscale::backend::gpu_comm
