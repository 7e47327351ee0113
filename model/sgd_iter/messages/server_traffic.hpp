#pragma once
#include <optional>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/messages/known_links.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Whether ranks, or processes of their nodes, call servers in a run.
bool calls_servers(const Run& run);

/// What is sent for each byte of the gradients where every caller talks to every server by itself:
/// it pushes what the server keeps, and pulls it. Each is of one way; the other has the same.
struct ServerTraffic {
  double from_caller = 0;  ///< of the one that sends most to servers other than itself
  double to_server = 0;    ///< into the server that keeps most, from all callers but itself
  double in_call = 0;      ///< between a caller and the server that keeps most
  double out_of_node = 0;  ///< over the link of the busiest node, the busier of its two ways
  double within_node = 0;  ///< of the busiest rank or server with those of its node
};

/// Of the servers of most_servers(): ranks, or nodes, 0 … servers - 1. `imbalance`, from 1 to the
/// number of servers, is what the one that keeps most keeps, over an even share. It is server 0,
/// and the others share the rest evenly. Every server gets its share of what is under way: true of
/// the sum of many messages, and wrong of a single one that belongs to one server.
///   ranks          a rank that is a server sends nothing to itself
///   nodes          a process of each node packs everything, for a server on its node is another
///                  process; what both tell each other takes no link
///   several_nodes  likewise; on one node nothing is sent
ServerTraffic server_traffic(const Placement& placement, Callers callers, int servers,
                             double imbalance);

/// What a byte takes to be packed into remote procedure calls and unpacked, beside the links: β_ser
/// of MODEL 3.2. Requires a transport by calls.
Estimate<SecondsPerByte> serialisation(Transport transport);

/// How long it takes to push a message to its servers, or to pull it: (3.19), with β_net + β_ser,
///   t(m) = t_copy(m) + 2 α + m (max{ from_caller, to_server } β_ser
///                               + max{ out_of_node β_between, within_node β_within })
/// for a call is a request and an answer. [D: a process packs and unpacks one call after the other;
/// its links are full duplex, and shared evenly by all that is under way.] That processes do
/// several at once was published, too (2.6 GB/s of one to 8 servers, TensorFlow issue 6116): the
/// low end of the interval has all of them at once, in_call β_ser. t_copy is between a device and
/// its host, where calls carry what is in host memory, or a process of a node adds up there: as
/// long as a batch of m bytes takes, of all ranks of a node at once, each over a link of its own.
/// Wrong where devices share one, and by what adding up takes.
class ServerCalls {
 public:
  /// Of a run on ≥ 2 ranks with a transport by calls. Throws ConfigError if the machine does not
  /// know a link that is used. Notes what was assumed; `machine` must outlive this.
  ServerCalls(const Machine& machine, const Run& run, double imbalance, Notes& notes);
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  [[nodiscard]] TimeSource source() const;

 private:
  void note_calls(const Run& run, Notes& notes) const;

  Transport transport_;
  ServerTraffic traffic_;
  std::optional<KnownLink> within_;   ///< where ranks of a node talk to each other
  std::optional<KnownLink> between_;  ///< likewise of nodes
  const Piecewise* copy_ = nullptr;   ///< between a device and its host
  bool fitted_ = false;               ///< whether that was measured
};

}  // namespace dlscale::model
