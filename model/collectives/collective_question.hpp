#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// The word for what the library does: as it was measured, or as the cluster's rule says.
inline constexpr std::string_view by_library = "library";

/// The most ranks that exchange messages in a prediction, as of a training.
inline constexpr int most_message_ranks = 1'000'000;

/// A question about messages alone, outside of any training.
struct CollectiveQuestion {
  collective::Collective collective = collective::Collective::all_reduce;
  std::vector<int> ranks;    ///< each from 2 to most_message_ranks
  std::vector<Bytes> sizes;  ///< each ≥ 4 B; of the message, as core/collective defines it
  std::vector<std::string> algorithms;  ///< of collective_words(), each once
};

/// The time of one message.
struct CollectiveTime {
  int ranks = 2;
  int nodes = 1;
  Bytes size;
  std::string algorithm;   ///< as asked
  Estimate<Seconds> time;  ///< interval of 90 % by data sheets, of 95 % on a fitted machine
  TimeSource source = TimeSource::data_sheet;
};

/// An algorithm that cannot be predicted on a number of ranks, and the reason.
struct CollectiveLeftOut {
  int ranks = 2;
  std::string algorithm;
  std::string why;
};

/// Times by ranks, then size, then algorithm, each in the order asked.
struct CollectiveAnswer {
  collective::Collective collective = collective::Collective::all_reduce;
  std::string on;  ///< name of the cluster
  bool fitted = false;
  std::vector<std::string> algorithms;
  std::vector<CollectiveTime> times;
  std::vector<CollectiveLeftOut> left_out;
  std::vector<Note> notes;
};

/// The words for algorithms of a collective on a machine: by_library; the algorithms of
/// core/collective that need ranks alone, for an all-reduce "chain" too; the rules of libraries,
/// which choose one by the size of the message (choosing_rules()); "nccl" where the cluster states
/// what its cost model needs; for an all-reduce "sharp", switches that add.
std::vector<std::string> collective_words(const Machine& machine,
                                          collective::Collective collective);

/// The words that name one algorithm, and by_library: those that "all" stands for.
std::vector<std::string> single_algorithms(const Machine& machine,
                                           collective::Collective collective);

/// Times of messages alone, over the same links as those of a training. Ranks enter together, as
/// after spinning:
///   all-reduces      MessageTimes
///   by_library       CollectiveTimes; an all-to-all as NCCL and Gloo make it, by messages between
///                    all pairs of ranks
///   nccl             NcclTimes
///   others           AlgorithmTimes
/// Algorithms that a number of ranks or size refuses are left out there. Throws ConfigError for an
/// unknown word, and the first reason if nothing can be predicted.
CollectiveAnswer answer(const Machine& machine, const CollectiveQuestion& question);

}  // namespace dlscale::model
