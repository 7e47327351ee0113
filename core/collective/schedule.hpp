#pragma once
#include <functional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/collective/link.hpp"

namespace dlscale::collective {

/// Node `from` sends slots [first, first + count) of its buffer to node `to`, which adds them to
/// its own slots [first + shift, first + shift + count) (`add`) or overwrites those with them
/// (`copy`). Where `from` is `to`, slots are copied within its buffer, which counts as no time.
struct Transfer {
  enum class Action { add, copy };
  Rank from = 0;
  Rank to = 0;
  int first = 0;
  int count = 0;
  Action action = Action::copy;
  int shift = 0;
};

/// Transfers that run at the same time: all read what was there before the round, and at a receiver
/// they land in the order of the list. Those from one node to another travel as one message.
using Round = std::vector<Transfer>;
using Rounds = std::vector<Round>;

/// Rounds one after another on nodes 0 … ranks + helpers - 1. Each has a buffer of chunks + scratch
/// slots, and a slot is one of the `chunks` equal parts of the message. What the slots hold before
/// and after is said in core/collective/contract.hpp.
struct Schedule {
  int ranks = 1;
  int chunks = 1;
  Rounds rounds = {};
  int scratch = 0;       ///< slots after the chunks
  int result = 0;        ///< the first of `chunks` slots in which the result is left
  int helpers = 0;       ///< nodes after the ranks: parameter servers, switches
  int rank_ports = 1;    ///< messages that a rank sends, and as many that it receives, at once
  int helper_ports = 1;  ///< the same of a helper: 1 for a server, its links for a switch
};

/// The link that messages from one node to another take.
using LinkBetween = std::function<Link(Rank from, Rank to)>;

/// The time of a schedule for a message of m bytes over full-duplex links: a round takes as long as
/// its slowest node, one after another. A node with one port takes the sum of the messages it
/// sends, or of those it receives; one with several takes the slowest of them, and must not have
/// more messages than ports.
Seconds time(const Schedule& schedule, const LinkBetween& link, Bytes m);

/// The same where all links are alike.
Seconds time(const Schedule& schedule, const Link& link, Bytes m);

/// The same where ranks are numbered node by node; helpers are outside of all nodes.
Seconds time(const Schedule& schedule, const Links& links, int ranks_on_node, Bytes m);

}  // namespace dlscale::collective
