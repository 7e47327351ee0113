#pragma once
#include <functional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace dlscale::collective {

/// The Hockney model of a link, plus the time to reduce one byte. A message of m bytes takes alpha
/// + m · beta, plus m · gamma if it is added to the receiver's data.
struct Link {
  Seconds alpha;
  SecondsPerByte beta;
  SecondsPerByte gamma;
};

/// Links between ranks of different nodes and within one node. If ranks of a node share an uplink,
/// inter.beta is the value per rank while as many send as the algorithm's Outflow allows.
struct Links {
  Link inter;
  Link intra;
};

/// Node `from` sends slots [first, first + count) of its buffer to node `to`. `to` adds them to its
/// slots [first + shift, first + shift + count) (`add`) or overwrites those (`copy`). If `from` is
/// `to`, slots are copied within its buffer, which takes no time.
struct Transfer {
  enum class Action { add, copy };
  Rank from = 0;
  Rank to = 0;
  int first = 0;
  int count = 0;
  Action action = Action::copy;
  int shift = 0;
};

/// Concurrent transfers: all read the state before the round, and at a receiver they take effect in
/// the order of the list. Transfers from one node to another travel as one message.
using Round = std::vector<Transfer>;
using Rounds = std::vector<Round>;

/// Consecutive rounds on nodes 0 … ranks + helpers - 1. Each node has a buffer of chunks + scratch
/// slots; a slot is one of the `chunks` equal parts of the message. The contents of the slots
/// before and after are defined in core/collective/algorithm.hpp.
struct Schedule {
  int ranks = 1;
  int chunks = 1;
  Rounds rounds = {};
  int scratch = 0;       ///< slots after the chunks
  int result = 0;        ///< the first of `chunks` slots that hold the result
  int helpers = 0;       ///< nodes after the ranks: parameter servers, switches
  int rank_ports = 1;    ///< messages that a rank sends, and as many that it receives, concurrently
  int helper_ports = 1;  ///< the same for a helper: 1 for a server, its links for a switch
};

/// The link for messages from one node to another.
using LinkBetween = std::function<Link(Rank from, Rank to)>;

/// Time of a schedule for a message of m bytes over full-duplex links. Rounds follow one another;
/// each takes as long as its slowest node. A node with one port takes the sum of the messages it
/// sends, or of those it receives. A node with several ports takes the slowest of them, and must
/// not have more messages than ports.
Seconds time(const Schedule& schedule, const LinkBetween& link, Bytes m);

/// As above, if all links are alike.
Seconds time(const Schedule& schedule, const Link& link, Bytes m);

/// As above, if ranks are numbered node by node; helpers are outside of all nodes.
Seconds time(const Schedule& schedule, const Links& links, int ranks_on_node, Bytes m);

/// The schedule on its ranks alone: node n moves to rank n mod ranks, like parameter servers that
/// share the machines of workers. A rank keeps the slots of every node that it has, its own first:
/// those of node n begin n / ranks · chunks slots later, in its scratch. Messages between nodes of
/// one rank become copies; two ranks exchange one message in a round. So a closed form for
/// dedicated servers does not apply. Throws std::logic_error for a schedule that has scratch slots
/// or leaves its result outside the message's slots.
Schedule colocated(const Schedule& schedule);

}  // namespace dlscale::collective
