"""Measures the speed of a worker: `python3 measure.py [python|node] [seconds] [folder of a
function]`."""

import os
import struct
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from drive import END, REQUEST, Worker, request_head  # noqa: E402

HELLO = {
    "python": {"main.py": 'def main():\n    return "Hello, world!"\n'},
    "node": {"main.js": 'module.exports = async (context) => ({ status: 200, body: "Hello, world!" })\n'},
}
# Headers as sent by a browser and the gateway.
HEADERS = (
    ("host", "shop.localhost:8080"), ("user-agent", "curl/8.5.0"), ("accept", "*/*"), ("x-forwarded-for", "127.0.0.1"),
    ("x-forwarded-host", "shop.localhost:8080"), ("x-forwarded-proto", "http"), (":id", "01J9ZQ4T5Y8W3K6M2N7P"),
    (":release", "abcde"), (":deadline", "60000"), (":client", "127.0.0.1"), (":route", "/hello"),
    (":call", "shop.abcde.1767225600.0123456789abcdef0123456789abcdef"),
)  # fmt: skip


def measure(runtime, seconds, folder):
    """Requests per second on one connection without pipelining, and the worker's CPU time per
    request."""
    worker = Worker(runtime)
    worker.folder = folder
    began = time.perf_counter()
    time.sleep(1.0 if runtime == "python" else 1.5)
    began = time.perf_counter()
    channel = worker.init()
    ready = time.perf_counter() - began
    channel.call(headers=HEADERS)
    first = time.perf_counter() - began
    head = request_head("GET", "/hello?name=x", HEADERS)
    frame = struct.pack("<IBBHQI", 4 + len(head), REQUEST, END, 0, 0x9E3779B97F4A7C15, len(head)) + head
    send, recv = channel.sock.sendall, channel.sock.recv
    channel.sock.settimeout(None)

    def turn(count):
        for _ in range(count):
            send(frame)
            recv(65536)

    turn(5000)
    ticks = processor_time(worker.process.pid)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        turn(500)
        count += 500
    took = time.perf_counter() - began
    spent = processor_time(worker.process.pid) - ticks
    print(
        "%-6s %-10s ready %5.1f ms, first answer %5.1f ms, %7.0f requests/s, worker %5.1f us of processor each"
        % (runtime, worker.convention, ready * 1e3, first * 1e3, count / took, spent / count * 1e6)
    )
    worker.stop()


def processor_time(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    runtimes = [sys.argv[1]] if len(sys.argv) > 1 else ["python", "node"]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    for runtime in runtimes:
        if len(sys.argv) > 3:
            measure(runtime, seconds, os.path.abspath(sys.argv[3]))
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, text in HELLO[runtime].items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            measure(runtime, seconds, folder)


if __name__ == "__main__":
    main()
