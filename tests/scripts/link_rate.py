"""Run by mpirun as two ranks: the rate of TCP between them, each way, in bits a second.

A rate counts from before the first byte is sent until the receiver's answer to the last, so that no
buffer on the way makes it larger than the link's. The second rank prints both.

Usage: link_rate.py HOST_OF_RANK_0 BYTES REPETITIONS
"""

import json
import os
import socket
import sys
import time

PORT = 5001
SECONDS = 20


def connect(host):
    """Waits for the other rank to listen."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            return socket.create_connection((host, PORT), timeout=SECONDS)
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def send_at_once(end):
    """Else the last bytes wait for an answer that the receiver, waiting for them, puts off."""
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def receive(end, count):
    buffer = bytearray(2**20)
    while count > 0:
        got = end.recv_into(buffer, min(count, len(buffer)))
        if got == 0:
            raise ConnectionError("the other rank has gone")
        count -= got


def send(end, count):
    """Returns bits per second."""
    start = time.perf_counter()
    end.sendall(bytes(count))
    receive(end, 1)
    return count * 8 / (time.perf_counter() - start)


def take(end, count):
    receive(end, count)
    end.sendall(b"!")


def main():
    host, count, repetitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
        with socket.create_server(("0.0.0.0", PORT)) as server:
            server.settimeout(SECONDS)
            end, _ = server.accept()
        end.settimeout(SECONDS)
        send_at_once(end)
        for _ in range(repetitions):
            take(end, count)
        back = [send(end, count) for _ in range(repetitions)]
        end.sendall(json.dumps(back).encode())
        end.close()
        return
    end = connect(host)
    send_at_once(end)
    there = [send(end, count) for _ in range(repetitions)]
    for _ in range(repetitions):
        take(end, count)
    back = b"".join(iter(lambda: end.recv(4096), b""))
    print(json.dumps({"there": there, "back": json.loads(back)}))


if __name__ == "__main__":
    main()
