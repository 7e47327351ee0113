#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/config/data_source.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// How frameworks train data-parallel, according to their sources and documents:
/// configs/frameworks, one file per framework, version and mode.

/// Knowledge about a property: its value, the statement that it does not exist, or nothing.
template <class T>
class Fact {
 public:
  static Fact unknown() { return Fact(false, std::nullopt); }
  static Fact none() { return Fact(true, std::nullopt); }
  static Fact stated(T value) { return Fact(true, std::move(value)); }

  [[nodiscard]] bool is_unknown() const { return !known_; }
  [[nodiscard]] bool is_none() const { return known_ && !value_; }
  [[nodiscard]] bool is_stated() const { return value_.has_value(); }
  [[nodiscard]] const T& value() const {
    EXPECT(is_stated());
    return *value_;
  }

 private:
  Fact(bool known, std::optional<T> value) : known_(known), value_(std::move(value)) {}
  bool known_;
  std::optional<T> value_;
};

/// How the gradients of several workers are combined.
enum class GradientPath {
  all_reduce,
  parameter_server,
  replicated_copy,  ///< copied to each other and added, without a library of collectives
  reduce_broadcast  ///< reduced to one worker, which updates and broadcasts parameters
};
/// Library that moves gradients. nccl_tcp: NCCL that must use sockets (NCCL_IB_DISABLE=1).
enum class GradientLibrary { nccl, nccl_tcp, mpi, gloo, grpc, ps_lite, copies };
enum class HostMemory { pinned, pageable };
/// How the GPUs of a node add gradients before parameter servers, or each other, get the sum.
enum class NodeSum {
  host,  ///< each GPU copies its gradients to the host, which adds them and returns the sum
  ring,  ///< a collective library reduces and gathers over all GPUs
  star   ///< one GPU for each tensor collects it from the others and returns the sum
};
enum class UpdatePlace {
  worker,  ///< every worker updates its copy of the parameters
  server,  ///< one place updates them, and parameters travel back
};
/// Subject of the workers' agreement over the host before a message is sent.
enum class Negotiation {
  per_tensor,  ///< a gradient is ready everywhere
  per_part,    ///< a part of a gradient is ready everywhere
};

/// How kernels are launched on the device.
enum class KernelLaunch {
  eager,    ///< one by one from an interpreter, in program order
  runtime,  ///< one by one from a graph or a list that the framework has compiled
  recorded  ///< many at once, as recorded graphs (CUDA graphs)
};

/// Month in which a version was released.
struct ReleaseMonth {
  int year = 0;
  int month = 1;  ///< 1 … 12
  auto operator<=>(const ReleaseMonth&) const = default;
};

struct FrameworkProfile {
  std::string id;        ///< file name without extension: horovod_0.19
  std::string name;      ///< Horovod
  std::string versions;  ///< "0.16 to 0.20"
  std::string doc;
  std::string like;  ///< the profile whose properties it has; empty: it states its own
  /// Parts of its names in case files, ignoring case; a * matches anything between two parts.
  std::vector<std::string> match;
  std::optional<ReleaseMonth> since = {};  ///< release month of its first version, if stated
  std::optional<ReleaseMonth> until = {};  ///< release month of its last version, if stated
  /// Source memory of batches copied to the device.
  Fact<HostMemory> input_copy = Fact<HostMemory>::unknown();
  Fact<GradientPath> gradients = Fact<GradientPath>::unknown();
  Fact<GradientLibrary> in_node = Fact<GradientLibrary>::unknown();
  Fact<GradientLibrary> between_nodes = Fact<GradientLibrary>::unknown();
  Fact<Schedule> schedule = Fact<Schedule>::unknown();
  Fact<Bytes> first_bucket = Fact<Bytes>::unknown();
  Fact<Bytes> bucket = Fact<Bytes>::unknown();
  Fact<int> groups = Fact<int>::unknown();  ///< messages into which all gradients are packed
  Fact<Bytes> fusion_threshold = Fact<Bytes>::unknown();
  Fact<Seconds> fusion_cycle = Fact<Seconds>::unknown();
  Fact<Bytes> partition = Fact<Bytes>::unknown();
  Fact<Bytes> credit = Fact<Bytes>::unknown();          ///< bytes of partitions in flight
  Fact<Sharding> sharding = Fact<Sharding>::unknown();  ///< placement of parameters on servers
  Fact<Callers> callers = Fact<Callers>::unknown();     ///< processes that call servers
  Fact<NodeSum> node_sum = Fact<NodeSum>::unknown();    ///< without a collective of all GPUs
  Fact<UpdatePlace> update_on = Fact<UpdatePlace>::unknown();
  Fact<Negotiation> negotiation = Fact<Negotiation>::unknown();
  Fact<KernelLaunch> launch = Fact<KernelLaunch>::unknown();
  /// How it computes, by networks and precision; the first row that applies counts.
  std::vector<ComputeRow> compute = {};
  std::vector<DataSource> sources;  ///< of all properties that are not unknown
};

/// Reads configs/frameworks/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
/// Every property must be present, if only as "unknown" or "none". Throws ConfigError, which names
/// file, place and what to write.
FrameworkProfile load_framework(std::string_view name);

/// Loads all files of configs/frameworks, ordered by name.
std::vector<FrameworkProfile> load_frameworks();

/// The profile with the longest `match` (without stars) contained in `text`, a free description of
/// what trained. If several profiles have the longest one, those count whose since and until
/// include `released`. Of these it is the one with the latest since, or nullptr if none or several
/// remain.
const FrameworkProfile* find_framework(const std::vector<FrameworkProfile>& profiles,
                                       std::string_view text,
                                       std::optional<ReleaseMonth> released = {});

/// Text of a property as in its file: "pinned", "25.00 MiB", "none", "unknown".
std::string to_text(const Fact<HostMemory>& fact);
std::string to_text(const Fact<GradientPath>& fact);
std::string to_text(const Fact<GradientLibrary>& fact);
std::string to_text(const Fact<Schedule>& fact);
std::string to_text(const Fact<Sharding>& fact);
std::string to_text(const Fact<Callers>& fact);
std::string to_text(const Fact<NodeSum>& fact);
std::string to_text(const Fact<UpdatePlace>& fact);
std::string to_text(const Fact<Negotiation>& fact);
std::string to_text(const Fact<KernelLaunch>& fact);

}  // namespace dlscale
